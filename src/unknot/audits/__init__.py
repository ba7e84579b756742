"""Everything that can be asked of an encoder, at once."""

"""Everything that can be asked of an encoder, at once."""

PARTS = ("factors", "generalisation", "combinations", "fairness", "algebra")

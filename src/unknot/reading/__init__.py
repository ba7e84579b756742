"""What comes in from strangers: files, arrays, names and arguments, read with care."""

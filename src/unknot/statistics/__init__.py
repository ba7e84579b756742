"""Tables of numbers in, statistics with their uncertainty out."""

"""Does a representation help to solve Raven-like puzzles?"""

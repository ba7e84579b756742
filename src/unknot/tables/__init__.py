"""Latents and labels as people have them: arrays of any library, sparse matrices, tables, words, gaps."""

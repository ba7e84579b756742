"""Dictionaries of sparse autoencoders: what their latents do, what they stand for, whether other seeds find them."""

"""Anything that turns images into codes: a run, a function, a network of timm or Hugging Face."""

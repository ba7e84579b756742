"""The latents of one run, moved by hand in a browser."""

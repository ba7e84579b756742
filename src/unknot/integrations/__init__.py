"""Unknot inside the tools that people have open: trackers, training loops, scikit-learn, the Hugging Face hub."""

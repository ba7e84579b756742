"""One trained model on disk: its spec, its folder, the loop that trains it."""

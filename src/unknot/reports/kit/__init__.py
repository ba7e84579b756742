"""Pages, charts and pictures; knows nothing of representations."""

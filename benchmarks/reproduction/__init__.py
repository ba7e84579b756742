"""The parts of `make reproduce`: each has `run(folder, jobs)`, which returns its tables as Markdown."""

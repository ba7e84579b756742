"""Many runs: the spec, the engine that executes it, the store it resumes from, the statistics over it."""

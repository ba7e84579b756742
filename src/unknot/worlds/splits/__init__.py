"""Which images a model is trained on, and which it is tested on."""

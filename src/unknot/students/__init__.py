"""Students: networks that learn from what a trained model makes of images, and become better than it at one thing."""

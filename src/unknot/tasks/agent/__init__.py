"""A model-based agent that uses a representation: does it learn a task from fewer steps?"""

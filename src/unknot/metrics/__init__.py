"""Metrics of representations: plain arrays in, a `Score` out."""

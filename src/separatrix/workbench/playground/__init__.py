"""Playground: points of the plane, a model, and the picture of its regions."""

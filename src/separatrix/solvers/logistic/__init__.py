"""Logistic regression: Newton, descent, the Laplace approximation, separability."""

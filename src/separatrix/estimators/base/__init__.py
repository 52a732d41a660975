"""What estimators share: input checks, kernel and linear machines, one-pass fits, searches."""

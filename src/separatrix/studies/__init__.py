"""The named studies: each reproduces a published document, steps and page together."""

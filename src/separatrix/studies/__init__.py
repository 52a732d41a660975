"""The named studies: steps and page together."""

"""The experiment as data: steps that are run once and kept, so that a killed run goes on where it was."""

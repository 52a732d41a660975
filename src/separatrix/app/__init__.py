"""Read, fit, tune, predict, compare and run: what the command line, the server and the workbench share."""

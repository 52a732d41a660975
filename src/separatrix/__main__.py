"""`python -m separatrix` is the command line."""

from separatrix.cli import main

main(prog_name="separatrix")

"""Linear support vector machines: dual coordinate descent, primal Newton, l1, Crammer-Singer."""

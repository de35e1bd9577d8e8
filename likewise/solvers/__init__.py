"""Arrays in, (solution, objective, residual) out.  Imports nothing of likewise."""

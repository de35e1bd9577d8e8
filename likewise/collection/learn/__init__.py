"""Ways of learning (methods), the evidence they learn from, the guard, and the models they make."""

"""Target search: rounds, drags to orderings, learned metric, next round."""

"""Neural solvers for games that are too large to enumerate: information sets are tensors, strategies networks."""

"""Public trees: games in which everything but the deal is public, with all private hands at once."""

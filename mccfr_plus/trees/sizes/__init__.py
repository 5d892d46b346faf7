"""How large a game is, estimated from a sample of its histories."""

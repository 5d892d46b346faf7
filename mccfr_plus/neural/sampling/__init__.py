"""Samples many histories of a game in parallel: positions, what players see of them, decisions level by level."""

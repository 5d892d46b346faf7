"""Games that are traversed by their compiled rules: histories are not stored, only infosets are."""

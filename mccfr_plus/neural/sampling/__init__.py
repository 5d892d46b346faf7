"""Samples many histories of a game in parallel.

    positions --all at once, by level--> decisions --> regrets and values
        ^                                    |
        '-- strategies: tables or networks --'

Level k holds the k-th decisions of all histories.
"""

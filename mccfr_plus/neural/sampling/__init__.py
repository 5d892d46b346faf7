"""Samples many histories of a game in parallel, for trees and for games that are too large to enumerate.

    positions --all at once, by level--> decisions --> regrets and values
        ^                                    |
        '-- strategies: tables or networks --'

`Positions` are nodes of a tree, words of compiled rules, which kernels play on, or pyspiel's states. An observer says
what players know there. Level k holds the k-th decisions of all histories. `paths` samples trajectories and estimates
regrets and values from them; `branches` runs external sampling.
"""

"""Neural solvers for games that are too large to enumerate: many histories in parallel.

    positions --all at once, by level--> decisions --reservoirs of tensors--> batches --training--> networks
        ^                                                                                              |
        '---------------------------- one forward pass per level and player ---------------------------'

`Positions` are words of compiled rules, which kernels play on, or pyspiel's states. Level k holds the k-th decisions of
all histories. `paths` samples trajectories and estimates regrets and values from them; `branches` runs external
sampling.
"""

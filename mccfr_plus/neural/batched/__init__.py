"""Neural solvers for games that are too large to enumerate: many histories in parallel on pyspiel's states.

    pyspiel states --all at once, by level--> decisions --reservoirs of tensors--> batches --training--> networks
          ^                                                                                                 |
          '----------------------------- one forward pass per level and player ------------------------------'

Level k holds the k-th decisions of all histories. `paths` samples trajectories and estimates regrets and values from
them; `branches` runs external sampling.
"""

"""The same algorithms where the game cannot be enumerated: many histories side by side, on pyspiel's states.

    pyspiel states --all at once, level by level--> points --reservoirs of tensors--> batches --training--> networks
          ^                                                                                                    |
          '----------------------------- one forward pass per level and player ---------------------------------'

`paths` follows histories, `estimates` turns them into regrets and values, `solver` is the frame of `dream` and
`escher`, `network_policy` what they return.
"""

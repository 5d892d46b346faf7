"""What histories and information sets cost, in bytes and seconds: the one table that estimates are made of."""

# A tree that is compiled. The recorder counts with the first two, too.
COMPILED_BYTES_PER_NODE = 21  # 16 in the tree, 5 in the recording
COMPILED_BYTES_PER_INFOSET = 250  # key object, dictionary entries, list entries, array rows; its text comes on top

# What `Solver(tree, "external", "rm")` needs on top: `solver.bytes_on_top` per slot and infoset.
SOLVER_BYTES_PER_SLOT = 56  # strategy, average, regrets, gradient, reach: 8 each; the workspace's mark: 16
SOLVER_BYTES_PER_INFOSET = 12  # the list of what was touched

# A tree that grows where it is walked.
GROWN_BYTES_PER_CHILD = 20  # every child of an expanded node has a record
GROWN_BYTES_PER_INFOSET = 400  # seen infosets: key, rows of the tables

# Kernels, on one core of a Xeon at 2.5 GHz.
FULL_SECONDS_PER_NODE = 1e-8  # histories of the tree, all players together: the sequence form
WALK_SECONDS_PER_NODE = 5e-8  # histories visited by a sampled walk, its update included
RULES_SECONDS_PER_NODE = 3e-7  # compiling a game with compiled rules: 110 ns a node, 350 ns more a decision

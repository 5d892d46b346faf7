"""What histories and information sets cost, in bytes and seconds: the one table that estimates are made of."""

# A tree that is compiled. The recorder counts with the first two, too.
COMPILED_BYTES_PER_NODE = 21  # 16 in the tree, 5 in the recording
COMPILED_BYTES_PER_INFOSET = 250  # key object, dictionary entries, list entries, array rows; its text comes on top

# What `Solver(tree, "external", "rm")` needs on top: `solver.bytes_on_top` per slot and infoset.
SOLVER_BYTES_PER_SLOT = 56  # strategy, average, regrets, gradient, reach: 8 each; the scratch's mark: 16
SOLVER_BYTES_PER_INFOSET = 12  # the list of what was touched

# A tree that is_lazy where it is traversed.
GROWN_BYTES_PER_CHILD = 20  # every child of an expanded node has a record
# What `Solver(tree="lazy", "external", "rm")` keeps of an infoset that it has seen, the making of a policy included:
# `tree_choice.costs_of`.
GROWN_BYTES_PER_INFOSET = 116
GROWN_BYTES_PER_SLOT = 104

# Kernels, on one core of a Xeon at 2.5 GHz; `benchmarks/paper_sizes.py` measures all but traversals.
FULL_SECONDS_PER_NODE = 1e-8  # histories of the tree, all players together: the sequence form
# Histories visited by a sampled traversal, its update included: `benchmarks/threads.py` shows 15 to 38 million a second for
# one thread on Liar's dice on a busy machine; fewer are to be expected where the tree is larger than the caches.
WALK_SECONDS_PER_NODE = 5e-8
RULES_SECONDS_PER_NODE = 3e-7  # compiling a game with compiled rules: 110 ns a node, 350 ns more a decision

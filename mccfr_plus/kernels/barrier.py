"""Where the threads of a team wait for each other. They spin, as the work between two barriers takes microseconds."""

from mccfr_plus.kernels.compile import kernel
from mccfr_plus.kernels.intrinsics import add_word, call_yield, load_word, publish_word
from mccfr_plus.kernels.slots import Constant

# A team is an array with a row for all, and one per thread; words that threads write together are a cache line apart.
# Entries of the first row; others are in `solver.loop`:
SIZE = 0  # number of threads
YIELD = 2  # address of the system's function that lets another thread run, or 0
ARRIVED = 8  # threads waiting at the barrier
ROUND = 16  # how often all have passed it
ROW = 24

SPINS = Constant("SPINS", 4000, "Looks at the barrier before another thread may run: some microseconds.")


@kernel
def wait(team):
    """Waits until all threads of the team have come here."""
    words = team[0]
    size, round_ = words[SIZE], load_word(words, ROUND)
    if add_word(words, ARRIVED, 1) == size - 1:
        publish_word(words, ARRIVED, 0)
        publish_word(words, ROUND, round_ + 1)
        return
    spins = 0
    while load_word(words, ROUND) == round_:
        spins += 1
        if spins >= SPINS() and words[YIELD] != 0:
            spins = 0
            call_yield(words[YIELD])

"""What `mccfr-plus solve --help` says about algorithms, parts, runs and results."""

NOTES = """
algorithms: what regrets are kept in
  tabular   a table; --estimator, --minimizer and --averaging say which of all the solvers below
  deep_cfr  a network per player, which learns sampled regrets of external sampling
  dream     a network per player, from single plays; another one learns baselines that take away variance
  escher    a network per player, from single plays; another one learns what histories are worth, in place of weights
  nfsp      two networks per player: best responses, from episodes, and their average
  batched_deep_cfr, batched_dream, batched_escher, batched_nfsp: the same without a tree, for games that cannot be
            compiled; the average policy is a network, and its exploitability is only bounded from below
Those with networks need torch, and a game that has information-state tensors; all but the last four compile its tree.
They take the flags about limits, seed, checkpoint and output, and --set; the flags about tables are errors with them.
At the end of --seconds the iteration under way is finished.

A tabular solver is an estimator, a minimizer and an average; any three go together. Parameters go in parentheses:
--estimator="outcome(epsilon=0.3)", --averaging="power(gamma=1.5)".

estimators: what part of the tree a traversal visits
  full              all of it; exact (CFR). pruning=True: a traversal that skips what the others do not reach
  chance            one outcome at each chance node, everything else
  opponent          one action at each node of the others, everything else
  external          one outcome or action at chance's and the others' nodes, all own actions (MCCFR); prune_below
  outcome           one single play; epsilon, its exploration; update_all_players=True: one play for all players
  balanced          one single play, own actions from the exploration-balanced strategy; epsilon
  average_strategy  as external, but a subset of own actions, by the average strategy; epsilon, tau, beta
  escher            one play, values of histories in place of weights; values, refresh, sampling; not with ftrl, omd
  With opponent, external and average_strategy, sample_per_infoset=True draws one action per information set, not per node.
minimizers: how regrets become the next strategy
  rm            regret matching (CFR)
  rm+           regrets cut at 0 (CFR+)
  linear        iteration t weighs t (linear CFR); linear+: and negative regrets are forgotten (LCFR+)
  dcfr          discounted regrets; alpha, beta (DCFR); dcfr_pruning: the paper's setting for pruning
  prm, prm+     predictive regret matching (PCFR, PCFR+)
  hedge         multiplicative weights; eta, decay, optimistic
  ftrl, omd     on whole sequences, with dilated entropy; eta, weights, optimistic; omd: decay
averages: how much iteration t counts in the result, and how it is added up
  uniform       1
  linear        t
  power         t^gamma; gamma
  exact, lazy, stochastic, sampled, optimistic: the same with gamma=0 unless given, added up
    exact         everywhere in each iteration
    lazy          the same numbers, only where something changed: what is used unless another way is named
    stochastic    where traversals come by: unbiased, with variance (OpenSpiel's SIMPLE, which is biased from 3 players on)
    sampled       by the actions drawn for the opponent, so that few actions are mixed; two players
    optimistic    as if nothing had changed since the last visit: biased
  last          no average: the last strategy
  The default is the one of the minimizer's paper: linear for rm+ and linear, power for dcfr and prm+, else uniform.
--batch=N makes the mean of N traversals one gradient. --baseline subtracts what histories were worth before, which takes
away variance and no more; its rate is --baseline_rate.

The run ends at the first limit reached; without --iterations, --seconds and --target_exploitability it takes ten seconds. Ctrl-C ends
it early and still prints and writes the result so far; so does SIGTERM.

--cluster=ray makes the traversals of a gradient, --batch, by --workers on a Ray cluster (pip install 'mccfr_plus[ray]'):
the one that RAY_ADDRESS names or that runs on this machine, else one that is started here for the run. Results depend
on --seed, --batch and --num_batches, not on workers; --cluster=local gives the same in this process. Networks are trained
here, and their samples made there. See docs/cluster.md.

--checkpoint=FILE keeps the state of the run in a file, every 60 seconds (--checkpoint_interval=5m), at the end, and on Ctrl-C.
The same command line with --resume goes on from it after a kill, and ends with the same bits as if nothing had happened
where --iterations is the limit. Limits are totals: --iterations counts all iterations of the run, --seconds the time up
to the checkpoint too. Algorithm, parts, settings and seed come from the checkpoint. FILE.lock keeps other runs away
from it meanwhile. If a network diverges the run ends, and its state before that iteration is kept.

exploitability is the sum over players of what a best response would gain, divided by the number of players, in the
game's payoffs: 0 at a Nash equilibrium. Nodes touched counts histories visited; a full iteration visits all, once per
player. Seconds and iterations/s are of the run alone, without compiling and without evaluations for the display.

--bounds adds what theory promises: for each player a bound on the average regret, all of them together with probability
--confidence if anything is sampled, and their sum. NashConv measures that sum in two-player constant-sum games with an
exact average (not stochastic, sampled or optimistic) and simultaneous updates; with alternating ones it is at most the
sum plus a small slack for full with rm, rm+ and linear, and otherwise regrets say nothing about it, which is printed as
n/a with the reason. The promise is for a number of iterations that does not depend on the draws: give --iterations.
"""

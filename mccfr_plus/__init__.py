"""Monte Carlo counterfactual regret minimization for any OpenSpiel game.

    pyspiel.Game --compile--> GameTree --> estimator --gradient--> minimizer --> strategy --> averaging --> policy
                              (flat        samples a part          next strategy at   (table)   average      OpenSpiel
                               arrays)     of the tree             touched infosets      |      strategy     Policy
                                  ^                 ^------------------------------------'                     |
                                  '---------------- evaluation: best response, exploitability <----------------'

Examples:
    >>> import mccfr_plus
    >>> solver = mccfr_plus.Solver("kuhn_poker", estimator="external", minimizer="rm", seed=1)
    >>> solver.run(20_000).exploitability() < 0.05
    True

If the tree does not fit into memory, `Solver` traverses the game by its compiled rules, or expands it lazily, and
policies are `KeyedPolicy`. `evaluate_by_rules` is exact in the first case; in the second, `estimate_quality`,
`head_to_head` and the bounds of `mccfr_plus.evaluation` replace exact evaluation.
"""

import os
import signal
import sys

# A command that Ctrl-C ends while it imports says nothing; from then on `main` handles signals.
_is_command = sys.orig_argv[1:3] == ["-m", "mccfr_plus"] or os.path.basename(sys.argv[0]) == "mccfr-plus"
if _is_command and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import gc
from importlib.metadata import version

_collecting = gc.isenabled()
gc.disable()  # importing makes no garbage, but looking for it would take a third of the time
try:
    try:
        import numba
    except ValueError as error:  # of an environment variable, such as NUMBA_NUM_THREADS=0
        if not _is_command:
            raise
        print(f"mccfr-plus: error: Numba does not start: {error} See NUMBA_NUM_THREADS.", file=sys.stderr)
        sys.exit(2)
    from mccfr_plus.averages import PowerAverage, ScheduledAverage
    from mccfr_plus.bounds import RegretBound, measured_regret, regret_bound
    from mccfr_plus.checks import check_average, check_estimator, check_game, check_minimizer
    from mccfr_plus.citations import cite
    from mccfr_plus.drop_in import (
        AverageType,
        CFRBRSolver,
        CFRPlusSolver,
        CFRSolver,
        DCFRSolver,
        ExternalSamplingSolver,
        LCFRSolver,
        OutcomeSamplingSolver,
    )
    from mccfr_plus.errors import (
        BudgetError,
        CheckError,
        CheckpointError,
        ConfigError,
        GameError,
        MccfrPlusError,
        PolicyError,
        PolicyFileError,
    )
    from mccfr_plus.estimators import (
        AverageStrategySampling,
        BalancedOutcomeSampling,
        Baseline,
        BestResponseOpponent,
        ChanceSampling,
        Escher,
        Estimator,
        ExternalSampling,
        Full,
        OpponentSampling,
        OutcomeSampling,
    )
    from mccfr_plus.evaluation import (
        BestResponse,
        Estimate,
        Evaluation,
        HeadToHead,
        Quality,
        best_response,
        estimate_quality,
        evaluate,
        evaluate_by_rules,
        expected_values,
        exploitability,
        exploitability_lower_bound,
        head_to_head,
        local_best_response,
        nash_conv,
        sampled_best_response,
    )
    from mccfr_plus.evaluation.linear_program import Equilibrium, solve_lp
    from mccfr_plus.minimizers import (
        FTRL,
        OMD,
        AsymmetricPredictive,
        Discounted,
        Hedge,
        MagneticMirrorDescent,
        Minimizer,
        PredictiveDiscounted,
        PredictiveRegretMatching,
        PredictiveRegretMatchingPlus,
        RegretMatching,
        RegretMatchingPlus,
        RegularizedMirrorDescent,
        RewardTransformation,
        ScheduledDiscounted,
        SmoothPredictive,
    )
    from mccfr_plus.online import InfoStatePolicy, MatchResult, OnlineOutcomeSampling, play_games
    from mccfr_plus.policies.files import load_policy, save_policy
    from mccfr_plus.policies.keyed_policy import KeyedPolicy
    from mccfr_plus.policies.tree_policy import TreePolicy
    from mccfr_plus.solver.cce import CoarseCorrelatedEquilibrium, solve_cce
    from mccfr_plus.solver.game_value import GameValue, game_value
    from mccfr_plus.solver.iterative import Progress
    from mccfr_plus.solver.solver import Solver
    from mccfr_plus.trees import GameTree, SizeEstimate, Statistics, compile_game, estimate_size, load_game
finally:
    if _collecting:
        gc.enable()

__all__ = [
    "FTRL",
    "OMD",
    "AsymmetricPredictive",
    "AverageStrategySampling",
    "AverageType",
    "BalancedOutcomeSampling",
    "Baseline",
    "BestResponse",
    "BestResponseOpponent",
    "BudgetError",
    "CFRBRSolver",
    "CFRPlusSolver",
    "CFRSolver",
    "ChanceSampling",
    "CheckError",
    "CheckpointError",
    "CoarseCorrelatedEquilibrium",
    "ConfigError",
    "DCFRSolver",
    "Discounted",
    "Equilibrium",
    "Escher",
    "Estimate",
    "Estimator",
    "Evaluation",
    "ExternalSampling",
    "ExternalSamplingSolver",
    "Full",
    "GameError",
    "GameTree",
    "GameValue",
    "HeadToHead",
    "Hedge",
    "InfoStatePolicy",
    "KeyedPolicy",
    "LCFRSolver",
    "MagneticMirrorDescent",
    "MatchResult",
    "MccfrPlusError",
    "Minimizer",
    "OnlineOutcomeSampling",
    "OpponentSampling",
    "OutcomeSampling",
    "OutcomeSamplingSolver",
    "PolicyError",
    "PolicyFileError",
    "PowerAverage",
    "PredictiveDiscounted",
    "PredictiveRegretMatching",
    "PredictiveRegretMatchingPlus",
    "Progress",
    "Quality",
    "RegretBound",
    "RegretMatching",
    "RegretMatchingPlus",
    "RegularizedMirrorDescent",
    "RewardTransformation",
    "ScheduledAverage",
    "ScheduledDiscounted",
    "SizeEstimate",
    "SmoothPredictive",
    "Solver",
    "Statistics",
    "TreePolicy",
    "best_response",
    "check_average",
    "check_estimator",
    "check_game",
    "check_minimizer",
    "cite",
    "compile_game",
    "estimate_quality",
    "estimate_size",
    "evaluate",
    "evaluate_by_rules",
    "expected_values",
    "exploitability",
    "exploitability_lower_bound",
    "game_value",
    "head_to_head",
    "load_game",
    "load_policy",
    "local_best_response",
    "measured_regret",
    "nash_conv",
    "play_games",
    "regret_bound",
    "sampled_best_response",
    "save_policy",
    "solve_cce",
    "solve_lp",
]

__version__ = version("mccfr_plus")


def __dir__() -> list[str]:
    """Returns the public names, without submodules and without what this module imports for itself."""
    return [*__all__, "__version__"]

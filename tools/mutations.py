"""Makes wrong changes in a copy of this checkout, one at a time, and runs the tests that should fail.

    python tools/mutations.py                  # all of them, about a minute each
    python tools/mutations.py "rm+ keeps"      # those whose names contain the text
    python tools/mutations.py --sample=5       # some, drawn by today's date
    python tools/mutations.py --list           # only looks whether each still finds its place

The exit code is 1 if a change is caught by no test.
"""

import argparse
import datetime
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("mccfr_plus", "tests", "docs", "examples", "papers", "benchmarks", "tools", "pyproject.toml", "README.md")


class Change(NamedTuple):
    """A wrong change: `old`, which stands once in the file, becomes `new`, and a test of `tests` should fail."""

    name: str
    file: str
    old: str
    new: str
    tests: str


def changes(folder: str, tests: str, *rows: tuple[str, str, str, str]) -> list[Change]:
    """Returns changes in a folder of the package; rows are (name, file, old, new)."""
    return [Change(name, f"mccfr_plus/{folder}/{file}", old, new, tests) for name, file, old, new in rows]


CHANGES = [
    *changes(
        "search",
        "tests/search",
        (
            "search: the opponent's own reach counts in its values",
            "partial_game.py",
            "np.ones(size) if reach is None else",
            "np.full(size, 0.9) if reach is None else",
        ),
        (
            "search: an action that the blueprint lacks has a value",
            "blueprint.py",
            "np.where(self.outside[slots], -np.inf, 0.0)",
            "0.0",
        ),
        (
            "search: poker hands of fixed play all have reach 1",
            "ends.py",
            '["chance"] *= own',
            '["chance"] *= 1.0',
        ),
        (
            "search: gifts are given to each subgame anew",
            "blueprint.py",
            "given_up / max(shares[slot], 1.0)",
            "given_up",
        ),
        (
            "search: hands that cannot be held have a margin",
            "resolving.py",
            "np.where(is_held, -values, -never)",
            "-values",
        ),
    ),
    *changes(
        "trees/public",
        "tests/trees/test_public_tree.py",
        (
            "hands of later deals belong to their parents' first hand",
            "histories.py",
            "parent = frame[last] + room.hands[history, mover] * frame[last + 1]",
            "parent = frame[last]",
        ),
        ("matrices of other factors are taken for equal", "histories.py", "return other, scale", "return other, 1.0"),
        (
            "a thread leaves out the values passed to the top",
            "sharing.py",
            "scratch.gradient[at(slot)] += theirs[at(slot)]",
            "scratch.gradient[at(slot)] += 0.0",
        ),
    ),
    *changes(
        "trees/public",
        "tests/games/test_holdem.py",
        ("equal hands lose at a showdown", "showdowns.py", '["group"] < hand["group"]', '["group"] <= hand["group"]'),
        ("folds count hands with both cards twice", "showdowns.py", 'room[at(_REACH + hand["same"])]', "0.0"),
        ("cards to come weigh too much", "dealt.py", "len(cards) - 4, missing", "len(cards), missing"),
        ("cards that stand for others count once", "dealt.py", "factor * times[outcome - first]", "factor"),
        ("a card breaks no symmetry", "suits.py", "numbers[:, index] == numbers[0, index]", "numbers[:, index] >= 0"),
    ),
    *changes(
        "games",
        "tests/games/test_hand_buckets.py",
        ("equal hands count as lost", "hand_buckets.py", "2 * wins + ties", "2 * wins"),
        (
            "strengths on the last board are not squared",
            "hand_buckets.py",
            "value * value if is_last",
            "value if is_last",
        ),
        (
            "hands keep their suits on a board",
            "hand_buckets.py",
            "(places >> 2 * suit & 3)\n\n\n@inline_kernel\ndef _hand",
            "suit\n\n\n@inline_kernel\ndef _hand",
        ),
    ),
    *changes(
        "estimators",
        "tests/trees/test_public_tree.py",
        (
            "a public outcome drawn does not weigh 1 / q",
            "public_chance.py",
            "weight /= tree.chance",
            "weight *= tree.chance",
        ),
    ),
    *changes(
        "estimators",
        "tests/checks/test_built_in_components.py",
        ("own reach counts among the others'", "outcome.py", "if other != player:", "if True:"),
    ),
    *changes(
        "estimators",
        "tests/estimators/test_estimators.py",
        (
            "outcome sampling divides by the strategy instead of xi",
            "traversal.py",
            "child_weight /= exploring_probability(strategy, sampling_weights, first + drawn, width, epsilon)",
            "child_weight /= strategy[at(first + drawn)]",
        ),
        (
            "inclusion without its inverse",
            "traversal.py",
            "child_weight = weight / probability",
            "child_weight = weight",
        ),
        (
            "chance outcomes weigh the same",
            "traversal.py",
            "child_weight = weight * OUTCOME_PROBABILITY(tree, scratch, payload, index)",
            "child_weight = weight / count",
        ),
    ),
    *changes(
        "estimators",
        "tests/estimators/test_forms.py",
        (
            "pruning of rare actions, too",
            "traversal.py",
            "if PRUNE() and child_weight == 0.0:",
            "if PRUNE() and child_weight < 0.05:",
        ),
    ),
    *changes(
        "estimators",
        "tests/estimators/test_estimators.py",
        (
            "the alias table takes the wrong side",
            "traversal.py",
            'if scaled - column >= outcome["accept"]:',
            'if scaled - column < outcome["accept"]:',
        ),
    ),
    *changes(
        "estimators",
        "tests/estimators/test_forms.py",
        (
            "one draw per infoset is kept for the next traversal",
            "traversal.py",
            'if drawn[at(first)]["traversal"] != traversal:',
            'if drawn[at(first)]["traversal"] == 0:',
        ),
    ),
    *changes(
        "estimators",
        "tests/estimators/test_estimators.py",
        (
            "average strategy sampling without tau",
            "estimator.py",
            "(beta + tau * average[at(slot)]) / (beta + total)",
            "(beta + average[at(slot)]) / (beta + total)",
        ),
    ),
    *changes(
        "estimators",
        "tests/estimators/test_forms.py",
        (
            "pruning of large regrets",
            "estimator.py",
            "parameters[0] if regrets[at(slot)] < parameters[1] else 1.0",
            "parameters[0] if regrets[at(slot)] > parameters[1] else 1.0",
        ),
    ),
    *changes(
        "estimators",
        "tests/estimators/test_estimators.py",
        (
            "exploration by the strategy",
            "traversal.py",
            "return np.int64(draw / epsilon * count)",
            "return draw_action(strategy, first, count, rng)",
        ),
    ),
    *changes(
        "minimizers",
        "tests/minimizers/test_minimizers.py",
        (
            "regret matching plays negative regrets",
            "minimizer.py",
            "share = max(regret, 0.0)",
            "share = regret + 0.0",
        ),
        (
            "rm+ keeps negative regrets",
            "minimizer.py",
            "            regret = max(regret, 0.0)\n",
            "            regret = max(regret, -1e300)\n",
        ),
        (
            "DCFR without missed discounts",
            "discounted.py",
            "missed_positive = math.exp(parameters[BEFORE_POSITIVE] - tables[SEEN_POSITIVE, at(first)])",
            "missed_positive = 1.0",
        ),
        ("PRM+ without its prediction", "minimizer.py", "regret + weight * instant", "regret"),
        (
            "values are not passed up",
            "minimizer.py",
            'gradient[at(infoset["parent_slot"])] += value',
            'gradient[at(infoset["parent_slot"])] += 0.0',
        ),
    ),
    *changes(
        "minimizers",
        "tests/minimizers/test_dilated.py",
        (
            "dilated entropy not relative to uniform play",
            "exponential_weights.py",
            "total / (last - first) if RELATIVE()",
            "total if RELATIVE()",
        ),
        (
            "an old guess stays in the gradient",
            "exponential_weights.py",
            "(guess - tables[PREDICTION, slot]) / parameters[ETA_NOW]",
            "guess / parameters[ETA_NOW]",
        ),
    ),
    *changes(
        "averages",
        "tests/averages/test_averaging.py::test_lazy_is_the_dense_average",
        ("the lazy average counts a gain twice", "average.py", "            seen[at(first)] = above\n", ""),
    ),
    *changes(
        "averages",
        "tests/minimizers/test_minimizers.py::test_sampled_run_equals_naive_dense_rules",
        ("visits without weights", "average.py", 'weight * entry["weight"]', "weight"),
        (
            "the second traversal draws others by their strategies",
            "average.py",
            "draw_uniform(count, rng))",
            "draw_action(strategy, payload, count, rng))",
        ),
    ),
    *changes(
        "solver",
        "tests/minimizers/test_minimizers.py",
        (
            "iteration t weighs t - 1",
            "loop.py",
            "return 1.0 if gamma == 0.0 else float(iteration) ** gamma",
            "return float(iteration - 1) ** gamma",
        ),
    ),
    *changes(
        "solver",
        "tests/estimators/test_escher.py",
        (
            "the mean of a batch is its sum",
            "loop.py",
            "                if total > 1:\n",
            "                if total > 1 and TEAM():\n",
        ),
    ),
    *changes(
        "solver",
        "tests/solver/test_threads.py",
        (
            "reach of player 1 is not refreshed",
            "../estimators/full.py",
            "for each in range(2):\n        refresh_part",
            "for each in range(1):\n        refresh_part",
        ),
        (
            "followers of a slot are not in its part",
            "../trees/parts.py",
            "            slot_owners[at(slot)] = owner\n",
            "            slot_owners[at(slot)] = infoset % threads\n",
        ),
        (
            "a thread's gradient is left out",
            "loop.py",
            "for thread in range(1, team[0, SIZE]):\n        row",
            "for thread in range(2, team[0, SIZE]):\n        row",
        ),
    ),
    *changes(
        "solver",
        "tests/solver/test_threads.py::test_fast_threads_share_the_iterations",
        (
            "fast threads begin with the same number",
            "loop.py",
            'first = 1 if counts["stride"] == 1 else counts["thread"] + 1',
            "first = 1",
        ),
    ),
    *changes(
        "solver",
        "tests/solver/test_state.py::test_a_large_batch_ends_with_the_time_and_goes_on",
        (
            "a gradient that is thrown away counts in the average",
            "loop.py",
            '    if place < counts["added"]:\n        return 0.0\n',
            "",
        ),
    ),
    *changes(
        "solver",
        "tests/solver/test_saved_state.py::test_the_checkpoint_of_another_run",
        (
            "a checkpoint of another run is accepted",
            "saved_state.py",
            "if header[name] != own[name]:",
            "if name == '' and header[name] != own[name]:",
        ),
    ),
    *changes(
        "solver",
        "tests/solver/test_history.py::test_the_first_evaluation_at_the_target_is_the_last",
        (
            "the target is compared with NashConv",
            "iterative.py",
            "self._target is not None and found <= self._target",
            "self._target is not None and progress.evaluation.nash_conv <= self._target",
        ),
    ),
    *changes(
        "solver",
        "tests/solver/test_config.py",
        (
            "needs: the baseline asks for nothing",
            "config.py",
            "frozenset(of_baseline if",
            "frozenset(set() if",
        ),
    ),
    *changes(
        "trees",
        "tests/trees/test_lazy_tree.py::test_a_full_tree_stays_full",
        (
            "a thrown-away gradient keeps its random numbers",
            "scratch.py",
            '    scratch.rng[0] = np.uint64(counts["rng_before"])\n',
            "",
        ),
    ),
    *changes(
        "trees",
        "tests/trees/test_lazy_tree.py::test_the_table_is_a_dictionary",
        (
            "lazy trees: infosets by their texts alone",
            "expansion.py",
            " and _owner_of(tables, infoset) == owner:",
            ":",
        ),
    ),
    *changes(
        "trees",
        "tests/trees/test_lazy_tree.py::test_a_run_ends_when_the_tree_is_full",
        (
            "lazy trees: a full memory is not noticed",
            "expansion.py",
            "    if fits and cost <= words[MAX_COST]:\n",
            "    if fits:\n",
        ),
    ),
    *changes(
        "kernels",
        "tests/kernels/test_slots.py",
        ("slots: an unknown slot is accepted", "slots.py", "        if unused:\n", "        if not binder.used:\n"),
        ("slots: a constant keeps its default", "slots.py", "return _with_value(value, new)", "return value"),
    ),
    *changes(
        "kernels",
        "tests/kernels/test_digest.py",
        (
            "digests without closures",
            "compile.py",
            "zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)",
            "zip((), ())",
        ),
        (
            "digests without modules",
            "compile.py",
            'found |= {f"{name}.{each}": vars(module)[each] for each in used if each in vars(module)}',
            "pass",
        ),
    ),
    *changes(
        "trees",
        "tests/estimators/test_estimators.py",
        (
            "terms of different values are one",
            "flattening.py",
            "is_same = value[at(same)] == value[at(entry)]",
            "is_same = True",
        ),
        (
            "a row of another block",
            "flattening.py",
            "begin += block_lengths[at(row // BLOCK - 1)]",
            "begin += block_lengths[at(row // BLOCK)]",
        ),
    ),
    *changes(
        "evaluation",
        "tests/evaluation/test_exact.py",
        (
            "a best response takes the worst action",
            "exact.py",
            "if gradient[slot] > gradient[chosen]:",
            "if gradient[slot] < gradient[chosen]:",
        ),
    ),
    *changes(
        "evaluation",
        "tests/evaluation/test_by_rules.py::test_threads_share_the_histories",
        (
            "threads' gradients are dropped by rules",
            "by_rules.py",
            "            roots += other.gradient[tree.slot_capacity :]\n",
            "",
        ),
    ),
    *changes(
        "files",
        "tests/files/test_checkpoint_file.py",
        ("what stands beside the arrays is ignored", "checkpoint.py", "set(archive.namelist()) != members or ", ""),
        ("damaged arrays are accepted", "checkpoint.py", " or archive.testzip() is not None", ""),
    ),
    # Most were drawn by the operators of cosmic-ray with seed 42, without those that change nothing.
    *changes(
        "kernels",
        "tests/kernels/test_digest.py",
        (
            "kernels with a digest are not kept on disk",
            "compile.py",
            "if self.digest is None:",
            "if self.digest is not None:",
        ),
        (
            "digests trust functions of users",
            "compile.py",
            'return "trusted" if _is_of(',
            'return "trusted" if not _is_of(',
        ),
    ),
    *changes(
        "kernels",
        "tests/kernels/test_slots.py",
        (
            "slots: what follows an attribute of the kernel's name is not bound",
            "slots.py",
            "continue  # an attribute has",
            "break  # an attribute has",
        ),
        (
            "slots: the same bindings give another kernel",
            "slots.py",
            "if key not in _bound:",
            "if key not in _bound or changes:",
        ),
    ),
    *changes(
        "minimizers",
        "tests/minimizers/test_dilated.py",
        (
            "OMD takes the step size of this iteration for the next one's",
            "exponential_weights.py",
            "next_to_now = step_size(parameters, iteration + 1)",
            "next_to_now = step_size(parameters, iteration)",
        ),
    ),
    *changes(
        "minimizers",
        "tests/minimizers/test_minimizers.py",
        ("the values of two actions are those of one", "minimizer.py", "if count == 2:", "if count == 1:"),
        (
            "a schedule is one iteration ahead",
            "discounted.py",
            "share = min(parameters[AT] / parameters[ITERATIONS], 1.0)",
            "share = min((parameters[AT] + 1.0) / parameters[ITERATIONS], 1.0)",
        ),
    ),
    *changes(
        "minimizers",
        "tests/minimizers/test_recent.py",
        (
            "the sum of positive regrets begins with 1",
            "predictive.py",
            "total, count = 0.0, 0.0",
            "total, count = 1.0, 0.0",
        ),
        (
            "the projection divides by its threshold",
            "regularized.py",
            "return values[at(best)] + threshold",
            "return values[at(best)] // threshold",
        ),
        (
            "the last value is written to another place",
            "regularized.py",
            "values[at(last - 1)] = keep",
            "values[at(last | 1)] = keep",
        ),
        (
            "values are not sorted",
            "regularized.py",
            "for slot in range(first + 1, last):",
            "for slot in range(first + 1, first + 1):",
        ),
    ),
    *changes(
        "averages",
        "tests/minimizers/test_minimizers.py::test_sampled_run_equals_naive_dense_rules",
        ("own traversals end at the root", "average.py", "while True:", "while not True:"),
    ),
    *changes(
        "averages",
        "tests/trees/test_lazy_tree.py::test_every_form",
        (
            "own traversals end where a lazy tree has expanded",
            "average.py",
            "if EXPAND(tree.expansion, node, thread):",
            "if not EXPAND(tree.expansion, node, thread):",
        ),
    ),
    *changes(
        "averages",
        "tests/averages/test_averaging.py::test_lazy_is_the_dense_average",
        (
            "the exact average ends with another player's slots",
            "average.py",
            "tree.slot_range[player + 1]):\n        average",
            "tree.slot_range[player & 1]):\n        average",
        ),
    ),
    *changes(
        "evaluation",
        "tests/evaluation/test_estimates.py",
        ("the sum of squares begins with -1", "play.py", "self._squares = 0.0", "self._squares = -1.0"),
    ),
    *changes(
        "evaluation",
        "tests/evaluation/test_sampled_best_response.py",
        (
            "sampled best responses: the second of a pair for the state",
            "sampled_best_response.py",
            "for action in group[0][0].legal_actions():",
            "for action in group[0][1].legal_actions():",
        ),
    ),
    *changes(
        "evaluation",
        "tests/evaluation/test_local_best_response.py",
        (
            "beliefs are formed where they are known",
            "local_best_response.py",
            "if key not in self._groups:",
            "if key in self._groups:",
        ),
        (
            "deep rollouts have no limit",
            "local_best_response.py",
            "if self._nodes_left < 0 or",
            "if self._nodes_left < 0 and",
        ),
        (
            "a sampled rollout ends at once",
            "local_best_response.py",
            "while not state.is_terminal():\n",
            "while state.is_terminal():\n",
        ),
    ),
    *changes(
        "evaluation",
        "tests/evaluation/test_exact.py",
        (
            "policies per player: the wrong end of a player's slots",
            "strategies.py",
            "ranges[i] : ranges[i + 1]]",
            "ranges[i] : ranges[i ^ 1]]",
        ),
    ),
    *changes(
        "evaluation",
        "tests/solver/test_ties.py",
        (
            "imperfect recall: tied sets choose one by one",
            "imperfect_recall.py",
            "infoset_of[end] == infoset_of[begin]:",
            "end == begin:",
        ),
    ),
    *changes(
        "minimizers",
        "tests/solver/test_ties.py",
        (
            "ties: values of entries are not passed up",
            "minimizer.py",
            'gradient[at(entry["parent_slot"])] += value',
            'gradient[at(entry["parent_slot"])] += 0.0',
        ),
        (
            "ties: the last entry counts alone",
            "minimizer.py",
            "before = 0.0 if is_new else gradient[at(first + action)]",
            "before = 0.0",
        ),
    ),
    *changes(
        "trees",
        "tests/solver/test_ties.py",
        (
            "ties: pasts are not told apart",
            "scratch.py",
            "number = behind[at(parent)]\n",
            "number = scratch.num_touched[player]\n",
        ),
        (
            "ties: a gradient of a tree that grows has no end",
            "scratch.py",
            "if IS_LAZY() and unlikely(base + count > len(scratch.gradient)):",
            "if False:",
        ),
        (
            "ties: what was merged without room counts",
            "../solver/loop.py",
            "is_whole = not TIED() or load_word(tree.expansion, STATUS) == EXPANDING",
            "is_whole = True",
        ),
        (
            "keys: both players have the same infosets",
            "by_rules/positions.py",
            "return low ^ np.int64(player), high",
            "return low, high",
        ),
        (
            "keys: other legal actions are played",
            "by_rules/positions.py",
            "is_same &= expected[at(first + index)] == actions[at(index)]",
            "is_same &= True",
        ),
        (
            "lazy trees: tied infosets are known by their past, too",
            "expansion.py",
            "kind if words[HAS_TIES] else slot",
            "slot",
        ),
    ),
    *changes(
        "policies",
        "tests/cli/test_evaluate.py::test_bad_files",
        (
            "files of another kind need a tree",
            "files.py",
            "says what is wrong\n        return False",
            "says what is wrong\n        return True",
        ),
    ),
    *changes(
        "policies",
        "tests/policies/test_policies.py::test_one_players_policy_answers_states_of_both_forms_of_a_game",
        (
            "one player's policy ignores player_id",
            "table.py",
            "player = state.current_player() if player_id is None else player_id",
            "player = state.current_player() if player_id is not None else player_id",
        ),
    ),
    *changes(
        "policies",
        "tests/policies/test_keyed_policy.py::test_damaged_files",
        ("a negative player is accepted", "keyed_policy.py", "((self.players >= 0) & (", "((self.players >= 0) ** ("),
    ),
    *changes(
        "policies",
        "tests/online/test_online.py::test_policies_are_openspiels",
        ("one player's policy: action 0 where there are several", "table.py", "if not legal:", "if legal:"),
    ),
    *changes(
        "files",
        "tests/files/test_checkpoint_file.py",
        (
            "files are written in place",
            "atomic_write.py",
            'return place.with_name(f"{place.name}.{secrets.token_hex(6)}{TEMPORARY_SUFFIX}")',
            "return place",
        ),
        (
            "files that are not checkpoints are overwritten",
            "checkpoint.py",
            "    if os.path.isfile(path):",
            "    if not os.path.isfile(path):",
        ),
        (
            "arrays are not filled",
            "checkpoint.py",
            "for begin in range(0, len(target), _PIECE):",
            "for begin in range(0, 0, _PIECE):",
        ),
    ),
    *changes(
        "files",
        "tests/files/test_json_lines.py",
        (
            "an incomplete line is cut off one byte too early",
            "json_files.py",
            'self._size = content.rfind(b"\\n") + 1',
            'self._size = content.rfind(b"\\n") ^ 1',
        ),
    ),
    *changes(
        "files",
        "tests/files/test_schema.py",
        (
            "schema: one of several is one after the other",
            "json_files.py",
            "if isinstance(allowed, tuple):",
            "if not isinstance(allowed, tuple):",
        ),
    ),
]


def first_failure(copy: Path, tests: str) -> str | None:
    """Runs tests in the copy and returns the first one that fails, or None."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", tests]
    # One folder for the kernels of all changes: a kernel's name follows from the sources.
    own = {"PYTHONPATH": str(copy), "NUMBA_CACHE_DIR": str(copy / "kernels")}
    done = subprocess.run(command, cwd=copy, env=os.environ | own, capture_output=True, text=True)
    found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    if done.returncode == 1 and found:
        return found[1]
    if done.returncode == 0:
        return None
    raise SystemExit(f"the tests {tests} did not run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def run(change: Change, copy: Path) -> str | None:
    """Makes a change, runs its tests, and undoes it; returns the test that failed, or None.

    That test must pass without the change.
    """
    path = copy / change.file
    source = path.read_text(encoding="utf-8")
    path.write_text(source.replace(change.old, change.new), encoding="utf-8")
    try:
        found = first_failure(copy, change.tests)
    finally:
        path.write_text(source, encoding="utf-8")
    if found is not None and first_failure(copy, found) is not None:
        raise SystemExit(f"{change.name}: {found} fails without the change, too")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="TEXT", help="part of a change's name; default: all")
    parser.add_argument("--sample", type=int, metavar="N", help="only N changes, drawn by today's date")
    parser.add_argument("--list", action="store_true", help="run no tests")
    arguments = parser.parse_args()
    chosen = [each for each in CHANGES if not arguments.names or any(name in each.name for name in arguments.names)]
    for change in chosen:
        source = (ROOT / change.file).read_text(encoding="utf-8")
        if (count := source.count(change.old)) != 1:
            parser.error(f"{change.name}: {change.old!r} stands {count} times in {change.file}: mend the table")
        compile(source.replace(change.old, change.new), change.file, "exec")
    if arguments.sample is not None:
        rng = random.Random(datetime.date.today().toordinal())
        chosen = rng.sample(chosen, min(arguments.sample, len(chosen)))
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        copy.mkdir()
        for name in COPIED:
            (shutil.copytree if (ROOT / name).is_dir() else shutil.copy2)(ROOT / name, copy / name)
        for change in chosen:
            begin = time.monotonic()
            caught = "" if arguments.list else run(change, copy)
            missed += caught is None
            verdict = "NOT CAUGHT" if caught is None else caught
            print(f"{change.name:<66} {time.monotonic() - begin:5.0f} s  {verdict}", flush=True)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()

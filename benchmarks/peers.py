"""All solvers of the same games in one run: ``python benchmarks/peers.py [--flags]`` prints a table in Markdown.

Ours, OpenSpiel's in C++ and in Python, LiteEFG and noregret, each as the package index has it. LiteEFG and noregret get
virtual environments of their own in ``--cache``; a solver that cannot be had is skipped with the reason.

Each solver of a game is a process that waits while another one runs. They take turns in rounds of ``--seconds`` CPU
seconds on one thread, and the median of the rounds is reported. So exploitability is that after the same CPU seconds.
Setup is what comes before the first iteration, with kernels compiled and without imports. Peak memory is the process's.

Before anything is timed, all must agree on the number of histories and of information sets, and on the exploitability
of the uniform policy to 1e-9, where a solver can say so. ``--short`` runs two small games without other environments.
"""

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path

GOOFSPIEL = "goofspiel(imp_info=True,num_cards={},points_order=descending,returns_type=win_loss)"
BATTLESHIP = "battleship(board_width=2,board_height=3,ship_sizes=[2;2],ship_values=[4;4],num_shots=3)"  # noregret's
GAMES = {
    "Kuhn": "kuhn_poker",
    "Leduc": "leduc_poker",
    "Liar's dice": "liars_dice",
    "Goofspiel 5": GOOFSPIEL.format(5),
    "Goofspiel 6": GOOFSPIEL.format(6),
    "Goofspiel 7": GOOFSPIEL.format(7),
    "Battleship 3x2": BATTLESHIP,
    "Phantom tic-tac-toe": "phantom_ttt",
}
SAMPLED_ONLY = ("Phantom tic-tac-toe",)  # 10^10 histories
FULL, SAMPLING = ("cfr", "cfr+"), ("external", "outcome")
PEERS = ("openspiel_cpp", "openspiel_python", "liteefg", "noregret")
PACKAGES = {"liteefg": "LiteEFG==1.0.0", "noregret": "noregret==0.0.0.dev3"}
# The largest trees, in histories, that a solver is given: seconds an iteration, gigabytes or hours of setup beyond.
MOST_HISTORIES = {"openspiel_python": 300_000, "liteefg": 300_000, "noregret": 20_000}
MOST_TO_CHECK = 1_500_000  # histories; OpenSpiel's exploitability keeps a state for each


# --- one solver, in a process of its own ---
#
# Functions return what runs a number of iterations, exploitability, counts of the tree (or OpenSpiel's game, whose
# states are counted), and the exploitability of the uniform policy.


def repeated(step):
    """Returns a function that calls `step` a number of times."""

    def run_steps(count):
        for _ in range(count):
            step()

    return run_steps


def ours(game, algorithm):
    import mccfr_plus

    components = {"cfr": ("full", "rm"), "cfr+": ("full", "rm+")}.get(algorithm, (algorithm, "rm"))
    solver = mccfr_plus.Solver(game, *components, seed=1).run(1)
    stored = solver.tree.kind == "compiled"
    counts = {"histories": solver.tree.num_nodes, "infosets": solver.tree.num_infosets} if stored else {}
    uniform = mccfr_plus.Solver(solver.tree, "full").exploitability if stored else None
    return solver.run, solver.exploitability if stored else None, counts, uniform


def count_states(game):
    """Returns the numbers of histories and of information sets, by OpenSpiel's own states."""
    states, histories, infosets = [game.new_initial_state()], 0, set()
    while states:
        state, histories = states.pop(), histories + 1
        if not state.is_terminal():
            if not state.is_chance_node():
                infosets.add((state.current_player(), state.information_state_string()))
            states += [state.child(action) for action in state.legal_actions()]
    return {"histories": histories, "infosets": len(infosets)}


def openspiel_cpp(game, algorithm):
    import pyspiel

    game = pyspiel.load_game_as_turn_based(game)
    if algorithm in ("cfr", "cfr+"):
        solver = (pyspiel.CFRSolver if algorithm == "cfr" else pyspiel.CFRPlusSolver)(game)
        step = solver.evaluate_and_update_policy
    else:
        kinds = {"external": pyspiel.ExternalSamplingMCCFRSolver, "outcome": pyspiel.OutcomeSamplingMCCFRSolver}
        solver = kinds[algorithm](game, 1)
        step = solver.run_iteration
    exploitability = lambda: pyspiel.exploitability(game, solver.average_policy())  # noqa: E731
    return repeated(step), exploitability, game, lambda: pyspiel.exploitability(game, pyspiel.UniformRandomPolicy(game))


def openspiel_python(game, algorithm):
    import pyspiel
    from open_spiel.python import policy
    from open_spiel.python.algorithms import cfr, exploitability, external_sampling_mccfr, outcome_sampling_mccfr

    game = pyspiel.load_game_as_turn_based(game)
    kinds = {
        "cfr": cfr.CFRSolver,
        "cfr+": cfr.CFRPlusSolver,
        "external": external_sampling_mccfr.ExternalSamplingSolver,
        "outcome": outcome_sampling_mccfr.OutcomeSamplingSolver,
    }
    solver = kinds[algorithm](game)
    step = solver.evaluate_and_update_policy if algorithm in ("cfr", "cfr+") else solver.iteration
    value = lambda given: exploitability.exploitability(game, given)  # noqa: E731
    return repeated(step), lambda: value(solver.average_policy()), game, lambda: value(policy.UniformRandomPolicy(game))


def liteefg(game, algorithm):
    import LiteEFG
    import pyspiel
    from LiteEFG.baselines import CFR, OS_MCCFR, CFRplus

    LiteEFG.set_threads(1)
    graph = {"cfr+": CFRplus, "outcome": OS_MCCFR}.get(algorithm, CFR).graph()
    kind = {"external": "External", "outcome": "Outcome"}.get(algorithm, "Enumerate")
    environment = LiteEFG.OpenSpielEnv(pyspiel.load_game(game), traverse_type=kind, regenerate=True)
    environment.set_graph(graph)
    strategy, average = graph.current_strategy(), "linear-avg-iterate" if algorithm == "cfr+" else "avg-iterate"

    def step():
        graph.update_graph(environment)
        environment.update_strategy(strategy)

    exploitability = lambda kind: sum(environment.exploitability(strategy, kind)) / 2  # noqa: E731
    return repeated(step), lambda: exploitability(average), {}, lambda: exploitability("default")


def noregret(game, algorithm):
    """The game is made as noregret's own script does it, decision points and utilities by sequences."""
    import pyspiel
    from noregret.games import TwoPlayerZeroSumExtensiveFormGame
    from noregret.regret_minimizers import CounterfactualRegretMinimization, CounterfactualRegretMinimizationPlus

    game, children, utilities = pyspiel.load_game_as_turn_based(game), [{(): {}}, {(): {}}], {}
    states = [(game.new_initial_state(), 1.0, ((), ()))]
    while states:
        state, chance, sequences = states.pop()
        if state.is_terminal():
            utilities[sequences] = utilities.get(sequences, 0.0) + chance * state.returns()[0]
        elif state.is_chance_node():
            states += [(state.child(a), chance * p, sequences) for a, p in reversed(state.chance_outcomes())]
        else:
            player, infoset = state.current_player(), state.information_state_string()
            children[player][sequences[player]][infoset] = None
            for action in reversed(state.legal_actions()):
                children[player].setdefault((infoset, action), {})
                after = (*sequences[:player], (infoset, action), *sequences[player + 1 :])
                states.append((state.child(action), chance, after))
    processes = []
    for player, below in enumerate(children):
        found, waiting = [], [()]
        while waiting:
            sequence = waiting.pop(0)
            infosets = list(below[sequence])
            kind = ("END_OF_THE_DECISION_PROCESS", "DECISION_POINT", "OBSERVATION_POINT")[min(len(infosets), 2)]
            name = infosets[0] if len(infosets) == 1 else f"o{player} {len(found)}" if infosets else ""
            found.append({"parent_edge": sequence, "node": {"id": name, "type": kind}})
            for number, infoset in enumerate(infosets):
                if len(infosets) > 1:
                    node = {"id": infoset, "type": "DECISION_POINT"}
                    found.append({"parent_edge": (name, f"e{number}"), "node": node})
                waiting += [each for each in below if each and each[0] == infoset]
        processes.append(found)
    values = [{"sequences": sequences, "value": value} for sequences, value in utilities.items()]
    made = TwoPlayerZeroSumExtensiveFormGame.deserialize(
        {"tree_form_sequential_decision_processes": processes, "utilities": values}
    )
    kind = CounterfactualRegretMinimization if algorithm == "cfr" else CounterfactualRegretMinimizationPlus
    parts = made.tree_form_sequential_decision_processes
    row, column = (kind(part, is_time_symmetric=True) for part in parts)

    def step():  # CFR+ alternates, as in noregret's own script
        plan = row.next_strategy()
        if algorithm == "cfr+" and column.strategies:
            column.observe_utility(made.column_utility(plan))
        answer = column.next_strategy()
        row.observe_utility(made.row_utility(answer))
        if algorithm == "cfr":
            column.observe_utility(made.column_utility(plan))

    value = lambda *plans: made.exploitability(*plans)  # noqa: E731
    plans = [part.behavioral_to_sequence_form(part.behavioral_uniform_strategy()) for part in parts]
    counts = {"infosets": sum(len(part.decision_points) for part in parts)}
    return repeated(step), lambda: value(row.average_strategy, column.average_strategy), counts, lambda: value(*plans)


def serve(peer, game, algorithm):
    """Makes a solver and answers commands: a line of JSON each, from standard input to standard output."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # solvers print, some from C++
    make, begin = {f.__name__: f for f in (ours, openspiel_cpp, openspiel_python, liteefg, noregret)}[peer], 0.0
    for given in (game if peer == "ours" else "kuhn_poker", game):  # the first one imports, and compiles kernels
        solver, begin = None, time.process_time()
        solver = make(given, algorithm)
    run, exploitability, counts, uniform = solver
    answer, count = {"setup": time.process_time() - begin, **(counts if peer == "ours" else {})}, 1
    while True:
        print(json.dumps(answer), file=answers, flush=True)
        command = json.loads(sys.stdin.readline())
        if command["do"] == "check":
            answer = {"uniform": uniform(), **(counts if isinstance(counts, dict) else count_states(counts))}
        elif command["do"] == "run":
            done, spent = 0, 0.0
            while spent < command["seconds"]:
                begin = time.process_time()
                run(count)
                took = time.process_time() - begin
                done, spent = done + count, spent + took
                left = max(command["seconds"] - spent, took / 8) / max(took, 1e-6)
                count = max(1, min(8 * count, int(count * left)))
            answer = {"iterations": done, "seconds": spent}
        else:
            import resource

            value = exploitability() if exploitability and command["evaluate"] else math.nan
            answer = {"exploitability": value, "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


# --- all of them, in turns ---


class Worker:
    """A solver's process."""

    def __init__(self, python, peer, game, algorithm):
        self.peer, self.algorithm = peer, algorithm
        command = [python, __file__, "--serve", peer, game, algorithm]
        self.errors, pipe = tempfile.TemporaryFile("w+"), subprocess.PIPE  # noqa: SIM115
        self.process = subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe, stderr=self.errors)
        self.rounds, self.ready = [], self._answer()

    def ask(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            self.errors.seek(0)
            raise RuntimeError(self.errors.read().strip().rpartition("\n")[2] or "the process has ended")
        return json.loads(line)

    def run(self, seconds):
        found = self.ask(do="run", seconds=seconds)
        self.rounds.append(1000 * found["seconds"] / found["iterations"])


def python_of(peer, cache):
    """Returns the Python of a peer's virtual environment, which is made at the first time."""
    if peer not in PACKAGES:
        return sys.executable
    folder = Path(cache).expanduser() / PACKAGES[peer].replace("==", "-")
    python = str(folder / "bin" / "python")
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        packages = PACKAGES[peer], f"open_spiel=={metadata.version('open_spiel')}"
        install = [python, "-m", "pip", "install", "-q", *packages]
        done = subprocess.run(install, capture_output=True, text=True, check=False)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["failed"]
            raise RuntimeError(f"pip install {PACKAGES[peer]}: {lines[-1]}")
        (folder / "ready").touch()
    return python


def check(workers, checked):
    """Checks that all workers have the same game, as far as each can tell; `checked` are the peers that have passed."""
    new = [worker for worker in workers[1:] if worker.peer not in checked]
    expected = workers[0].ask(do="check") if new else {}
    for worker in new:
        checked.add(worker.peer)
        for name, value in worker.ask(do="check").items():
            if not abs(value - expected[name]) <= 1e-9:
                sys.exit(f"{worker.peer}: {name} is {value}, and {expected[name]} for {workers[0].peer}")


def workers_of(title, algorithm, options, skipped):
    """Returns the workers for a game, ours first; `skipped` gets the reasons for those without."""
    workers, histories = [], None
    for peer in options.peers:
        most = min(MOST_HISTORIES.get(peer, math.inf), options.most_histories if peer != "ours" else math.inf)
        if histories is not None and histories > most:
            skipped.add(f"{title}, {peer}: more than {most:,} histories")
        elif peer == "noregret" and algorithm in SAMPLING:
            skipped.add("noregret: its sampling is for games in classes of its own")
        else:
            try:
                worker = Worker(python_of(peer, options.cache), peer, GAMES[title], algorithm)
            except (RuntimeError, OSError) as error:
                if peer == "ours":
                    sys.exit(f"{title}, {algorithm}: {error}")
                skipped.add(f"{title}, {peer}, {algorithm}: {error}")
                continue
            workers.append(worker)
            histories = worker.ready.get("histories", math.inf) if peer == "ours" else histories
    return workers, histories or math.inf


def print_rows(title, algorithm, workers, is_small):
    """Prints the table's rows of a game and an algorithm, and ends the workers."""
    ours_ms = statistics.median(workers[0].rounds)
    for worker in workers:
        end = worker.ask(do="end", evaluate=is_small or worker.peer == "ours")
        worker.process.kill()
        each, value = statistics.median(worker.rounds), end["exploitability"]
        cells = [
            title, algorithm, worker.peer, f"{each:,.4g}", f"{each / ours_ms:,.3g}", f"{worker.ready['setup']:,.2f}",
            f"{end['megabytes']:,.0f}", "" if math.isnan(value) else f"{value:.2g}",
        ]  # fmt: skip
        print("| " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", default=",".join(GAMES), help="titles, with commas between them")
    parser.add_argument("--algorithms", default=",".join((*FULL, *SAMPLING)))
    parser.add_argument("--peers", default=",".join(PEERS), help="beside ours")
    parser.add_argument("--seconds", type=float, default=1.0, help="CPU seconds of a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--most_histories", type=float, default=math.inf, help="of games for others than ours")
    parser.add_argument("--cache", default="~/.cache/mccfr_plus_peers", help="folder of virtual environments")
    parser.add_argument("--short", action="store_true", help="two games, OpenSpiel alone, some seconds")
    parser.add_argument("--serve", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(*options.serve)
    if options.short:
        options.games, options.peers, options.seconds, options.rounds = "Kuhn,Leduc", "openspiel_cpp", 0.02, 1
    options.peers = ["ours", *options.peers.split(",")]
    skipped = set()
    versions = [f"{name} {metadata.version(name)}" for name in ("mccfr_plus", "open_spiel", "numba")]
    print(", ".join([*versions, *PACKAGES.values(), f"Python {platform.python_version()}", processor()]))
    print(f"One thread each, {options.rounds} rounds of {options.seconds:g} CPU s; load {os.getloadavg()[0]:.1f}\n")
    print("| game | algorithm | solver | ms an iteration | over ours | setup s | peak MB | exploitability |")
    print("|---|---|---|---|---|---|---|---|")
    for title in options.games.split(","):
        checked = set()
        for algorithm in options.algorithms.split(","):
            if algorithm in FULL and title in SAMPLED_ONLY:
                continue
            workers, histories = workers_of(title, algorithm, options, skipped)
            if histories <= MOST_TO_CHECK:
                check(workers, checked)
            for _ in range(options.rounds):
                for worker in workers:
                    worker.run(options.seconds)
            print_rows(title, algorithm, workers, histories <= MOST_TO_CHECK)
    print(f"\nload average at the end {os.getloadavg()[0]:.1f}")
    print("\n".join(f"skipped: {reason}" for reason in sorted(skipped)))
    return None


def processor():
    """Returns the name of the processor."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())


if __name__ == "__main__":
    main()

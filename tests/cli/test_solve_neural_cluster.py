"""`solve --algorithm=... --cluster`: networks here, samples there; with the results of the library's classes."""

import pytest

pytest.importorskip("torch")
import mccfr_plus.cluster.neural
from mccfr_plus.neural import ALGORITHMS, WITHOUT_TREE

SMALL = ("--set", "hidden_layers=(8,)", "--set", "batch_size=16")
WALKS = (*SMALL, "--set", "train_steps=3", "--set", "traversals=20")
SETTINGS = {
    "deep_cfr": WALKS,
    "dream": WALKS,
    "escher": (*WALKS, "--set", "value_traversals=20"),
    "nfsp": (*SMALL, "--set", "episodes=60", "--set", "min_samples=20"),
}
RUN = ("solve", "kuhn_poker", "--seed=3", "--quiet", "--json", "--cluster=local")


def test_settings_are_tried_for_every_algorithm():
    assert set(SETTINGS) == set(ALGORITHMS) - set(WITHOUT_TREE)


@pytest.mark.parametrize("algorithm", SETTINGS)
def test_is_the_solver_of_the_library_and_goes_on(algorithm, command, tmp_path):
    run = (*RUN, f"--algorithm={algorithm}", *SETTINGS[algorithm], "--num_batches=3")
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    found = command(*run, "--iterations=4", f"--checkpoint={whole}").json
    assert [found[name] for name in ("algorithm", "cluster", "workers", "num_batches")] == [algorithm, "local", 2, 3]
    solver_class = getattr(mccfr_plus.cluster.neural, f"Distributed{ALGORITHMS[algorithm]}")
    config = solver_class.from_checkpoint(whole, cluster="local").config
    with solver_class("kuhn_poker", config, seed=3, num_batches=3, cluster="local") as twin:
        assert found["exploitability"] == twin.run(4).exploitability()

    command(*run, "--iterations=2", f"--checkpoint={parts}")
    resume = ("solve", "kuhn_poker", "--resume", f"--checkpoint={parts}", "--iterations=4", "--quiet", "--json")
    resumed = command(*resume, "--cluster=local").json
    assert (resumed["exploitability"], resumed["num_batches"]) == (found["exploitability"], 3)


def test_checkpoints_tell_whether_there_was_a_cluster(command, tmp_path):
    distributed, alone = (f"--checkpoint={tmp_path / name}" for name in ("distributed", "alone"))
    nfsp = ("--algorithm=nfsp", *SETTINGS["nfsp"], "--iterations=1")
    command(*RUN, *nfsp, distributed)
    command(*RUN[:-1], *nfsp, alone)
    command("solve", "kuhn_poker", "--resume", distributed).assert_one_line_error(
        "a run with --cluster: give --cluster=ray, or local, too"
    )
    command("solve", "kuhn_poker", "--resume", alone, "--cluster=local").assert_one_line_error(
        "a run without --cluster: leave out --cluster"
    )
    command("solve", "kuhn_poker", "--resume", distributed, "--cluster=local", "--num_batches=5").assert_one_line_error(
        "num_batches=8, and the command line says num_batches=5"
    )

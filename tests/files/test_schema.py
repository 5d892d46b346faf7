"""The check of entries from files: each kind of schema, and headers of checkpoints that say anything."""

import pytest
from checkpoint_contents import raw_header_of, with_header

from mccfr_plus import CheckpointError, Solver
from mccfr_plus.files.json_files import check, natural, number, positive

ROWS = [
    (str, ["", "text"], [None, 1, []]),
    (int, [0, -1], [True, 0.5, "1"]),
    (bool, [True, False], [0, 1, None]),
    (dict, [{}, {"a": 1}], [[], None]),
    (natural, [0, 2**70], [-1, True, 1.0, "1"]),
    (positive, [1], [0, None]),
    (number, [0, 0.5, 1e308], [-1e-9, float("nan"), float("inf"), True, "1"]),
    ((natural, None), [0, None], [False, ""]),
    (("one", "two"), ["one", "two"], ["three", None, []]),
    ([natural], [[], [0, 1]], [0, [0, -1], {}]),
    ({str: natural}, [{}, {"any": 1}], [[], {"any": -1}]),
    ({"a": natural, "b": [str]}, [{"a": 0, "b": ["x"]}], [{}, {"a": 0}, {"a": 0, "b": [1]}, {"a": 0, "b": [], "c": 1}]),
]


@pytest.mark.parametrize(("schema", "right", "wrong"), ROWS, ids=[str(number) for number in range(len(ROWS))])
def test_schemas(schema, right, wrong):
    for value in right:
        check({"entry": value, "more": 1}, {"entry": schema}, "file", CheckpointError)
    for value in wrong:
        with pytest.raises(CheckpointError, match=r"^file is damaged: its entry 'entry' must not be .*\.$"):
            check({"entry": value}, {"entry": schema}, "file", CheckpointError)
    for found in ({}, [], None, "entry"):
        with pytest.raises(CheckpointError, match="file is damaged: it lacks the entry 'entry'"):
            check(found, {"entry": schema}, "file", CheckpointError)


FORGED = {
    "iterations": -1, "nodes_touched": None, "seconds": float("nan"), "seed": "text", "sizes": {"nodes": 1},
    "estimator": "outcome", "minimizer": {"spec": 1, "text": None}, "batch": 1.5, "symmetry": {}, "threads": 0,
    "history": {"rows": [[1, 2]], "seconds_evaluating": 0}, "package": [], "alternating": 1,
}  # fmt: skip


def test_forged_headers_give_one_clear_error(tmp_path):
    path = tmp_path / "run"
    Solver("kuhn_poker", "outcome", "rm", seed=1).run(20).save_checkpoint(path)
    header = raw_header_of(path)
    for entry, value in FORGED.items():
        with_header(path, {**header, entry: value})
        with pytest.raises(CheckpointError, match=rf"run is damaged: its entry '{entry}' must not be"):
            Solver.from_checkpoint(path)
        with_header(path, {name: each for name, each in header.items() if name != entry})
        with pytest.raises(CheckpointError, match=rf"run is damaged: it lacks the entry '{entry}'"):
            Solver.from_checkpoint(path)
    for value in (None, [], "text", 7, {}):
        with_header(path, value)
        with pytest.raises(CheckpointError, match="is damaged"):
            Solver.from_checkpoint(path)

"""OpenSpiel's private tables of a solver, as snapshots that cannot be changed, and back."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

import attr
import numpy as np
from open_spiel.python.algorithms.cfr import _InfoStateNode

from mccfr_plus.errors import ConfigError, PolicyError
from mccfr_plus.evaluation.exact import normalize
from mccfr_plus.minimizers.minimizer import REGRET
from mccfr_plus.policies.table import distinct
from mccfr_plus.trees.arrays import read_only
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.trees.needs import HISTORIES
from mccfr_plus.trees.order import openspiel_order

_SMALL = 1e-6  # with which OpenSpiel's sampling solvers begin regrets and sums of a new information state


class Snapshot(dict):
    """A copy of a solver's table. Changing it raises TypeError, as that would not change the solver."""

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            "this is a copy of the solver's table, so changing it would have no effect: change a copy.deepcopy of the "
            "whole table, and assign that to the solver's attribute."
        )

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse  # type: ignore[assignment]

    def __reduce__(self) -> tuple:
        return dict, (dict(self),)  # copies and pickled files are the script's own


@attr.s(frozen=True)
class SnapshotNode(_InfoStateNode):
    """OpenSpiel's node of an information state; a new value of an attribute would have no effect, and is refused."""

    player: int = attr.ib(default=0)

    def __reduce__(self) -> tuple:  # as for `Snapshot`
        tables = dict(self.cumulative_regret), dict(self.cumulative_policy)
        return _InfoStateNode, (list(self.legal_actions), self.index_in_tabular_policy, *tables)


def info_states_of(solver: Any) -> Snapshot:
    """Returns the table of OpenSpiel's sampling solvers: {information state: (regrets, sums)} of those visited."""
    texts = _stored_tree(solver).info_states
    rows = ((infoset, regrets, sums) for infoset, regrets, sums in _rows(solver, 1) if regrets.any() or sums.any())
    return Snapshot({texts[i]: (read_only(regrets + _SMALL), read_only(sums + _SMALL)) for i, regrets, sums in rows})


def set_info_states(solver: Any, table: Mapping[str, Sequence[Any]]) -> None:
    """Writes a table in the format of `info_states_of` to the solver."""
    _write(solver, {text: [np.asarray(row) - _SMALL for row in rows] for text, rows in table.items()}, 1)


def nodes_of(solver: Any) -> Snapshot:
    """Returns the table of OpenSpiel's full CFR: {information state: node}."""
    tree, nodes = _stored_tree(solver), {}
    row_of, players = np.argsort(openspiel_order(tree)).tolist(), tree.arrays.infosets["player"].tolist()
    for infoset, *rows in _rows(solver, _histories_of_slots(tree)):
        legal = tree.legal_actions(infoset)
        tables = (Snapshot(zip(legal, row.tolist(), strict=True)) for row in rows)
        node = SnapshotNode(legal, row_of[infoset], *tables, players[infoset])  # type: ignore[arg-type, call-arg]
        nodes[tree.info_states[infoset]] = node
    return Snapshot(nodes)


def set_nodes(solver: Any, table: Mapping[str, Any]) -> None:
    """Writes a table in the format of `nodes_of` to the solver."""
    rows = {}
    for text, node in table.items():
        tables = node.cumulative_regret, node.cumulative_policy
        rows[text] = [[values.get(action, 0.0) for action in node.legal_actions] for values in tables]
    _write(solver, rows, _histories_of_slots(_stored_tree(solver)))


def _rows(solver: Any, times: np.ndarray | int) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yields each infoset, its regrets, and its sums multiplied by how many `times` OpenSpiel adds a strategy."""
    tree, engine = _stored_tree(solver), solver._engine
    sums = engine.sums()[: tree.num_slots] * times
    for infoset in range(tree.num_infosets):
        slots = tree.slots(infoset)
        yield infoset, solver.minimizer.cumulative_regrets(engine.tables, engine.parameters[0], slots), sums[slots]


def _write(solver: Any, rows: Mapping[str, Sequence[Any]], times: np.ndarray | int) -> None:
    """Sets regrets, sums and the strategy of regret matching from {information state: (regrets, sums)}; 0 elsewhere."""
    tree, engine = _stored_tree(solver), solver._engine
    regrets, sums, strategy = np.zeros((3, tree.num_slots))
    for text, row in rows.items():
        infoset = tree.infoset(text)
        if infoset is None:
            raise PolicyError(f"{tree.game} has no information state {text!r}: the table belongs to another game.")
        slots = tree.slots(infoset)
        if any(len(values) != slots.stop - slots.start for values in row):
            raise PolicyError(f"the table must have {slots.stop - slots.start} actions at {text!r}.")
        regrets[slots], sums[slots] = row
    if not np.isfinite([regrets, sums]).all() or (sums < -_SMALL).any():
        raise ConfigError("regrets and sums must be finite numbers, and sums at least 0.")
    engine.tables[REGRET, : tree.num_slots] = regrets
    normalize(np.maximum(regrets, 0.0), tree.found_infosets, strategy)
    engine.set_strategy(strategy)
    engine.set_sums(np.maximum(sums, 0.0) / times)


def _stored_tree(solver: Any) -> GameTree:
    if HISTORIES not in solver.tree.provides:
        raise ConfigError(
            f"{solver.game} is too large to be compiled, so the texts of its information states are not kept: "
            "use average_policy(), regrets(info_state), tree.num_infosets or save_checkpoint(path)."
        )
    distinct(solver.tree.info_states, solver.game)
    return solver.tree


def _histories_of_slots(tree: GameTree) -> np.ndarray:
    """Returns how many histories the infoset of each slot has, ``[num_slots]``: OpenSpiel's full CFR adds at each."""
    nodes, infosets = tree.arrays.nodes, tree.arrays.infosets
    counts = np.bincount(nodes["payload"][nodes["kind"] >= 0], minlength=tree.num_slots)
    return counts[infosets["first_slot"]][tree.infoset_of_slot]

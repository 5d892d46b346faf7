"""OpenSpiel's private tables of a solver, as snapshots that cannot be changed, and back."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import attr
import numpy as np
from open_spiel.python.algorithms.cfr import _InfoStateNode

from mccfr_plus.errors import ConfigError, PolicyError
from mccfr_plus.minimizers.minimizer import REGRET
from mccfr_plus.solver.solver import Solver
from mccfr_plus.trees.arrays import read_only
from mccfr_plus.trees.needs import HISTORIES, INFOSETS

_SMALL = 1e-6  # with which OpenSpiel's sampling solvers begin regrets and sums of a new information state


class Snapshot(dict):
    """A copy of a solver's table. Changing it raises TypeError, as that would not change the solver."""

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            "this is a copy of the solver's table, and changing it would have no effect: change a copy.deepcopy of the "
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


class Row(NamedTuple):
    """Regrets and sums of the average at one information state."""

    player: int
    legal_actions: list[int]
    regrets: np.ndarray  # cumulative, [num_actions] float64
    sums: np.ndarray  # of the average, [num_actions] float64


def read_tables(solver: Any, per_history: bool) -> dict[str, Row]:
    """Returns {information state: Row}; `per_history` as in `write_tables`."""
    tree, engine = _stored_tree(solver), solver._engine
    sums = engine.sums()[: tree.num_slots] * (_histories_of_slots(tree) if per_history else 1)
    tables, parameters = engine.tables, engine.parameters[0]
    rows = {}
    for infoset, text in enumerate(tree.info_states):
        slots = tree.slots(infoset)
        regrets = solver.minimizer.cumulative_regrets(tables, parameters, slots)
        player = int(tree.arrays.infosets["player"][infoset])
        rows[text] = Row(player, tree.legal_actions(infoset), regrets, sums[slots])
    return rows


def write_tables(solver: Any, rows: Mapping[str, Any], per_history: bool) -> None:
    """Sets regrets, sums of the average, and the strategy that regret matching makes of these regrets.

    Args:
        rows: {information state: (regrets, sums)} in the order of legal actions; what is missing is 0.
        per_history: Whether sums were added once per history of the infoset, as OpenSpiel's full CFR does.
    """
    tree, engine = _stored_tree(solver), solver._engine
    regrets, sums = np.zeros(tree.num_slots), np.zeros(tree.num_slots)
    for text, row in rows.items():
        infoset = tree.infoset(text)
        if infoset is None:
            raise PolicyError(f"{tree.game} has no information state {text!r}: the table is of another game.")
        slots = tree.slots(infoset)
        if any(len(values) != slots.stop - slots.start for values in row):
            raise PolicyError(f"the table must have {slots.stop - slots.start} actions at {text!r}.")
        regrets[slots], sums[slots] = row
    if not np.isfinite(regrets).all() or not np.isfinite(sums).all() or (sums < -_SMALL).any():
        raise ConfigError("regrets and sums must be finite numbers, and sums at least 0.")
    first = tree.arrays.infosets["first_slot"]
    positive = np.maximum(regrets, 0.0)
    totals = np.add.reduceat(positive, first)[tree.infoset_of_slot]
    engine.tables[REGRET, : tree.num_slots] = regrets
    uniform = tree.uniform_strategy()
    engine.set_strategy(np.divide(positive, totals, out=uniform, where=totals > 0.0))
    engine.set_sums(np.maximum(sums, 0.0) / (_histories_of_slots(tree) if per_history else 1))


def info_states_of(solver: Any) -> Snapshot:
    """Returns the table of OpenSpiel's sampling solvers: {information state: (regrets, sums)} of those visited."""
    found = {}
    for text, row in read_tables(solver, per_history=False).items():
        if row.regrets.any() or row.sums.any():
            found[text] = read_only(row.regrets + _SMALL), read_only(row.sums + _SMALL)
    return Snapshot(found)


def set_info_states(solver: Any, table: Mapping[str, Sequence[Any]]) -> None:
    """Writes a table in the format of `info_states_of` to the solver."""
    write_tables(solver, {text: tuple(np.asarray(row) - _SMALL for row in rows) for text, rows in table.items()}, False)


def nodes_of(solver: Any) -> Snapshot:
    """Returns the table of OpenSpiel's full CFR: {information state: node}."""
    lookup, nodes = Solver.average_policy(solver).state_lookup, {}
    for text, row in read_tables(solver, per_history=True).items():
        tables = (Snapshot(zip(row.legal_actions, values.tolist(), strict=True)) for values in (row.regrets, row.sums))
        fields = (row.legal_actions, lookup[text], *tables, row.player)
        nodes[text] = SnapshotNode(*fields)  # type: ignore[arg-type, call-arg]
    return Snapshot(nodes)


def set_nodes(solver: Any, table: Mapping[str, Any]) -> None:
    """Writes a table in the format of `nodes_of` to the solver."""
    write_tables(
        solver,
        {
            text: tuple(
                [values.get(action, 0.0) for action in node.legal_actions]
                for values in (node.cumulative_regret, node.cumulative_policy)
            )
            for text, node in table.items()
        },
        per_history=True,
    )


def _stored_tree(solver: Any) -> Any:
    if not {HISTORIES, INFOSETS} <= solver.tree.provides:
        raise ConfigError(
            f"{solver.game} is too large to be compiled, so that the texts of its information states are not kept: "
            "use average_policy(), regrets(info_state), tree.num_infosets or save_checkpoint(path)."
        )
    if len(set(solver.tree.info_states)) < solver.tree.num_infosets:
        raise PolicyError(f"players of {solver.game} share information states: a table by text cannot tell them apart.")
    return solver.tree


def _histories_of_slots(tree: Any) -> np.ndarray:
    """Returns how many histories the infoset of each slot has, ``[num_slots]``."""
    nodes, infosets = tree.arrays.nodes, tree.arrays.infosets
    counts = np.bincount(nodes["payload"][nodes["kind"] >= 0], minlength=tree.num_slots)
    return counts[infosets["first_slot"]][tree.infoset_of_slot]

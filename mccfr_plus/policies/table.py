"""Policies as tables: a row per information state and action, for data frames and files."""

from html import escape
from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.display import data_frame, html_table
from mccfr_plus.games.rules import CHANCE
from mccfr_plus.kernels.compile import announce_compilation, kernel
from mccfr_plus.trees.flattening import rows_of
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.trees.order import action_names

SHOWN = 10  # information states in a notebook


class PolicyTable(NamedTuple):
    """The columns of a policy, ``[num_rows]`` each; the rows of an information state are adjacent."""

    player: np.ndarray  # int64
    information_state: list[str]  # its text; 32 hexadecimal digits where only its 128-bit key is known
    action: np.ndarray  # int64, OpenSpiel's
    action_name: list[str]
    probability: np.ndarray  # float64
    reach: np.ndarray | None  # float64, of the information state if all players follow the policy; None: not known

    def columns(self) -> dict[str, Any]:
        """Returns the columns that are known, by name."""
        return {name: column for name, column in self._asdict().items() if column is not None}

    def to_dataframe(self) -> Any:
        """Returns the columns as a pandas data frame. ConfigError if pandas is not installed."""
        return data_frame(self.columns())


def table_of_tree(tree: GameTree, strategy: np.ndarray, most: int | None = None) -> PolicyTable:
    """Returns the table of a strategy, ``[num_slots]``, or only its `most` infosets with the largest reach."""
    reach = reach_of(tree, strategy)
    infosets = np.arange(tree.num_infosets) if most is None else np.argsort(-reach, kind="stable")[:most]
    records = tree.arrays.infosets[infosets]
    slots = rows_of(records["first_slot"], records["num_actions"])
    numbers = tree.infoset_of_slot[slots]
    return PolicyTable(
        tree.arrays.infosets["player"].astype(np.int64)[numbers],
        [tree.info_states[i] for i in infosets.tolist() for _ in tree.legal_actions(i)],
        tree.slot_action[slots],
        [name for names in action_names(tree, infosets) for name in names],
        strategy[slots],
        reach[numbers],
    )


def reach_of(tree: GameTree, strategy: np.ndarray) -> np.ndarray:
    """Returns the probability of each information set if all players follow a strategy, ``[num_infosets]``."""
    of_nodes, of_infosets = np.ones(tree.num_nodes), np.zeros(tree.num_infosets)
    with announce_compilation(_add_reach, "the reach of information states", 1):
        _add_reach(tree.arrays, strategy, tree.infoset_of_slot, of_nodes, of_infosets)
    return of_infosets


@kernel
def _add_reach(tree, strategy, infoset_of_slot, of_nodes, of_infosets):
    """Writes the probability of each node and adds it to its infoset; `of_nodes` are ones at first."""
    nodes = tree.nodes
    for node in range(len(nodes)):  # parents come before children
        kind, child, payload = nodes[node]["kind"], nodes[node]["first_child"], nodes[node]["payload"]
        if kind >= 0:
            of_infosets[infoset_of_slot[payload]] += of_nodes[node]
        for index in range(nodes[node]["num_children"]):
            label = payload + index
            probability = tree.chance[label]["probability"] if kind == CHANCE else strategy[label]
            of_nodes[child + index] = of_nodes[node] * probability


def html_of(title: str, count: int, table: PolicyTable) -> str:
    """Returns a policy for a notebook."""
    rows: list[list[str]] = []
    for i, text in enumerate(table.information_state):
        played = f"{table.action_name[i]} {table.probability[i]:.3f}"
        if rows and rows[-1][:2] == [str(table.player[i]), text]:
            rows[-1][2] += f", {played}"
        else:
            reach = [] if table.reach is None else [f"{table.reach[i]:.4g}"]
            rows.append([str(table.player[i]), text, played, *reach])
    heading = ["player", "information state", "actions", *(["reach"] if table.reach is not None else [])]
    more = f", {len(rows)} of which are shown" if count > len(rows) else ""
    return f"<b>{escape(title)}</b>: {count:,} information states{more}{html_table(heading, rows, numbers_from=3)}"

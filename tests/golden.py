"""Results of version 0.1.0 for some combinations of components, which `solver/test_golden.py` compares with.

Version 0.1.0 (revision 860011f) had one kernel with all components. `python tests/golden.py` prints the current table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mccfr_plus import Solver

LEDUC, KUHN, THREE = "leduc_poker", "kuhn_poker", "kuhn_poker(players=3)"
SEED = 7

# game, estimator, minimizer, average, options, iterations
CASES: list[tuple[str, str, str, str | None, dict[str, Any], int]] = [
    (LEDUC, "full", "rm", None, {}, 100),
    (LEDUC, "full", "rm+", None, {}, 100),
    (LEDUC, "full", "dcfr", None, {}, 100),
    (LEDUC, "full", "prm+", None, {"alternating": False}, 100),
    (KUHN, "full(pruning=True)", "hedge", None, {}, 100),
    (LEDUC, "chance", "rm", "stochastic", {}, 100),
    (LEDUC, "opponent", "prm", None, {}, 50),
    (LEDUC, "external", "rm", None, {}, 300),
    (LEDUC, "external", "rm+", "stochastic", {}, 300),
    (LEDUC, "external", "dcfr", "exact", {}, 300),
    (LEDUC, "external", "ftrl", None, {}, 300),
    (LEDUC, "external", "omd(decay=0.5)", None, {"batch": 3}, 100),
    (LEDUC, "external", "rm", None, {"baseline": True}, 300),
    (LEDUC, "external", "rm", None, {"threads": 2}, 100),
    (LEDUC, "external(prune_below=-5.0)", "linear", "optimistic", {}, 300),
    (LEDUC, "external(sample_per_infoset=True)", "rm", "sampled", {}, 300),
    (LEDUC, "average_strategy(beta=10.0)", "rm", None, {}, 300),
    (LEDUC, "outcome", "rm", None, {}, 2000),
    (LEDUC, "outcome", "rm", None, {"baseline": "mean(rate=0.5,backup='sampled')"}, 1000),
    (LEDUC, "outcome(update_all_players=True)", "rm+", "stochastic", {}, 2000),
    (LEDUC, "balanced", "dcfr_pruning", "last", {}, 1000),
    (LEDUC, "escher", "rm", None, {}, 1000),
    (LEDUC, "escher(values='learned',sampling='balanced')", "rm", "stochastic", {}, 1000),
    (THREE, "external", "rm", "stochastic", {}, 300),
    (THREE, "outcome", "rm", None, {}, 1000),
    (KUHN, "external", "rm", None, {"tree": "lazy", "keys": "text"}, 300),
    (KUHN, "outcome", "dcfr", "stochastic", {"tree": "lazy", "keys": "text"}, 300),
]


def numbers_of(case: tuple) -> list[float]:
    """Returns the nodes touched, and three weighted sums over strategies, ordered by player and information state."""
    game, estimator, minimizer, averaging, options, iterations = case
    solver = Solver(game, estimator, minimizer, averaging, seed=SEED, **options).run(iterations)
    tree, sums = solver.tree, []
    infosets = sorted(range(tree.num_infosets), key=lambda i: (tree.arrays.infosets["player"][i], tree.info_states[i]))
    order = np.concatenate([np.arange(tree.slots(i).start, tree.slots(i).stop) for i in infosets])
    weights = np.cos(np.arange(len(order)))
    for strategy in (solver.average_strategy(), solver.current_strategy(), solver.current_strategy() ** 2):
        sums.append(float(weights @ strategy[order]))
    return [float(solver.nodes_touched), *sums]


# Results of `numbers_of` for `CASES`.
EXPECTED = [
    [1891400.0, 14.155306102378868, 5.2202561571979595, 5.816033366185047],
    [1891400.0, 18.481731255593463, 17.1536288022493, 22.075583284824994],
    [1891400.0, 23.942924778610422, 26.36362912008667, 30.421099134122418],
    [1891400.0, 16.56313160708753, 23.981573489837565, 24.35644483335252],
    [11600.0, -0.2707799654895332, -0.08746756662953492, 0.489767807578551],
    [18400.0, 5.723441750281722, 22.210398843974676, 29.230660941483393],
    [178981.0, 13.99800597009687, 6.856359160543463, 2.5176841228205746],
    [13929.0, 1.0771920093129497, 4.714400898216662, 11.449296010981096],
    [13408.0, -6.242192086017223, -12.432627182475038, -10.367935994587873],
    [13613.0, 1.6271292599288472, 1.0252787427475953, -5.917587344343428],
    [15072.0, 9.795919224447475, 14.864757669956749, 8.445852574893742],
    [13636.0, -0.12385311985968131, 0.6596416227676958, 4.296194185329961],
    [13196.0, 8.910081684855957, 21.367539746993554, 23.82880105507471],
    [9724.0, 11.702833281315534, 11.245631468205863, 9.159136622039428],
    [10375.0, 3.432222602666768, 9.708307091738657, 11.048749396241803],
    [13929.0, 13.134593773246777, 4.714400898216662, 11.449296010981096],
    [13949.0, 0.7685655415967858, 5.433139834486329, 6.10558573885423],
    [32819.0, 8.940473184019709, 4.617403940935719, 4.402501422296786],
    [16549.0, 3.4350905063796606, -3.8739972481480494, -7.87395329164667],
    [15664.0, -1.8691364895285079, -17.38094932184086, -12.740453065946948],
    [17636.0, -5.647336544676425, -5.647336544676425, -5.350999657003239],
    [223744.0, 10.960625669332758, 6.781626245765586, 12.416892260805522],
    [18071.0, 1.2656785979110656, -7.1107717313358085, -6.835506446849716],
    [17319.0, 1.631944728070001, 0.40725884612215935, -0.42890696617958657],
    [23137.0, 0.46003247940489755, -0.31504486632924633, 0.10258641686247172],
    [4500.0, 0.21654855687325858, 0.3858091441162793, 0.4442455392754482],
    [3197.0, 0.42409609117524466, 0.04962050449105104, -0.21009934619305326],
]


if __name__ == "__main__":
    for one in CASES:
        print(f"    {numbers_of(one)},")

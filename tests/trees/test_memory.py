"""Memory: what people write, how a limit is divided, and whether a process keeps within it."""

import numpy as np
import pytest

from mccfr_plus import ConfigError, Solver
from mccfr_plus.parameters import bytes_of
from mccfr_plus.trees import memory
from mccfr_plus.trees.memory import available_bytes, plan_memory


@pytest.mark.parametrize(
    ("text", "size"),
    [("4GB", 4 * 10**9), ("4g", 4 * 10**9), (" 512 MiB ", 512 << 20), ("1e9", 10**9), ("1.5TB", 1.5e12)],
)
def test_sizes_as_people_write_them(text, size):
    assert bytes_of(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-4GB", "0"])
def test_what_is_no_size(text):
    with pytest.raises(ConfigError, match=r"memory=.*positive number of bytes, such as 4GB"):
        bytes_of(text)


def test_a_container_may_have_less(monkeypatch, tmp_path):
    free = available_bytes()
    (tmp_path / "memory.max").write_text("3000\n")
    (tmp_path / "memory.current").write_text("1000\n")
    monkeypatch.setattr(memory, "Path", lambda _: tmp_path)
    assert available_bytes() == 2000
    (tmp_path / "memory.current").write_text("5000\n")
    assert available_bytes() == 0
    (tmp_path / "memory.max").write_text("max\n")
    assert available_bytes() > 0.5 * free


COSTS = {"node_cost": 20, "infoset_cost": 60, "slot_cost": 72}


@pytest.mark.parametrize("room", [40e6, 1e9, 1e12])
def test_all_parts_together_are_the_limit(monkeypatch, room):
    monkeypatch.setattr(memory, "resident_bytes", lambda: 10**8)
    limit = room + 1e8 + memory.KERNELS
    plan = plan_memory(limit, **COSTS)
    assert room - 1 <= plan.tree_bytes + plan.state_bytes <= room
    assert plan.limit == limit
    assert plan.max_infosets * (60 + 72) <= room  # without nodes
    assert plan.max_slots * 72 <= room
    most = np.iinfo(np.int32).max
    assert max(plan.max_nodes, plan.max_infosets, plan.max_slots) < most
    assert min(plan.max_nodes, plan.max_infosets, plan.max_slots) > 10_000


def test_the_least_that_the_message_tells_is_enough():
    with pytest.raises(ConfigError) as caught:
        Solver("kuhn_poker", tree="lazy", memory="1MB")
    least = str(caught.value).rsplit("at least ", 1)[1].rstrip(".").replace(",", "")
    room = f"{bytes_of(least) + (32 << 20)}"  # what other tests do meanwhile does not count
    assert Solver("kuhn_poker", tree="lazy", memory=room, seed=1).run(10).iterations == 10

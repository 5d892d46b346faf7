"""The scripts of the folder ``papers`` as modules, and a setting in which they run in this process."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "papers"))


@pytest.fixture
def setting(tmp_path):
    pytest.importorskip("matplotlib")
    import common

    return common.Setting("small", tmp_path, 1)

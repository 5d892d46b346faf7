"""Without torch the package works except for networks, whose errors say what to install."""

import subprocess
import sys

CODE = """
import sys; sys.modules["torch"] = None
import mccfr_plus, mccfr_plus.neural
from mccfr_plus.neural import DeepCFRConfig, config, memory, paths
print(DeepCFRConfig().train_steps > 0)
from mccfr_plus.neural import DeepCFR
"""


def test_says_what_to_install_and_the_rest_works():
    result = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert (result.stdout, result.returncode) == ("True\n", 1)
    assert "ConfigError: neural solvers need torch: pip install 'mccfr_plus[neural]'." in result.stderr

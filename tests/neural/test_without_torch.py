"""Without torch the package works except for networks, whose errors say what to install."""

import subprocess
import sys

HEAD = "import sys; sys.modules['torch'] = None\n"


def run(code):
    return subprocess.run([sys.executable, "-c", HEAD + code], capture_output=True, text=True)


def test_says_what_to_install():
    result = run("from mccfr_plus.neural import DeepCFR")
    assert result.returncode
    assert "ConfigError: neural solvers need torch: pip install 'mccfr_plus[neural]'." in result.stderr


def test_the_rest_works():
    result = run(
        "import mccfr_plus, mccfr_plus.neural\n"
        "from mccfr_plus.neural import DeepCFRConfig, config, memory, paths\n"
        "print(DeepCFRConfig().train_steps > 0)"
    )
    assert result.stderr == ""
    assert result.stdout == "True\n"

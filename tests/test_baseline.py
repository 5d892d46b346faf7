"""`tools/baseline.py` compares every component with the earlier revision."""

import json
import subprocess
import sys
from pathlib import Path

from mccfr_plus.solver import registry
from mccfr_plus.specs import parse_spec

TOOLS = Path(__file__).parent.parent / "tools"


def test_every_component_has_a_case():
    script = "import json, sys; sys.path.insert(0, sys.argv[1]); import baseline; print(json.dumps(baseline.CASES))"
    result = subprocess.run([sys.executable, "-c", script, str(TOOLS)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    cases = json.loads(result.stdout)
    assert len(cases) >= 60
    assert {case.get("threads", 1) for case in cases} == {1, 2}
    tables = {"estimator": registry.ESTIMATORS, "minimizer": registry.MINIMIZERS, "averaging": registry.AVERAGES}
    for part, table in tables.items():
        assert {parse_spec(case[part]).name for case in cases if case[part] is not None} == set(table)

"""Metadata, the citation, the change log and the workflows name the same versions."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from mccfr_plus.solver.saved_state import package_version

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_versions_agree():
    version = PROJECT["version"]
    assert version == package_version()
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest[1] == version


def test_ci_runs_on_the_versions_of_python_in_the_metadata():
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    tested = workflow["jobs"]["tests"]["strategy"]["matrix"]["python"]
    named = [line.rsplit(" ", 1)[1] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert tested == named
    assert PROJECT["requires-python"] == f">={tested[0]}"


@pytest.mark.parametrize("path", sorted(ROOT.glob(".github/**/*.yml")), ids=lambda path: path.name)
def test_files_for_github_have_the_required_fields(path):
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.parent.name == "workflows":
        commands = [step["run"] for job in content["jobs"].values() for step in job["steps"] if "run" in step]
        assert content["permissions"] == {"contents": "read"}
        assert all((ROOT / word).exists() for line in commands for word in line.split() if word == ".ci/run")
    elif path.name != "config.yml":
        assert content["name"]
        assert all(part["type"] in ("markdown", "textarea", "input") for part in content["body"])

"""Metadata, the citation, the change log and the workflows name the same versions."""

import re
import tomllib
from pathlib import Path

from mccfr_plus.solver.saved_state import package_version

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_versions_agree():
    version = PROJECT["version"]
    assert version == package_version()
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest[1] == version

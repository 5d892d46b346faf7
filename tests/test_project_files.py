"""Metadata, citation and workflows say the same of versions, and links of the README work on a package index."""

import re
import runpy
from pathlib import Path

import pytest
import yaml

from mccfr_plus.solver.saved_state import package_version

setuptools = pytest.importorskip("setuptools")  # Python 3.12 and later come without

ROOT = Path(__file__).parent.parent


def metadata(monkeypatch, repository):
    """Returns what `setup.py` gives to setuptools where the repository has this name."""
    found = {}
    monkeypatch.setattr(setuptools, "setup", lambda **arguments: found.update(arguments))
    monkeypatch.setenv("GITHUB_REPOSITORY", repository)
    monkeypatch.chdir(ROOT)
    runpy.run_path("setup.py")
    return found


def links_of(text):
    return re.findall(r"(!?)\[[^]]*\]\(([^)]+)\)", text)


def test_links_on_a_package_index_lead_to_the_released_files(monkeypatch):
    text = metadata(monkeypatch, "owner/name")["long_description"]
    prefix = re.compile(r"https://github\.com/owner/name/(blob|raw)/v\d+\.\d+\.\d+/([^#]+)")
    own = {match[2]: (match[1], image) for image, target in links_of(text) if (match := prefix.match(target))}
    assert all((ROOT / path).is_file() for path in own)
    assert own["docs/start/install.md"] == ("blob", "")
    assert own["docs/leduc.svg"] == ("raw", "!")
    assert all(target.startswith("https://") for _, target in links_of(text))
    assert len(links_of(text)) == len(links_of((ROOT / "README.md").read_text(encoding="utf-8")))


def test_without_a_repository_files_are_named_but_not_linked(monkeypatch):
    found = metadata(monkeypatch, "")
    assert found["project_urls"] == {}
    assert [target for _, target in links_of(found["long_description"]) if not target.startswith("https://")] == []
    assert "first solve" in found["long_description"]
    assert "leduc.svg" not in found["long_description"]


def test_versions_agree(monkeypatch):
    found = metadata(monkeypatch, "owner/name")
    assert found["version"] == package_version()
    assert f"version: {found['version']}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest[1] == found["version"]
    linked = [found["project_urls"][name] for name in ("Documentation", "Changelog")]
    assert all(f"/v{found['version']}/" in url for url in linked)


def test_ci_runs_on_the_versions_of_python_that_the_metadata_name(monkeypatch):
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    tested = workflow["jobs"]["tests"]["strategy"]["matrix"]["python"]
    found = metadata(monkeypatch, "")
    named = [line.rsplit(" ", 1)[1] for line in found["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert tested == named
    assert found["python_requires"] == f">={tested[0]}"


@pytest.mark.parametrize("path", sorted(ROOT.glob(".github/**/*.yml")), ids=lambda path: path.name)
def test_files_for_github_are_yaml_with_what_it_needs(path):
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.parent.name == "workflows":
        commands = [step["run"] for job in content["jobs"].values() for step in job["steps"] if "run" in step]
        assert content["permissions"] == {"contents": "read"}
        assert all((ROOT / word).exists() for line in commands for word in line.split() if word == ".ci/run")
    elif path.name != "config.yml":
        assert content["name"]
        assert all(part["type"] in ("markdown", "textarea", "input") for part in content["body"])

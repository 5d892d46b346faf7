"""The site as it is built: without warnings, with executed notebooks, a search index, and links that lead somewhere."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs")
import nbformat

ROOT = Path(__file__).parent.parent
pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Returns the folder of the site, as it is built without warnings."""
    path = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(path)]
    # Notebooks import the files that they have written, which the tests' own processes must not.
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONSAFEPATH": ""}
    done = subprocess.run(command, cwd=ROOT, env=environment, text=True, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    return path


def test_tutorials_are_offered_as_executed_notebooks(site):
    for page in (ROOT / "docs" / "tutorials").glob("*.md"):
        notebook = nbformat.read(site / "tutorials" / f"{page.stem}.ipynb", as_version=4)
        nbformat.validate(notebook)
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert all(cell.execution_count for cell in cells)
        assert any(cell.outputs for cell in cells)
        shown = (site / "tutorials" / page.stem / "index.html").read_text(encoding="utf-8")
        assert f'href="../{page.stem}.ipynb"' in shown
    compare = (site / "tutorials" / "compare" / "index.html").read_text(encoding="utf-8")
    assert compare.count("data:image/png;base64,") == 1


def test_reference_shows_functions_and_classes_not_modules_of_their_names(site):
    pages = [path.read_text(encoding="utf-8") for path in (site / "api").rglob("index.html")]
    heading = re.compile(r'<h3 id="([\w.]+)"[^>]*>\s*<code class="doc-symbol [\w -]*doc-symbol-(\w+)">')
    kinds = dict(heading.findall("".join(pages)))
    assert "module" not in kinds.values()
    assert kinds["mccfr_plus.exploitability"] == "function"
    assert kinds["mccfr_plus.Escher"] == "class"


@pytest.mark.parametrize(("words", "page"), [
    ("exploitability", "api/evaluation/#mccfr_plus.exploitability"), ("escher", "api/estimators/#mccfr_plus.Escher"),
    ("checkpoint", "how-to/checkpoints/"),
])  # fmt: skip
def test_search_finds(site, words, page):
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    found = [entry["location"] for entry in index["docs"] if words in entry["title"].lower()]
    assert page in found


def test_search_splits_names(site):
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    words = re.split(index["config"]["separator"], "KeyedPolicy.to_dataframe(max_nodes=0.5)")
    assert words == ["Keyed", "Policy", "to", "dataframe", "max", "nodes", "0.5", ""]

"""Hooks of the documentation's build."""

import html
import os
import re
import sys
import tempfile
from pathlib import Path

import nbformat
from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

TOOLS = Path(__file__).parent
sys.path.append(str(TOOLS))

import notebooks  # noqa: E402

# What `pymdownx.arithmatex` leaves, with `generic`: \(...\) in a span, \[...\] in a div.
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)

EXECUTED: dict[str, nbformat.NotebookNode] = {}  # by the page's Markdown: `mkdocs serve` builds many times


def on_startup(**_: object) -> None:
    """Lets pages and notebooks import the examples. MkDocs undoes changes of the path that an import of hooks makes."""
    examples = str(TOOLS.parent / "examples")
    sys.path.append(examples)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (examples, os.environ.get("PYTHONPATH"))))


def is_notebook(file: File) -> bool:
    """Returns whether a page is executed as a notebook, which it offers."""
    return file.src_uri.startswith("tutorials/") or file.src_uri == "gallery.md"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the executed notebooks."""
    for file in files.documentation_pages():
        if is_notebook(file):
            markdown = file.content_string
            if markdown not in EXECUTED:
                with tempfile.TemporaryDirectory() as folder:
                    EXECUTED[markdown] = notebooks.executed(markdown, folder)
            content = nbformat.writes(EXECUTED[markdown])
            files.append(File.generated(config, str(Path(file.src_uri).with_suffix(".ipynb")), content=content))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Adds the outputs to a page that was executed, and a link to its notebook."""
    if not is_notebook(page.file):
        return markdown
    name = f"{Path(page.file.src_uri).stem}.ipynb"
    link = f"\nAll code on this page was executed to build it. Download it as a [notebook]({name}){{ download }}.\n"
    title, newline, rest = notebooks.with_outputs(markdown, EXECUTED[page.file.content_string]).partition("\n")
    return title + newline + link + rest


def on_page_content(content: str, **_: object) -> str:
    """Returns a page's HTML with MathML, which needs no script and no font, in place of LaTeX."""

    def mathml(match: re.Match) -> str:
        tag, opening, formula = match.groups()
        kind = "block" if opening == "[" else "inline"
        return f'<{tag} class="formula">{convert(html.unescape(formula), display=kind)}</{tag}>'

    return FORMULA.sub(mathml, content)

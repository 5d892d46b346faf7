"""Pages as notebooks: cells from their Markdown, executed while the site is built, and outputs below the blocks."""

import re
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import v4
from traitlets.config import Config

ROOT = Path(__file__).parent.parent

# A block of Python. With a title it is a file that the following cells import. Linters leave the form with braces.
BLOCK = re.compile(r'^```(?: \{\.)?python(?: title="([^"]+)")?\}?\n(.*?)^```\n', re.MULTILINE | re.DOTALL)
SNIPPET = re.compile(r'^--8<-- "(.*)"$', re.MULTILINE)
LINK = re.compile(r"(?<!!)\[([^]]*)\]\((?!https?:)[^)]*\)")  # to another page, which a notebook does not have


def blocks_of(markdown: str) -> list[tuple[str | None, str]]:
    """Returns (title, code) of each block of Python, with snippets put in."""
    return [
        (title, SNIPPET.sub(lambda match: (ROOT / match[1]).read_text(encoding="utf-8").rstrip(), code).rstrip())
        for title, code in BLOCK.findall(markdown)
    ]


def notebook_of(markdown: str) -> nbformat.NotebookNode:
    """Returns a page as a notebook without outputs."""
    texts = BLOCK.split(markdown)[::3]
    cells = []
    for text, (title, code) in zip(texts, [*blocks_of(markdown), (None, "")], strict=True):
        if text.strip():
            cells.append(v4.new_markdown_cell(LINK.sub(r"\1", text.strip())))
        if code:
            cells.append(v4.new_code_cell(f"%%writefile {title}\n{code}" if title else code))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def executed(markdown: str, folder: str | Path) -> nbformat.NotebookNode:
    """Returns a page as a notebook with outputs; its code runs in a folder. Raises what a cell raises."""
    notebook = notebook_of(markdown)
    local = Config(KernelManager=Config(transport="ipc", ip=f"{folder}/kernel"))  # no ports
    NotebookClient(notebook, config=local, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


def with_outputs(markdown: str, notebook: nbformat.NotebookNode) -> str:
    """Returns a page with the outputs of its executed notebook below its blocks."""
    cells = (cell for cell in notebook.cells if cell.cell_type == "code")
    return BLOCK.sub(lambda match: match[0] + "".join(map(_shown, next(cells).outputs)), markdown)


def _shown(output: nbformat.NotebookNode) -> str:
    """Returns an output as Markdown; messages on standard error, such as progress, are left out."""
    data = output.get("data", {})
    if "image/png" in data:
        return f'\n<img alt="what the code above draws" src="data:image/png;base64,{data["image/png"].strip()}">\n'
    if "text/html" in data:
        return f'\n<div class="output">{data["text/html"]}</div>\n'
    text = data.get("text/plain", output.get("text", ""))
    if output.get("name") == "stderr" or text.startswith(("Writing ", "Overwriting ")):
        return ""
    return f"\n```text\n{text.rstrip()}\n```\n"

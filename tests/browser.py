"""A headless browser: shows a page, runs a script in it, and tells what came out."""

import html
import json
import re
import shutil
import subprocess

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")

# Pages are shown in a frame, as a browser's window is at least 500 pixels wide.
_FRAME = """<!DOCTYPE html><body style="margin:0">
<iframe src="PAGE" style="border:0;width:WIDTHpx;height:2000px"></iframe>
<script>
addEventListener("message", event => {
    const shown = document.createElement("pre");
    shown.id = "found";
    shown.textContent = event.data;
    document.body.append(shown);
});
</script>"""

_SCRIPT = """
<script>
window.addEventListener("load", async () => {
    let found;
    const wait = ms => new Promise(done => setTimeout(done, ms));
    const documents = window.Bokeh ? Bokeh.documents : [];
    for (let i = 0; window.Bokeh && i < 100 && !documents.some(each => each.roots().length > 0); i++) await wait(100);
    await wait(300);
    const models = documents.flatMap(document => document.roots()).flatMap(root => [...root.references()]);
    try { found = await (async models => { SCRIPT })(models); } catch (error) { found = {error: String(error)}; }
    parent.postMessage(JSON.stringify(found), "*");
});
</script>
"""


def browser():
    """Returns the path of a browser, or skips the test."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        pytest.skip(f"no browser: install one of {', '.join(_NAMES)}")
    return found


def _run(folder, *arguments, width=1400):
    command = [
        browser(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
        f"--window-size={width},2000", f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=15000",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # no network: the page must not need one
        *arguments,
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def _framed(page, folder, width):
    frame = folder / "frame.html"
    frame.write_text(_FRAME.replace("PAGE", page.as_uri()).replace("WIDTH", str(width)), encoding="utf-8")
    return frame.as_uri()


def run_script(path, folder, script, width=1400):
    """Opens a copy of a page and returns what a script, the body of a function of its `models`, returns in it."""
    content = path.read_text(encoding="utf-8").replace("<head>", f'<head><base href="{path.parent.as_uri()}/">', 1)
    copy = folder / "copy.html"
    added = _SCRIPT.replace("SCRIPT", script)
    before, end, after = content.rpartition("</body>")
    copy.write_text(before + added + end + after, encoding="utf-8")
    return found_at(_framed(copy, folder, width), folder, width)


def found_at(url, folder, width=1400):
    """Opens a page and returns what a script of it has written as JSON into an element `found`."""
    dom = _run(folder, "--dump-dom", url, width=width)
    found = re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)
    assert found, "the script did not come to its end"
    return json.loads(html.unescape(found.group(1)))

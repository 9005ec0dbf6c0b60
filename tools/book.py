"""`make book`: run every lesson and write it, outputs and all, as a site that needs no network.

    python tools/book.py [--lessons FOLDER] [--site FOLDER]

Pages hold static pictures in place of widgets, as a page without a kernel cannot run one. The
index lists lessons and their headings and narrows them to what is typed.
"""

from __future__ import annotations

import argparse
import html
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter

ROOT = Path(__file__).resolve().parents[1]
CELL_TIMEOUT_SECONDS = 300
_WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"

INDEX = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Lessons</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem;
        color-scheme: light dark; }}
input {{ font: inherit; width: 100%; padding: .4rem; box-sizing: border-box; }}
li[hidden] {{ display: none; }}
</style>
<h1>Lessons</h1>
<label>Search <input type="search" id="query" autofocus></label>
<p role="status" aria-live="polite" id="count"></p>
<ul id="entries">
{entries}
</ul>
<script>
const entries = [...document.querySelectorAll("#entries li")];
document.getElementById("query").addEventListener("input", (event) => {{
  const words = event.target.value.toLowerCase().split(/\\s+/).filter(Boolean);
  for (const entry of entries) {{
    const text = entry.dataset.text;
    entry.hidden = !words.every((word) => text.includes(word));
  }}
  const shown = entries.filter((entry) => !entry.hidden).length;
  document.getElementById("count").textContent = words.length ? `${{shown}} found` : "";
}});
</script>
</html>
"""


def run_notebook(path: Path) -> Any:
    """Execute a notebook in its folder; raises nbclient's CellExecutionError where a cell does."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT_SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    return notebook


def drop_widgets(notebook: Any) -> None:
    """Leave of each widget its picture or text: with its state, a page offline stays blank."""
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(_WIDGET_VIEW, None)


def to_html(notebook: Any) -> str:
    """The page. Nothing is loaded from elsewhere: the exporter's addresses are emptied."""
    exporter = HTMLExporter(
        template_name="lab",
        exclude_input_prompt=True,
        exclude_output_prompt=True,
        mathjax_url="",
        mermaid_js_url="",
        require_js_url="",
        jquery_url="",
        html_manager_semver_range="",
        jupyter_widgets_base_url="",
        widget_renderer_url="",
    )
    exporter.embed_images = True
    body, _ = exporter.from_notebook_node(notebook)
    # What is left over: script elements whose address is empty now, and a module of Mermaid's.
    body = re.sub(r'<script[^>]*\bsrc=""[^>]*>\s*</script>', "", body)
    body = re.sub(
        r'<script type="module">(?:(?!</script>).)*mermaid.*?</script>', "", body, flags=re.S
    )
    return body


def headings(notebook: Any) -> list[str]:
    """The Markdown headings, without their signs."""
    lines = [
        line
        for cell in notebook.cells
        if cell.cell_type == "markdown"
        for line in cell.source.splitlines()
    ]
    return [line.lstrip("#").strip() for line in lines if re.match(r"#{1,3} ", line)]


def text_of(notebook: Any) -> str:
    """What the search looks at: every cell's source, on one line."""
    return " ".join(" ".join(cell.source for cell in notebook.cells).split()).lower()


def build(lessons: Path, site: Path) -> list[Path]:
    """Write the site; returns its pages. The lessons run in a copy inside `site`."""
    work = site / ".work"
    shutil.rmtree(site, ignore_errors=True)
    shutil.copytree(lessons, work, ignore=shutil.ignore_patterns(".*"))
    entries, pages = [], []
    for path in sorted(work.glob("[0-9]*.ipynb")):
        print(f"Running {path.name}", flush=True)
        notebook = run_notebook(path)
        drop_widgets(notebook)
        titles = headings(notebook) or [path.stem]
        page = site / f"{path.stem}.html"
        page.write_text(to_html(notebook), encoding="utf-8")
        pages.append(page)
        rest = " &middot; ".join(html.escape(title) for title in titles[1:])
        entries.append(
            f'<li data-text="{html.escape(text_of(notebook))}">'
            f'<a href="{html.escape(page.name)}">{html.escape(titles[0])}</a><br>{rest}</li>'
        )
    index = site / "index.html"
    index.write_text(INDEX.format(entries="\n".join(entries)), encoding="utf-8")
    shutil.rmtree(work)
    return [index, *pages]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write the lessons, with outputs, as a site.")
    parser.add_argument("--lessons", type=Path, default=ROOT / "lessons")
    parser.add_argument("--site", type=Path, default=ROOT / "site")
    options = parser.parse_args(arguments)
    folders = [str(ROOT / name) for name in ("", "widgets", "datasets")]
    os.environ["PYTHONPATH"] = os.pathsep.join([*folders, os.environ.get("PYTHONPATH", "")])
    pages = build(options.lessons, options.site)
    if len(pages) == 1:
        print(f"no lessons (NN_name.ipynb) in {options.lessons}", file=sys.stderr)
        return 1
    print(f"Open {pages[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`make book`: run every lesson and write it, outputs and all, as a site that needs no network.

    python -m tools.book [--lessons FOLDER] [--site FOLDER]

Pages hold static pictures in place of widgets, as a page without a kernel cannot run one. The
index lists lessons and their sections and narrows them to what is typed. While it runs them, it says
how long each took and how much memory its kernel did.
"""

from __future__ import annotations

import argparse
import copy
import html
import os
import re
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
from jinja2 import DictLoader
from latex2mathml.converter import convert
from nbclient import NotebookClient
from nbconvert import HTMLExporter

from tools.lesson import PEAK_MEMORY

ROOT = Path(__file__).resolve().parents[1]
CELL_TIMEOUT_SECONDS = 300
_WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"

# A fenced or inline piece of code; $$formula$$; $formula$, without space inside its signs.
_CODE_OR_FORMULA = re.compile(
    r"(```.*?```|`[^`]*`|^ {4}.*?$)|\$\$(.+?)\$\$|(?<![\\$])\$(?=\S)([^$\n]+?)(?<=\S)\$",
    re.S | re.M,
)
_MARK = "\u2063"  # no text has it: an invisible separator

INDEX = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Lessons</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem;
        color-scheme: light dark; }}
input {{ font: inherit; width: 100%; padding: .4rem; box-sizing: border-box; }}
li[hidden] {{ display: none; }}
ul ul {{ padding-left: 1.2rem; }}
#entries > li {{ margin-top: .6rem; }}
</style>
<main>
<h1>Lessons</h1>
<label>Search <input type="search" id="query" autofocus></label>
<p role="status" aria-live="polite" id="count"></p>
<ul id="entries">
{entries}
</ul>
</main>
<script>
const lessons = [...document.querySelectorAll("#entries > li")];
document.getElementById("query").addEventListener("input", (event) => {{
  const words = event.target.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let shown = 0;
  for (const lesson of lessons) {{
    const sections = [...lesson.querySelectorAll("li")];
    const found = sections.filter((section) =>
      words.every((word) => section.dataset.text.includes(word)));
    const whole = words.every((word) => lesson.dataset.text.includes(word));
    for (const section of sections) section.hidden = words.length > 0 && !found.includes(section);
    lesson.hidden = !whole;
    shown += found.length || (whole ? 1 : 0);
  }}
  document.getElementById("count").textContent = words.length ? `${{shown}} found` : "";
}});
</script>
</html>
"""

# A solution waits behind its summary; each page leads back to the index.
TEMPLATE = """{%- extends 'lab/index.html.j2' -%}
{%- block body_header -%}{{ super() }}
<style>
main { max-width: 58rem; margin: 0 auto; }
math { font-size: 1.1em; }
nav.book, details.solution > summary { font: 14px system-ui, sans-serif; padding: 4px 0 4px 8px; }
details.solution > summary { cursor: pointer; }
</style>
<nav class="book" aria-label="book"><a href="index.html">All lessons</a></nav>{%- endblock -%}
{%- block codecell -%}
{%- if 'solution' in cell.metadata.get('tags', []) -%}
<details class="solution"><summary>Solution {{ cell.id | replace('solution-ex', '') | e }}</summary>
{{- super() -}}</details>
{%- else -%}{{ super() }}{%- endif -%}
{%- endblock -%}
"""

# A question in a page cannot be answered, so its answer follows, closed. (Not `_`, which a loop may use.)
ANSWER = """
from html import escape as _escape
from IPython.display import HTML as _HTML
_HTML(f"<details><summary>Answer</summary><p>{_escape(Out[max(Out)].reveal())}</p></details>")
"""


def run_notebook(path: Path) -> tuple[Any, int]:
    """Execute a notebook in its folder: the notebook, and its kernel's largest size in bytes.

    Raises nbclient's CellExecutionError where a cell does.
    """
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = [*with_answers(notebook.cells), nbformat.v4.new_code_cell(PEAK_MEMORY)]
    NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT_SECONDS,
        kernel_name="python3",
        extra_arguments=["--log-level=ERROR"],  # else each kernel warns that it speaks over TCP
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    return notebook, int(notebook.cells.pop().outputs[0]["text"])


def with_answers(cells: list[Any]) -> list[Any]:
    """The cells, with the answer after each question; sources of questions hold hints and go."""
    result = []
    for cell in cells:
        result.append(cell)
        if "predict" in cell.metadata.get("tags", []):
            cell.metadata["transient"] = {"remove_source": True}
            hidden = {"transient": {"remove_source": True}}
            result.append(nbformat.v4.new_code_cell(ANSWER, metadata=hidden))
    return result


def drop_widgets(notebook: Any) -> None:
    """Leave of each widget its picture or text: with its state, a page offline stays blank."""
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(_WIDGET_VIEW, None)
        if "outputs" in cell:  # a widget's picture is an output of its own
            cell.outputs = [output for output in cell.outputs if output.get("data") != {}]


def without_formulas(text: str, formulas: list[str]) -> str:
    """Markdown with a mark for each formula, which is added to ``formulas`` as MathML.

    Browsers draw MathML by themselves. It is put in after the export, which takes tags apart.
    """

    def marked(found: re.Match[str]) -> str:
        code, display, inline = found.groups()
        if code:
            return str(code)
        formulas.append(convert(display or inline, display="block" if display else "inline"))
        return f"{_MARK}{len(formulas) - 1}{_MARK}"

    return _CODE_OR_FORMULA.sub(marked, text)


def to_html(notebook: Any, title: str, folder: Path, template: str = TEMPLATE) -> str:
    """The page by ``template``, with the pictures that its text names in ``folder``. Nothing is loaded from elsewhere: the exporter's addresses are emptied."""
    notebook = copy.deepcopy(notebook)
    formulas: list[str] = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = without_formulas(cell.source, formulas)
    exporter = HTMLExporter(
        template_name="lab",
        template_file="lesson.html.j2",
        extra_loaders=[DictLoader({"lesson.html.j2": template})],
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
    body, _ = exporter.from_notebook_node(
        notebook, {"metadata": {"name": title, "path": str(folder)}}
    )
    body = re.sub(f"{_MARK}(\\d+){_MARK}", lambda found: formulas[int(found[1])], body)
    # What is left over: script elements whose address is empty now, and a module of Mermaid's.
    body = re.sub(r'<script[^>]*\bsrc=""[^>]*>\s*</script>', "", body)
    body = re.sub(
        r'<script type="module">(?:(?!</script>).)*mermaid.*?</script>', "", body, flags=re.S
    )
    return re.sub(r'href="(\d\d_\w+)\.ipynb(#[^"]*)?"', r'href="\1.html\2"', body)


def headings(notebook: Any) -> list[str]:
    """The Markdown headings, without their signs."""
    lines = [
        line
        for cell in notebook.cells
        if cell.cell_type == "markdown"
        for line in cell.source.splitlines()
    ]
    return [line.lstrip("#").strip() for line in lines if re.match(r"#{1,3} ", line)]


def sections(notebook: Any, page: str) -> list[tuple[str, str, str]]:
    """Heading, anchor in the page, and text for the search, of each `##` section."""
    anchors = re.findall(r'<h2 id="([^"]*)"', page)
    found: list[tuple[str, list[str]]] = []
    for cell in notebook.cells:
        for part in re.split(r"(?m)^(?=## )", cell.source) if cell.cell_type == "markdown" else []:
            if part.startswith("## "):
                found.append((part.partition("\n")[0][3:].strip(), []))
            if found:
                found[-1][1].append(part)
        if cell.cell_type == "code" and found and "transient" not in cell.metadata:
            found[-1][1].append(cell.source)
    return [
        (title, anchor, " ".join(" ".join(text).split()).lower())
        for (title, text), anchor in zip(found, anchors, strict=True)
    ]


def entry(name: str, title: str, text: str, parts: list[tuple[str, str, str]]) -> str:
    """A lesson's entry in the index, with its sections."""
    lines = [
        f'<li data-text="{html.escape(words)}"><a href="{html.escape(f"{name}#{anchor}")}">'
        f"{html.escape(heading)}</a></li>"
        for heading, anchor, words in parts
    ]
    return (
        f'<li data-text="{html.escape(text)}"><a href="{html.escape(name)}">{html.escape(title)}</a>'
        f"<ul>{''.join(lines)}</ul></li>"
    )


def text_of(notebook: Any) -> str:
    """What the search looks at: the source of every cell that is shown, on one line."""
    shown = [cell.source for cell in notebook.cells if "transient" not in cell.metadata]
    return " ".join(" ".join(shown).split()).lower()


def build(lessons: Path, site: Path) -> list[Path]:
    """Write the site; returns its pages. The lessons run in a copy inside `site`."""
    work = site / ".work"
    shutil.rmtree(site, ignore_errors=True)
    shutil.copytree(lessons, work, ignore=shutil.ignore_patterns(".*"))
    entries, pages = [], []
    for path in sorted(work.glob("[0-9]*.ipynb")):
        print(f"{path.name}: ", end="", flush=True)
        start_seconds = time.monotonic()
        notebook, num_bytes = run_notebook(path)
        seconds = time.monotonic() - start_seconds
        print(f"{seconds:.1f} s, {num_bytes / 1e6:.0f} MB", flush=True)
        drop_widgets(notebook)
        page = site / f"{path.stem}.html"
        title = (headings(notebook) or [path.stem])[0]
        text = to_html(notebook, title, path.parent)
        page.write_text(text, encoding="utf-8")
        pages.append(page)
        entries.append(entry(page.name, title, text_of(notebook), sections(notebook, text)))
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

"""`make slides`: lessons as decks of slides, each one file that needs no network.

    python -m tools.slides [--lessons FOLDER] [--to FOLDER] [NUMBER ...]

A lesson is run, as for the book, and cut at its headings and after each piece of code: a slide has some
text, and what the code below it shows. Questions show their answer when it is opened; checks and
solutions are left out. Widgets are still pictures: in class, open the lesson beside it for those that
move. Right and left (or space) turn pages, Home and End go to the first and last; printed, each slide is
a page.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from nbclient.exceptions import CellExecutionError

from tools.book import ROOT, drop_widgets, headings, run_notebook, to_html
from tools.lesson import role_of

#: The reader's own business, or the teacher's.
LEFT_OUT = ("exercise", "check", "solution")
_STEPS = re.compile(r"(?m)^(?=#{1,3} )")

TEMPLATE = """{%- extends 'lab/index.html.j2' -%}
{%- block body_header -%}{{ super() }}
<style>
body { overflow: auto; margin: 0 !important; padding: 0 !important; }
main { max-width: none; margin: 0; padding: 0; }
section.slide { display: none; box-sizing: border-box; zoom: 1.6;
  min-height: calc(100vh / 1.6); padding: 2vh 3vw 5vh; }
section.slide.now { display: block; }
math { font-size: 1.1em; }
#place { position: fixed; right: 1rem; bottom: .5rem; font: 14px system-ui, sans-serif; color: #57606a;
  background: #fff; padding: 2px 6px; }
/* Long code scrolls, so that what it shows is on the slide, too. */
section.slide .jp-Cell-inputWrapper:has(+ .jp-Cell-outputWrapper) .jp-InputArea-editor {
  max-height: 22vh; overflow: auto; }
section.slide img { max-height: 52vh; }
/* A high picture stands beside its code where that lets both be larger. */
section.slide.beside .jp-Cell:has(> .jp-Cell-outputWrapper img) { display: grid; align-items: start;
  grid-template-columns: minmax(0, max-content) minmax(32%, 1fr); column-gap: 1vw; }
section.slide.beside .jp-Cell-outputWrapper { min-width: 0; }
p.over { font: 13px system-ui, sans-serif; color: #57606a; padding-left: 8px; }
details > summary { cursor: pointer; }
@media print {
  section.slide { display: block; break-after: page; min-height: 0 !important; zoom: 1 !important; }
  #place { display: none; }
}
</style>
{%- endblock -%}
{%- block any_cell scoped -%}
{%- if 'slide' in cell.metadata -%}
{%- if cell != nb.cells[0] -%}</section>{%- endif -%}
<section class="slide">
{%- if cell.metadata.slide -%}<p class="over">{{ cell.metadata.slide | e }}</p>{%- endif -%}
{%- endif -%}
{{- super() -}}
{%- endblock -%}
{%- block body_footer -%}</section>
<div id="place" role="status" aria-live="polite"></div>
<script>
const slides = [...document.querySelectorAll("section.slide")];
let at = 0;
for (const code of document.querySelectorAll(".jp-InputArea-editor")) {
  if (code.closest(".jp-Cell").querySelector(".jp-Cell-outputWrapper")) code.tabIndex = 0;
}
const isTooHigh = () => document.documentElement.scrollHeight > innerHeight;
/* A slide that is higher than the screen gets smaller, down to half; then it scrolls. How large it is. */
function shrink(slide) {
  slide.style.zoom = slide.style.minHeight = "";
  let size = 1.6;
  for (let zoom = 1.5; zoom > 0.75 && isTooHigh(); zoom -= 0.1) {
    slide.style.zoom = size = zoom;
    slide.style.minHeight = `calc(100vh / ${zoom})`;
  }
  return isTooHigh() ? 0 : size;
}
/* A picture below its code, or beside it where that leaves the slide larger. */
function fit(slide) {
  slide.classList.remove("beside");
  const below = shrink(slide);
  if (below >= 1.5 || !slide.querySelector(".jp-Cell-outputWrapper img")) return;
  slide.classList.add("beside");
  if (shrink(slide) > below) return;
  slide.classList.remove("beside");
  shrink(slide);
}
function show(number, quiet) {
  at = Math.min(Math.max(number, 0), slides.length - 1);
  slides.forEach((slide, i) => slide.classList.toggle("now", i === at));
  fit(slides[at]);
  document.getElementById("place").textContent = `${at + 1} of ${slides.length}`;
  if (!quiet) history.replaceState(null, "", `#${at + 1}`);
  scrollTo(0, 0);
}
document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.target.closest("summary, a, input, button") && event.key === " ") return;
  const to = { ArrowRight: at + 1, PageDown: at + 1, " ": at + 1, ArrowLeft: at - 1, PageUp: at - 1,
    Home: 0, End: slides.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  show(to);
});
addEventListener("resize", () => fit(slides[at]));
addEventListener("hashchange", () => show(Number(location.hash.slice(1)) - 1 || 0, true));
show(Number(location.hash.slice(1)) - 1 || 0, true);
</script>{{ super() }}{%- endblock -%}
"""


def pieces(notebook: Any) -> list[Any]:
    """The cells of a deck; text is cut at its headings."""
    found: list[Any] = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and cell.source.startswith("## Solutions"):
            break
        if role_of(cell) in LEFT_OUT:
            continue
        parts = _STEPS.split(cell.source) if cell.cell_type == "markdown" else [cell.source]
        for part in [p for p in parts if p.strip()] or [cell.source]:
            piece = type(cell)(cell, source=part, metadata=type(cell)(cell.metadata))
            piece.id = f"{cell.id}-{len(found)}"
            found.append(piece)
    return found


def heading_of(cell: Any) -> str:
    """The heading that a cell begins with, without its signs; empty for others."""
    found = re.match(r"#{1,3} +(.+)", cell.source) if cell.cell_type == "markdown" else None
    return found[1].strip() if found else ""


def cut(notebook: Any) -> int:
    """Leaves of a notebook that was run what a deck shows, and marks where slides begin; their number.

    A slide begins at a heading, and at text that follows code, unless this text ends its section. The
    mark is the heading, or for a slide that goes on, the section's with dots.
    """
    cells = pieces(notebook)
    title, shown = "", False
    for cell, after in zip(cells, [*cells[1:], None], strict=True):
        heading = heading_of(cell)
        title = heading or title
        ends = after is None or bool(heading_of(after))
        if heading or (cell.cell_type == "markdown" and shown and not ends):
            cell.metadata["slide"] = "" if heading else f"{title} ..."
            shown = False
        shown = shown or cell.cell_type == "code"
    notebook.cells = cells
    return sum("slide" in cell.metadata for cell in cells)


def deck(path: Path) -> tuple[str, int]:
    """The page of a lesson, which is run for it, and how many slides it has.

    Raises nbclient's CellExecutionError where a cell does.
    """
    notebook, _ = run_notebook(path)
    drop_widgets(notebook)
    title = (headings(notebook) or [path.stem])[0]
    num_slides = cut(notebook)
    return to_html(notebook, title, path.parent, TEMPLATE), num_slides


def chosen(lessons: Path, numbers: list[int]) -> list[Path]:
    """The lessons of these numbers, all where there are none. Raises `ValueError` for one that is not."""
    found = {int(path.name[:2]): path for path in sorted(lessons.glob("[0-9]*.ipynb"))}
    absent = [n for n in numbers if n not in found]
    if absent or not found:
        raise ValueError(f"got lessons {absent or numbers}, needed some of {sorted(found)}")
    return [found[n] for n in numbers or sorted(found)]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write lessons as slides, each deck one file.")
    parser.add_argument("numbers", nargs="*", type=int, metavar="NUMBER", help="of lessons (all)")
    parser.add_argument("--lessons", type=Path, default=ROOT / "lessons")
    parser.add_argument("--to", type=Path, default=ROOT / "build" / "slides")
    options = parser.parse_args(arguments)
    folders = [str(ROOT / name) for name in ("", "widgets", "datasets")]
    os.environ["PYTHONPATH"] = os.pathsep.join([*folders, os.environ.get("PYTHONPATH", "")])
    try:
        paths = chosen(options.lessons, options.numbers)
        options.to.mkdir(parents=True, exist_ok=True)
        with (
            tempfile.TemporaryDirectory() as made
        ):  # what a lesson writes beside itself stays there
            work = Path(made) / "lessons"
            shutil.copytree(options.lessons, work, ignore=shutil.ignore_patterns(".*"))
            for path in paths:
                text, num_slides = deck(work / path.name)
                page = options.to / f"{path.stem}.html"
                page.write_text(text, encoding="utf-8")
                print(f"{page}: {num_slides} slides", flush=True)
    except (ValueError, OSError, CellExecutionError) as e:
        print(f"slides: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

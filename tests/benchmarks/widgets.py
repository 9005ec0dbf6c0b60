"""How GraphView, Stepper and explorers look and how quick they are, in a JupyterLab in Chromium.

``make bench-widgets`` prints, for networks of the sizes that learners write, at 1280 x 900: the
smallest text of the first picture, the part of the pane that the picture takes and how much of
it is in sight, crossings of edges beside those of Graphviz's own drawing of all that is shown,
seconds from the start of a cell to the picture; and of a Stepper the milliseconds from a click to
the next step's text; and of each explorer the time to its first picture and the frames a second
while a control is dragged and while it plays. Medians of ``--repeat`` runs; goals stand beside them.

Usage: ``python -m tests.benchmarks.widgets [--repeat 3] [--only CNN] [--explorers | --times]``. The clock is the
page's, so that other programs' turns on a busy machine count (``chrt -r 5 python ...`` goes before them).
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.benchmarks.networks import NETWORKS
from tests.browser.conftest import CHROMIUM_FLAGS
from tests.browser.jupyter_server import JupyterServer
from tests.browser.lab_page import LabPage

SETUP = """import time
import dataflow as tf
from dataflow_widgets import GraphView, Stepper
from tests.benchmarks.networks import NETWORKS, chain
tf.constant(0)
GraphView(tf.get_default_graph())"""
SHOW = "g = tf.Graph()\nwith g.as_default():\n    {build}\nprint(time.time())\nGraphView(g)"
STEP = """g = tf.Graph()
with g.as_default():
    chain(40)
    last = g.get_operations()[-1].outputs[0]
    session = tf.Session()
Stepper(session, last, {"x:0": [[0.5] * 8]})"""

# What is drawn, and where, in px of the page; edges as polylines.
_MEASURE = """(output) => {
  const pane = output.querySelector(".df-pane"), svg = pane.querySelector(".df-svg");
  const scroller = pane.querySelector(".df-scroller").getBoundingClientRect();
  const k = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
  const texts = [...svg.querySelectorAll("text")].filter((t) => t.textContent);
  const nodes = [...svg.querySelectorAll(".df-node, .df-frame > rect")].map((e) => e.getBoundingClientRect());
  const seen = nodes.filter((b) => b.right <= scroller.right + 1 && b.bottom <= scroller.bottom + 1);
  const size = (list) => (Math.max(...list.map((b) => b.right)) - Math.min(...list.map((b) => b.left))) *
    (Math.max(...list.map((b) => b.bottom)) - Math.min(...list.map((b) => b.top)));
  const lines = [...svg.querySelectorAll(".df-line")].map((line) => {
    const length = line.getTotalLength();
    return Array.from({ length: 25 }, (_, i) => { const p = line.getPointAtLength(length * i / 24); return [p.x, p.y]; });
  });
  return {
    smallest: Math.min(...texts.map((t) => parseFloat(getComputedStyle(t).fontSize) * k)),
    part: size(seen) / (scroller.width * scroller.height),
    whole: seen.length / nodes.length,
    nodes: nodes.length,
    lines,
    drawn: window.drawnAt,
  };
}"""
# The moment of the newest GraphView's first drawing, by the page's clock.
_WATCH = """() => {
  window.drawnAt = 0;
  new MutationObserver((changes) => {
    for (const { target } of changes) if (target.dataset?.drawn > 0 && !window.drawnAt) window.drawnAt = Date.now() / 1000;
  }).observe(document.body, { subtree: true, attributes: true, attributeFilter: ["data-drawn"] });
}"""
_CLICKS = """async (output) => {
  const widget = output.querySelector(".df-stepper");
  const next = [...widget.querySelectorAll("button")].find((b) => b.getAttribute("aria-label") === "One step forward" || b.title === "One step forward");
  const times = [];
  for (let i = 0; i < 30; i++) {
    const before = performance.now();
    next.click();
    widget.getBoundingClientRect(); // with the layout of the page that the change asks for
    times.push(performance.now() - before);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return times;
}"""

# Sets a value of an explorer as often as the page is painted, for a while; frames a second.
_DRAG = """async (output, [name, values]) => {
  const shown = output.querySelector(".df-explorer");
  const { panel } = shown.querySelector(".df-explorer-panel");
  const [start, before] = [performance.now(), Number(shown.dataset.frames)];
  for (let i = 0; performance.now() - start < 3000; i++) {
    panel.set(name, values[i % values.length]);
    await new Promise((resolve) => requestAnimationFrame(resolve));
  }
  return (Number(shown.dataset.frames) - before) / (performance.now() - start) * 1000;
}"""
_PLAY = """async (output) => {
  const shown = output.querySelector(".df-explorer");
  const [start, before] = [performance.now(), Number(shown.dataset.frames)];
  shown.querySelector(".df-play").click();
  await new Promise((resolve) => setTimeout(resolve, 3000));
  const rate = (Number(shown.dataset.frames) - before) / (performance.now() - start) * 1000;
  shown.querySelector(".df-play").click();
  return rate;
}"""
_WATCH_FRAMES = """() => {
  window.framed = 0;
  new MutationObserver((changes) => {
    for (const { target } of changes) if (target.dataset?.frames === "1" && !window.framed) window.framed = Date.now() / 1000;
  }).observe(document.body, { subtree: true, attributes: true, attributeFilter: ["data-frames"] });
}"""
# What is made, the value that is dragged, where it is dragged to, and the frames a second to reach.
EXPLORERS: dict[str, tuple[str, list[Any], int]] = {
    "OptimizerExplorer()": ("rate", [0.01 + 0.002 * i for i in range(50)], 20),
    "BoundaryExplorer()": ("penalty", [0.002 * i for i in range(50)], 20),
    "ConvolutionExplorer()": ("window", [[i % 13, i // 13] for i in range(160)], 20),
    "ConvolutionExplorer(size='128')": ("window", [[i, i] for i in range(120)], 10),
    "GradientFlowExplorer()": ("rate", [0.001 + 0.01 * i for i in range(50)], 20),
    "AttentionExplorer()": ("sharpness", [0.1 * i for i in range(100)], 20),
    "RooflineExplorer()": ("peak", [0.1 + 0.5 * i for i in range(100)], 20),
    "StalenessExplorer()": ("rate", [0.01 + 0.005 * i for i in range(100)], 20),
    "PipelineExplorer()": ("transfer", [0.02 * i for i in range(50)], 20),
}


def crossings(lines: list[list[list[float]]]) -> int:
    """How many pairs of polylines cross, apart from where they begin or end together."""
    count = 0
    for i, a in enumerate(lines):
        for b in lines[i + 1 :]:
            count += any(
                _cross(a[k], a[k + 1], b[m], b[m + 1])
                for k in range(len(a) - 1)
                for m in range(len(b) - 1)
            )
    return count


def _cross(a: list[float], b: list[float], c: list[float], d: list[float]) -> bool:
    def side(p: list[float], q: list[float], r: list[float]) -> float:
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0


def graphviz_crossings(dot: str) -> int | None:
    """Those of Graphviz's own drawing of ``dot``; None without the program ``dot``."""
    program = shutil.which("dot")
    if program is None:
        return None
    done = subprocess.run(
        [program, "-Tjson0"], input=dot, capture_output=True, text=True, check=True
    )
    lines = []
    for edge in json.loads(done.stdout).get("edges", []):
        points = [part for part in edge["pos"].split() if part[0] not in "es"]
        lines.append([[float(v) for v in point.split(",")] for point in points])
    return crossings(lines)


class Bench:
    """One JupyterLab and one page; `networks` and `sizes` print a table each."""

    def __init__(self, lab: LabPage, server: JupyterServer, repeat: int) -> None:
        self.lab, self.server, self.repeat = lab, server, repeat
        name = server.write_notebook("bench.ipynb", [SETUP])
        lab.open_notebook(name)
        lab.run_all_cells()
        lab.output(0).locator(".df-widget[data-drawn]").wait_for()
        lab.page.evaluate(_WATCH)

    def measure(self, build: str) -> dict[str, Any]:
        """Draws what ``build`` builds in a new cell."""
        self.lab.page.evaluate("window.drawnAt = 0")
        index = self.lab.run_code(SHOW.format(build=build), timeout_seconds=300)
        output = self.lab.output(index)
        output.locator(".df-widget[data-drawn] .df-pane[data-attempt] .df-svg").wait_for()
        output.scroll_into_view_if_needed()
        found: dict[str, Any] = output.evaluate(_MEASURE)
        found["seconds"] = found["drawn"] - float(self.lab.output_text(index).split()[0])
        output.get_by_role("button", name="Save ▾").click()
        with self.lab.page.expect_download() as download:
            output.get_by_role("menuitem", name="DOT").click()
        found["dot"] = Path(download.value.path()).read_text(encoding="utf-8")
        return found

    def networks(self, names: list[str]) -> None:
        """Legibility and room of the first picture of each network."""
        print(
            "network                    text px  of pane  in sight  crossings (dot)  cell to picture"
        )
        for name in names:
            runs = [self.measure(f"NETWORKS[{name!r}]()") for _ in range(self.repeat)]
            last = runs[-1]
            seconds = statistics.median(run["seconds"] for run in runs)
            own = crossings(last["lines"])
            print(
                f"{name:26} {last['smallest']:7.1f} {last['part']:8.0%} {last['whole']:9.0%} "
                f"{own:10} ({graphviz_crossings(last['dot'])}) {seconds * 1000:14.0f} ms",
                flush=True,
            )
        print("goal                          11.0      60%      100%\n")

    def sizes(self) -> None:
        """Seconds to the picture of graphs of 300 and 6,000 nodes."""
        for nodes, goal in ((300, 250), (6000, 1000)):
            # Names as wide as no other's: a page draws what it has laid out before at once.
            names = [f"{nodes}{'_block' * (i + 1)}" for i in range(self.repeat)]
            runs = [self.measure(f"chain({nodes}, 'size_{name}')") for name in names]
            took = statistics.median(run["seconds"] for run in runs) * 1000
            print(f"{nodes} nodes: cell to picture {took:.0f} ms (goal {goal} ms)", flush=True)

    def clicks(self) -> None:
        """Milliseconds from a click to the next step."""
        index = self.lab.run_code(STEP)
        output = self.lab.output(index)
        output.locator(".df-stepper[data-drawn]").wait_for()
        times = output.evaluate(_CLICKS)
        print(
            f"step click: {statistics.median(times):.1f} ms, longest {max(times):.1f} ms (goal 50 ms)"
        )

    def explorers(self) -> None:
        """Time to the first picture of each explorer, and its frames a second."""
        self.lab.run_code("import dataflow_widgets\nfrom dataflow_widgets import *")
        self.lab.page.evaluate(_WATCH_FRAMES)
        print(
            "explorer                          first picture  dragged  playing   goal", flush=True
        )
        for made, (name, values, goal) in EXPLORERS.items():
            firsts, dragged, playing = [], [], []
            for _ in range(self.repeat):
                self.lab.page.evaluate("window.framed = 0")
                index = self.lab.run_code(f"print(time.time())\n{made}", timeout_seconds=120)
                output = self.lab.output(index)
                shown = output.locator(".df-explorer[data-frames]")
                shown.wait_for()
                start = float(self.lab.output_text(index).split()[0])
                firsts.append(self.lab.page.evaluate("window.framed") - start)
                output.scroll_into_view_if_needed()
                dragged.append(output.evaluate(_DRAG, [name, values]))
                if shown.get_by_role("button", name="Play").count():
                    playing.append(output.evaluate(_PLAY))
            played = f"{statistics.median(playing):6.1f}/s" if playing else "       -"
            print(
                f"{made:34} {statistics.median(firsts) * 1000:10.0f} ms "
                f"{statistics.median(dragged):6.1f}/s {played} {goal:4}/s, 1000 ms",
                flush=True,
            )


def main() -> None:
    """Prints the tables."""
    from playwright.sync_api import sync_playwright

    from dataflow.cli.browser import find_browser

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=list(NETWORKS), default=list(NETWORKS))
    parser.add_argument("--explorers", action="store_true", help="the explorers alone")
    parser.add_argument("--times", action="store_true", help="times of GraphView and Stepper alone")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = JupyterServer(Path(folder))
        server.start()
        try:
            browser = playwright.chromium.launch(
                executable_path=find_browser(), args=CHROMIUM_FLAGS, headless=True
            )
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            context.set_default_timeout(120_000)
            bench = Bench(LabPage(context.new_page(), server, Path(folder)), server, options.repeat)
            if not (options.explorers or options.times):
                bench.networks(options.only)
            if not options.explorers:
                bench.sizes()
                bench.clicks()
            if not options.times:
                bench.explorers()
            browser.close()
        finally:
            server.stop()


if __name__ == "__main__":
    main()

"""Draws the structure of the engine: `python -m tools.architecture` writes dataflow/architecture.svg.

Boxes are the folders of ``dataflow/`` (some of them together) in rows by layer, an arrow says that something in one imports
from the other. Only arrows that no longer way implies are drawn (the transitive reduction), so that
the picture stays readable. Everything is read from the code, the layers from
``tests/test_architecture.py``; a test draws it again and compares.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "dataflow" / "architecture.svg"
#: Boxes that stand for several folders or files, with the line that says which.
FOUNDATIONS, PUBLIC_NAMES, TRAINING = "foundations", "public names", "training library"
CONTENTS = {
    FOUNDATIONS: "errors, dtypes, shapes, files and formats",
    PUBLIC_NAMES: "tf.*, tf.contrib.*",
    TRAINING: "train, layers, rnn, losses, metrics, keras, estimator, summary, ...",
}
_TRAINING = (
    *("train", "layers", "rnn", "losses", "metrics", "keras", "estimator", "feature_column"),
    *("summary", "saved_model", "functions"),
)

_WIDTH, _ROW, _BOX, _GAP, _LEFT = 980, 92, 44, 34, 170
_CHARACTER = 7.4
_STYLE = """
  text { font: 13px ui-sans-serif, system-ui, sans-serif; fill: #1f2933; text-anchor: middle }
  .row { font-size: 12px; fill: #52606d; text-anchor: start }
  .small { font-size: 11px }
  .box { fill: #e8f0fb; stroke: #3e6fb0 }
  .top { fill: #eef6ec; stroke: #4b8b3b }
  .arrow { fill: none; stroke: #7b8794; stroke-width: 1.1 }
  .head { fill: #7b8794 }
  .page { fill: #ffffff }
  @media (prefers-color-scheme: dark) {
    text { fill: #e4e7eb } .row { fill: #9aa5b1 } .page { fill: #1b1f24 }
    .box { fill: #22344d; stroke: #7fa9e0 } .top { fill: #22382a; stroke: #86c06f }
    .arrow { stroke: #9aa5b1 } .head { fill: #9aa5b1 }
  }
"""
_TITLES = {
    0: "values and errors",
    1: "nodes; what they compute",
    2: "ops and gradients",
    3: "rewriting and placing",
    4: "running",
    5: "training, data, clusters",
    6: "what users see",
}
Imports = Mapping[str, Iterable[str]]


def rooms() -> tuple[dict[str, int], dict[str, set[str]]]:
    """The row of every box, and what each imports, as the code has it."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from tests import test_architecture as rules

    widgets, datasets = "dataflow_widgets", "dataflow_datasets"
    rows = {FOUNDATIONS: 0, TRAINING: rules.LAYER_OF["train"]}
    rows |= dict.fromkeys((PUBLIC_NAMES, widgets, datasets), rules.TOP)

    def box_of(module: str) -> str:
        package = module.partition(".")[0]
        if package != "dataflow":
            return package
        part = rules.part_of(module)
        if rules.LAYER_OF.get(part) == 0:
            return FOUNDATIONS
        if part in _TRAINING:
            return TRAINING
        return part if part in rules.LAYER_OF else PUBLIC_NAMES

    for name, layer in rules.LAYER_OF.items():
        if layer and name not in _TRAINING:
            rows[name] = layer
    imports: dict[str, set[str]] = {name: set() for name in rows}
    for module, path in rules.modules():
        source = path.read_text(encoding="utf-8")
        own = box_of(module)
        for item in rules.imports_of(source, module, is_package=path.stem == "__init__"):
            if item.target.partition(".")[0] not in rules.PACKAGES or item.target == "dataflow":
                continue
            target = box_of(item.target)
            if rows[target] < rows[own]:
                imports[own].add(target)
    return rows, imports


def reduced(imports: Imports) -> dict[str, set[str]]:
    """The imports that no longer way implies."""
    below: dict[str, set[str]] = {}

    def reachable(name: str) -> set[str]:
        if name not in below:
            below[name] = set()
            for target in imports[name]:
                below[name] |= {target} | reachable(target)
        return below[name]

    return {
        name: {
            target
            for target in targets
            if not any(target in reachable(other) for other in targets if other != target)
        }
        for name, targets in imports.items()
    }


def _places(
    rows: Mapping[str, int], arrows: Imports
) -> tuple[dict[str, tuple[float, float, float]], float]:
    """Box -> (middle, top, width), and the height of the page; each row in the order of what is below."""
    places: dict[str, tuple[float, float, float]] = {}
    top_layer = max(rows.values())
    for layer in range(top_layer + 1):
        names = [name for name, row in rows.items() if row == layer]

        def wish(name: str) -> float:
            middles = [places[target][0] for target in arrows[name] if target in places]
            return sum(middles) / len(middles) if middles else _WIDTH / 2

        names.sort(key=lambda name: (wish(name), name))
        widths = [
            max(76, len(name) * _CHARACTER + 22, len(CONTENTS.get(name, "")) * 5.6 + 22)
            for name in names
        ]
        total = sum(widths) + _GAP * (len(names) - 1)
        x = _LEFT + (_WIDTH - _LEFT - total) / 2
        y = 24 + (top_layer - layer) * _ROW
        for name, width in zip(names, widths, strict=True):
            places[name] = (x + width / 2, y, width)
            x += width + _GAP
    return places, 24 + (top_layer + 1) * _ROW - (_ROW - _BOX) + 24


def draw(rows: Mapping[str, int], imports: Imports) -> str:
    """The picture as SVG."""
    arrows = reduced(imports)
    places, height = _places(rows, arrows)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        'aria-label="The folders of dataflow in layers, with the imports between them">',
        f"<style>{_STYLE}</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path class="head" d="M0 0L8 4L0 8z"/></marker></defs>',
        f'<rect class="page" width="{_WIDTH}" height="{height}"/>',
    ]
    for name in rows:
        x, y, _ = places[name]
        for target in sorted(arrows[name]):
            tx, ty, _ = places[target]
            start, bend = y + _BOX, (ty - y - _BOX) / 2
            lines.append(
                f'<path class="arrow" marker-end="url(#head)" d="M{x:.0f} {start}'
                f'C{x:.0f} {start + bend:.0f} {tx:.0f} {ty - bend:.0f} {tx:.0f} {ty}"/>'
            )
    top = max(rows.values())
    for layer in sorted(set(rows.values())):
        y = 24 + (top - layer) * _ROW + _BOX / 2 + 4
        lines.append(f'<text class="row" x="12" y="{y:.0f}">{escape(_TITLES[layer])}</text>')
    for name, layer in rows.items():
        x, y, width = places[name]
        kind = "top" if layer == top else "box"
        lines.append(
            f'<rect class="{kind}" x="{x - width / 2:.0f}" y="{y}" width="{width:.0f}" '
            f'height="{_BOX}" rx="6"/>'
        )
        contents = CONTENTS.get(name)
        lines.append(f'<text x="{x:.0f}" y="{y + (19 if contents else 27)}">{escape(name)}</text>')
        if contents:
            lines.append(f'<text class="small" x="{x:.0f}" y="{y + 35}">{escape(contents)}</text>')
    return "\n".join([*lines, "</svg>", ""])


def main() -> None:
    """Writes the picture."""
    PICTURE.write_text(draw(*rooms()), encoding="utf-8")
    print(f"wrote {PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

"""The pictures that an explorer is made of; the page draws them, `picture` draws them without one.

Each is a plain record of arrays and labels. What a learner may take hold of (the handle of a heat
map, a window over an image, a cell, a number of a matrix) carries the *name of a value*: moving it
sets ``explorer.values[name]``, exactly as a slider would.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

Range = tuple[float, float]


@dataclass(kw_only=True)
class Panel:
    """Base of the pictures. ``title`` stands above, ``note`` below; ``wide`` takes the whole row."""

    kind: ClassVar[str]

    title: str = ""
    note: str = ""
    wide: bool = False

    def spec(self) -> dict[str, Any]:
        """Fields by name, with ``kind``; arrays stay arrays."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {"kind": self.kind} | fields


@dataclass(kw_only=True)
class Plot(Panel):
    """Curves and scattered points over two axes.

    ``lines`` and ``dots`` hold ``(x, y)`` by name, arrays of the same length; ``labels`` texts for the
    dots of a name; ``rules`` the x of a dashed vertical line by name. A range that is None is taken
    from the data. NaN breaks a line.
    """

    kind = "plot"

    lines: Mapping[str, tuple[Any, Any]] = dataclasses.field(default_factory=dict)
    dots: Mapping[str, tuple[Any, Any]] = dataclasses.field(default_factory=dict)
    labels: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    rules: Mapping[str, float] = dataclasses.field(default_factory=dict)
    x_label: str = ""
    y_label: str = ""
    x_range: Range | None = None
    y_range: Range | None = None
    log_x: bool = False
    log_y: bool = False


@dataclass(kw_only=True)
class HeatMap(Panel):
    """A grid of numbers as colors, row 0 at the *bottom*, with points and paths over it.

    ``values``: [height, width]. ``points``: (x, y, group), groups are small whole numbers.
    ``paths``: (x, y) by name, drawn with a dot at the end. ``bands`` > 0 draws that many steps of
    color instead of a smooth scale. ``handle``: (name of a value, x, y), which can be dragged.
    ``diverging`` centers the colors on 0. ``square`` keeps both axes to one scale.
    """

    kind = "heat"

    values: Any
    x_range: Range = (0.0, 1.0)
    y_range: Range = (0.0, 1.0)
    value_range: Range | None = None
    diverging: bool = False
    bands: int = 0
    points: tuple[Any, Any, Any] | None = None
    group_names: Sequence[str] = ()
    paths: Mapping[str, tuple[Any, Any]] = dataclasses.field(default_factory=dict)
    handle: tuple[str, float, float] | None = None
    x_label: str = ""
    y_label: str = ""
    square: bool = True


@dataclass(kw_only=True)
class Images(Panel):
    """Images side by side, row 0 at the top. ``values``: [n, height, width].

    ``cell``: (name of a value, image, row, column): a click on a cell sets that value to
    ``[image, row, column]``. ``window``: (name, row, column, height, width): a frame over image 0
    that can be dragged by whole cells and sets ``[row, column]``. ``marked``: [n, height, width],
    nonzero where a cell is outlined.
    """

    kind = "images"

    values: Any
    labels: Sequence[str] = ()
    columns: int = 0
    value_range: Range | None = None
    diverging: bool = False
    cell: tuple[str, int, int, int] | None = None
    window: tuple[str, int, int, int, int] | None = None
    marked: Any = None


@dataclass(kw_only=True)
class Bars(Panel):
    """Bars by label. ``values``: [n], or one array of n for each name. A range that is None starts
    at 0, or, on a logarithmic axis, below the smallest positive number."""

    kind = "bars"

    values: Mapping[str, Any] | Any
    labels: Sequence[str]
    y_label: str = ""
    y_range: Range | None = None
    log_y: bool = False


@dataclass(kw_only=True)
class Tokens(Panel):
    """Lines between tokens, as wide as their weight: from ``targets`` (left) to ``tokens`` (right).

    ``weights``: [heads, targets, tokens]; a row of a head sums to 1. ``chosen`` names the value that
    holds the number of the target whose lines are shown alone, -1 for all.
    """

    kind = "tokens"

    tokens: Sequence[str]
    targets: Sequence[str]
    weights: Any
    chosen: tuple[str, int] | None = None


@dataclass(kw_only=True)
class Lanes(Panel):
    """Spans of time in lanes. ``spans``: (lane, start, end, label, group) each, a group is a small
    whole number and ``group_names`` says what it is."""

    kind = "lanes"

    lanes: Sequence[str]
    spans: Sequence[tuple[int, float, float, str, int]]
    group_names: Sequence[str] = ()
    x_label: str = ""
    x_range: Range | None = None


@dataclass(kw_only=True)
class Network(Panel):
    """A feed-forward network: what each unit computes as a small heat map, weights as line widths.

    ``units``: for each layer [n, height, width], row 0 at the bottom; ``weights``: between layers
    [n, m]; a positive and a negative weight differ in color and dash. ``names`` labels the inputs.
    """

    kind = "network"

    units: Sequence[Any]
    weights: Sequence[Any]
    names: Sequence[str] = ()


@dataclass(kw_only=True)
class Matrix(Panel):
    """A small table of numbers. ``edits`` names the value that an edited table sets, "" for none."""

    kind = "matrix"

    values: Any
    edits: str = ""
    digits: int = 2


@dataclass(kw_only=True)
class Numbers(Panel):
    """Single numbers with their names, large."""

    kind = "numbers"

    values: Mapping[str, float | str]


def encode(panels: Sequence[Panel]) -> tuple[list[Any], list[bytes]]:
    """Panels as JSON with ``{"$": number, "shape": [...]}`` for arrays, and the arrays as float32."""
    buffers: list[bytes] = []

    def walk(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            buffers.append(np.ascontiguousarray(value, np.float32).tobytes())
            return {"$": len(buffers) - 1, "shape": list(value.shape)}
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, Mapping):
            return {str(key): walk(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [walk(item) for item in value]
        return value

    return [walk(panel.spec()) for panel in panels], buffers

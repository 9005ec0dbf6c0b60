"""Names of matplotlib's that its releases from 3.1 on took away: pictures of figures, color maps, histograms."""

from __future__ import annotations

import functools
import importlib
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.shim.missing_names import put_missing


def _tostring_rgb(canvas: Any) -> bytes:
    """The drawn figure's pixels, uint8 [height, width, 3] row by row: what summaries of figures are made of."""
    if not hasattr(canvas, "renderer"):
        canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].tobytes()


def _mend_agg(module: types.ModuleType) -> None:
    """Figures' pixels, and no wait without an end for a key or a click that nobody can give a figure without a window."""
    canvas_class = module.FigureCanvasAgg
    if not hasattr(canvas_class, "tostring_rgb"):
        canvas_class.tostring_rgb = _tostring_rgb

    def start_event_loop(canvas: Any, timeout: float = 0) -> None:
        if timeout > 0 or canvas.required_interactive_framework is not None:
            super(canvas_class, canvas).start_event_loop(timeout)

    canvas_class.start_event_loop = start_event_loop


def _mend_contours(module: types.ModuleType) -> None:
    """A set of contours is one collection now, and was a list of them."""
    if not hasattr(module.ContourSet, "collections"):
        module.ContourSet.collections = property(lambda contours: [contours])


def _get_cmap(name: Any = None, lut: int | None = None) -> Any:
    """``matplotlib.cm.get_cmap``: a color map by its name, of ``lut`` colors."""
    return importlib.import_module("matplotlib.pyplot").get_cmap(name, lut)


def _mend_color_maps(module: types.ModuleType) -> None:
    put_missing(module, get_cmap=_get_cmap)


def _mend_axes(module: types.ModuleType) -> None:
    """``hist(normed=)``, which is ``density`` now."""
    hist = module.Axes.hist

    @functools.wraps(hist)
    def with_normed(axes: Any, *args: Any, normed: Any = None, **kwargs: Any) -> Any:
        if normed is not None:
            kwargs["density"] = bool(normed)
        return hist(axes, *args, **kwargs)

    module.Axes.hist = with_normed


def _mend_figure(module: types.ModuleType) -> None:
    """``add_subplot("111")``: the three digits as text."""
    add_subplot = module.FigureBase.add_subplot

    @functools.wraps(add_subplot)
    def with_text(figure: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], str) and args[0].isdigit():
            args = (int(args[0]),)
        return add_subplot(figure, *args, **kwargs)

    module.FigureBase.add_subplot = with_text


def _mend_axis(module: types.ModuleType) -> None:
    """Labels of ticks, one for each: more than there are were left out, and those that had none stayed empty."""
    set_labels = module.Axis.set_ticklabels

    @functools.wraps(set_labels)
    def set_ticklabels(axis: Any, labels: Any, *args: Any, **kwargs: Any) -> Any:
        locator = axis.get_minor_locator() if kwargs.get("minor") else axis.get_major_locator()
        places = getattr(locator, "locs", None)
        if places is not None and 0 < len(labels) != len(places):
            labels = [*labels, *[""] * (len(places) - len(labels))][: len(places)]
        return set_labels(axis, labels, *args, **kwargs)

    module.Axis.set_ticklabels = set_ticklabels


#: By module: what adds the names that it once had.
MENDS: dict[str, Callable[[types.ModuleType], None]] = {
    "matplotlib.backends.backend_agg": _mend_agg,
    "matplotlib.contour": _mend_contours,
    "matplotlib.cm": _mend_color_maps,
    "matplotlib.axes._axes": _mend_axes,
    "matplotlib.axis": _mend_axis,
    "matplotlib.figure": _mend_figure,
}

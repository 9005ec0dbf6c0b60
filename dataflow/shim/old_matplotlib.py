"""Names of matplotlib's that its releases from 3.1 on took away: pictures of figures, color maps, styles."""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.shim import old_axes
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


def _mend_styles(module: types.ModuleType) -> None:
    """The styles of seaborn, which carry a version in their names now: ``plt.style.use("seaborn-whitegrid")``."""
    newest = "seaborn-v0_8"
    for name in [name for name in module.library if name.startswith(newest)]:
        module.library.setdefault("seaborn" + name[len(newest) :], module.library[name])


def _mend_legend(module: types.ModuleType) -> None:
    put_missing(module.Legend, legendHandles=property(lambda legend: legend.legend_handles))


def _set_window_title(canvas: Any, title: str) -> None:
    """A figure that no window shows has no title of one."""
    if canvas.manager is not None:
        canvas.manager.set_window_title(title)


def _mend_canvas(module: types.ModuleType) -> None:
    put_missing(module.FigureCanvasBase, set_window_title=_set_window_title)


#: By module: what adds the names that it once had.
MENDS: dict[str, Callable[[types.ModuleType], None]] = {
    "matplotlib.backends.backend_agg": _mend_agg,
    "matplotlib.backend_bases": _mend_canvas,
    "matplotlib.contour": _mend_contours,
    "matplotlib.cm": _mend_color_maps,
    "matplotlib.legend": _mend_legend,
    "matplotlib.style": _mend_styles,
    **old_axes.MENDS,
}

"""What axes and figures of matplotlib took before its releases from 3.1 on: arguments, lists of lines, axes in space."""

from __future__ import annotations

import contextlib
import functools
import inspect
import operator
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

from dataflow.shim.missing_names import put_missing

#: Whether this thread's figure adds axes by itself just now: those are not added once more.
_adding = threading.local()


@contextlib.contextmanager
def _figure_adds() -> Iterator[None]:
    before = getattr(_adding, "now", False)
    _adding.now = True
    try:
        yield
    finally:
        _adding.now = before


def _without(method: Callable[..., Any], *names: str) -> Callable[..., Any]:
    """``method``, which takes the arguments ``names`` no more, for a program that gives them: they changed nothing."""
    gone = set(names) - set(inspect.signature(method).parameters)

    @functools.wraps(method)
    def taking(*args: Any, **kwargs: Any) -> Any:
        return method(*args, **{name: value for name, value in kwargs.items() if name not in gone})

    return taking


def _renamed(method: Callable[..., Any], **names: str) -> Callable[..., Any]:
    """``method`` for a program that calls its arguments by their old names, the keys of ``names``."""
    gone = {
        old: new for old, new in names.items() if old not in inspect.signature(method).parameters
    }

    @functools.wraps(method)
    def taking(*args: Any, **kwargs: Any) -> Any:
        for old, new in gone.items():
            if kwargs.get(old) is not None:
                kwargs[new] = kwargs[old]
            kwargs.pop(old, None)
        return method(*args, **kwargs)

    return taking


def _mend_axes(module: types.ModuleType) -> None:
    """``hist(normed=)``, which is ``density`` now, ``boxplot(labels=)`` and ``stem(use_line_collection=)``."""
    axes = module.Axes
    axes.hist = _renamed(axes.hist, normed="density")
    axes.boxplot = _renamed(axes.boxplot, labels="tick_labels")
    axes.stem = _without(axes.stem, "use_line_collection")


def _remove(artists: Any, artist: Any) -> None:
    """Takes ``artist`` out of the axes; `ValueError` where it is none of them."""
    if artist not in list(artists):
        raise ValueError(f"list.remove(x): {artist!r} is none of {artists!r}.")
    artist.remove()


def _pop(artists: Any, index: int = -1) -> Any:
    artist = artists[index]
    artist.remove()
    return artist


def _delete(artists: Any, key: Any) -> None:
    found = artists[key]
    for artist in found if isinstance(key, slice) else [found]:
        artist.remove()


def _mend_axes_base(module: types.ModuleType) -> None:
    """``axes.lines.remove(line)``: what axes show was in lists; and ``grid(b=)``, which is ``visible`` now."""
    base = module._AxesBase
    base.grid = _renamed(base.grid, b="visible")
    if hasattr(base, "ArtistList"):
        put_missing(
            base.ArtistList,
            remove=_remove,
            pop=_pop,
            clear=lambda artists: _delete(artists, slice(None)),
            append=lambda artists, artist: artists._axes.add_artist(artist),
            __delitem__=_delete,
        )


def _mend_figure(module: types.ModuleType) -> None:
    """``add_subplot("111")``, ``gca(projection="3d")``, ``tight_layout(1.5)`` and ``savefig(papertype=)``."""
    base, figure = module.FigureBase, module.Figure
    add_subplot, add_axes, gca, tight_layout = (
        base.add_subplot,
        base.add_axes,
        base.gca,
        figure.tight_layout,
    )

    @functools.wraps(add_subplot)
    def with_text(self: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], str) and args[0].isdigit():
            args = (int(args[0]),)
        with _figure_adds():
            return add_subplot(self, *args, **kwargs)

    @functools.wraps(add_axes)
    def noticed(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _figure_adds():
            return add_axes(self, *args, **kwargs)

    @functools.wraps(gca)
    def of_a_kind(self: Any, **kwargs: Any) -> Any:
        if self.axes and kwargs.get("projection", gca(self).name) == gca(self).name:
            return gca(self)
        return self.add_subplot(1, 1, 1, **kwargs) if kwargs else gca(self)

    @functools.wraps(tight_layout)
    def padded(self: Any, *pads: float, **kwargs: Any) -> None:
        tight_layout(
            self, **dict(zip(("pad", "h_pad", "w_pad", "rect"), pads, strict=False)), **kwargs
        )

    base.add_subplot, base.add_axes, base.gca, figure.tight_layout = (
        with_text,
        noticed,
        of_a_kind,
        padded,
    )
    figure.savefig = _without(figure.savefig, "papertype", "frameon")


def _mend_axes3d(module: types.ModuleType) -> None:
    """``Axes3D(figure)`` adds itself to its figure; ``w_xaxis`` is ``xaxis`` now."""
    axes = module.Axes3D
    initialize = axes.__init__

    @functools.wraps(initialize)
    def added(
        self: Any, fig: Any, *args: Any, auto_add_to_figure: bool = True, **kwargs: Any
    ) -> None:
        with _figure_adds() if not auto_add_to_figure else contextlib.nullcontext():
            initialize(self, fig, *args, **kwargs)
            if not getattr(_adding, "now", False) and self not in fig.axes:
                fig.add_axes(self)

    axes.__init__ = added
    for letter in "xyz":
        put_missing(axes, **{f"w_{letter}axis": property(operator.attrgetter(f"{letter}axis"))})


def _mend_pyplot(module: Any) -> None:
    """The same arguments where the functions of ``plt`` name theirs one by one."""
    module.gca = lambda **kwargs: module.gcf().gca(**kwargs)
    module.tight_layout = lambda *pads, **kwargs: module.gcf().tight_layout(*pads, **kwargs)
    module.boxplot = _renamed(module.boxplot, labels="tick_labels")
    module.stem = _without(module.stem, "use_line_collection")


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
    "matplotlib.axes._axes": _mend_axes,
    "matplotlib.axes._base": _mend_axes_base,
    "matplotlib.axis": _mend_axis,
    "matplotlib.figure": _mend_figure,
    "matplotlib.pyplot": _mend_pyplot,
    "mpl_toolkits.mplot3d.axes3d": _mend_axes3d,
}

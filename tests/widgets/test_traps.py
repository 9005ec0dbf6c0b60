"""The fourteen traps of the widgets' design, each with what keeps us out of it.

Those that need a browser or JavaScript are tested elsewhere: `ELSEWHERE` names the test, and a test
here sees to it that it exists. The others are tested here for every widget.
"""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ipywidgets
import pytest
from ipywidgets.embed import embed_data

import dataflow as tf
from dataflow_widgets import ClusterPanel, GraphView, RewritePlayer, Stepper, Timeline, live
from dataflow_widgets.base import Delivery
from tests.widgets.test_timeline import made_up

TESTS = Path(__file__).parents[1]
# Trap number -> file and the name of a test in it.
ELSEWHERE = {
    1: ("widgets/layout.test.mjs", "hubs"),
    2: ("browser/test_widget_engine.py", "def test_initialize_waits_for_nothing"),
    6: (
        "browser/test_widget_pages.py",
        "def test_every_focusable_element_guards_jupyter_shortcuts",
    ),
    7: ("browser/test_widget_engine.py", "def test_without_workers_small_graphs_are_laid_out"),
    10: ("cli/test_lab.py", "--allow-root"),
    11: ("widgets/layout.test.mjs", "memory access out of bounds"),
    12: ("browser/test_widget_pages.py", "def test_no_transitions_on_a_large_drawing"),
    13: ("browser/test_widget_pages.py", "def test_python_error_is_shown_in_the_widget"),
    14: ("browser/conftest.py", "delete_sessions()"),
}


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    Delivery.begun = True
    with tf.Graph().as_default():
        yield
    for view in list(live._views):
        view.close()


def _fetch() -> Any:
    return tf.tanh(tf.multiply(tf.constant([1.0, 2.0], name="x"), 1.0), name="y")


def _graph_view() -> Any:
    _fetch()
    return GraphView()


def _with_session(make: Callable[[Any, Any], Any]) -> Any:
    fetch = _fetch()
    with tf.Session() as session:
        return make(session, fetch)


MAKERS: dict[str, Callable[[], Any]] = {
    "cluster_panel": ClusterPanel,
    "graph_view": _graph_view,
    "stepper": lambda: _with_session(Stepper),
    "rewrite_player": lambda: _with_session(RewritePlayer),
    "timeline": lambda: Timeline(made_up()),
}
every_widget = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())


@pytest.mark.parametrize("trap", sorted(ELSEWHERE))
def test_the_trap_is_tested(trap: int) -> None:
    file, text = ELSEWHERE[trap]
    assert text in (TESTS / file).read_text(encoding="utf-8")


def test_every_trap_is_here_or_elsewhere() -> None:
    here = {int(n) for n in re.findall(r"def test_trap_(\d+)_", Path(__file__).read_text("utf-8"))}
    assert here | set(ELSEWHERE) == set(range(1, 15))


@every_widget
def test_trap_3_a_picture_that_every_reader_shows(make: Callable[[], Any]) -> None:
    """An ``<img>`` with a data URI, and words: nothing that needs state or a script."""
    data, _ = make()._repr_mimebundle_()
    assert 'src="data:image/svg+xml' in data["text/html"]
    assert '<img alt="' in data["text/html"]
    assert "image/svg+xml" not in data
    assert "<script" not in data["text/html"]
    assert data["text/plain"]


# A live widget draws what is there now; what the notebook kept of it is shown by the page.
@pytest.mark.parametrize(
    "make", [m for n, m in MAKERS.items() if n != "cluster_panel"],
    ids=[n for n in MAKERS if n != "cluster_panel"],
)  # fmt: skip
def test_trap_4_the_picture_is_kept_in_a_trait(make: Callable[[], Any]) -> None:
    widget = make()
    compress = zlib.compressobj(wbits=-15)
    svg = "<svg xmlns='http://www.w3.org/2000/svg'/>"
    packed = b64encode(compress.compress(svg.encode()) + compress.flush()).decode()
    widget.set_state({"picture": packed})
    assert widget.to_svg() == svg
    assert widget.get_state()["picture"] == packed


@every_widget
def test_trap_5_and_size_what_a_saved_notebook_holds(make: Callable[[], Any]) -> None:
    """GitHub wants ``state`` in ``metadata.widgets``; a widget adds at most 60 KB of it."""
    widget = make()
    widget._receive(widget, {"kind": "hello", "version": 10_000, "runs": 10_000}, [])
    manager = ipywidgets.Widget.get_manager_state(widgets=[widget])
    (state,) = manager["state"].values()
    assert len(json.dumps(state)) < 60_000
    assert state["state"]["_esm"]


@every_widget
def test_trap_8_no_reserved_trait_names(make: Callable[[], Any]) -> None:
    own = {
        name for cls in type(make()).__mro__ for name in vars(cls) if "dataflow" in cls.__module__
    }
    assert not own & {"log", "keys", "comm", "layout"}


@every_widget
def test_trap_9_embedding_keeps_the_loader(make: Callable[[], Any]) -> None:
    state = embed_data(views=[make()], drop_defaults=False)["manager_state"]["state"]
    assert any("_esm" in each["state"] for each in state.values())

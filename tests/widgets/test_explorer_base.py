"""What every explorer does: turns, values, recordings, challenges."""

from __future__ import annotations

import json
import threading
import zlib
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import ipywidgets
import numpy as np
import pytest

import dataflow as tf
from dataflow_widgets.explorer import Challenge, Explorer, Numbers, Plot
from tests.widgets.waiting import wait_until


class Line(Explorer):
    """y = slope x + offset: the smallest explorer that has everything."""

    heading = "A line"
    lead = "Raise the slope."
    state = {"offset": [0.0]}
    rebuilds = frozenset({"points"})
    plays = True
    record_steps = 4
    challenges = (
        Challenge("a slope over 2?", lambda e: (e.values["slope"] > 2, f"{e.values['slope']:g}")),
    )

    def make_controls(self) -> dict[str, Any]:
        return {
            "slope": ipywidgets.FloatSlider(1, min=-3, max=3, description="slope"),
            "rate": ipywidgets.FloatLogSlider(0.1, min=-3, max=0),
            "points": ipywidgets.IntSlider(5, min=2, max=50),
            "color": ipywidgets.Dropdown(options=["red", "green"]),
            "dashed": ipywidgets.Checkbox(False),
        }

    def build(self) -> None:
        self.built = getattr(self, "built", 0) + 1
        with tf.Graph().as_default() as self.graph:
            self._x = tf.constant(np.linspace(0, 1, self.values["points"]), tf.float32)
            self._slope = tf.placeholder(tf.float32, [])
            self._y = self._slope * self._x
        self.session = tf.Session(graph=self.graph)

    def begin(self) -> None:
        self.moved = 0

    def step(self) -> None:
        self.moved += 1

    def frame(self) -> list[Any]:
        y = self.session.run(self._y, {self._slope: self.values["slope"]})
        x = np.linspace(0, 1, len(y))
        return [
            Plot(lines={"y": (x, y + self.values["offset"][0])}),
            Numbers(values={"moved": self.moved}),
        ]

    def sentence(self) -> str:
        return f"The slope is {self.values['slope']:g}."

    def code(self) -> str:
        return "import dataflow as tf\n"


class Page:
    """What a page would have been sent."""

    def __init__(self, explorer: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.frames: list[dict[str, Any]] = []
        self.failed: list[str] = []
        self.explorer = explorer
        monkeypatch.setattr(explorer, "send", self._take)

    def _take(self, content: dict[str, Any], buffers: Any = None) -> None:
        if content["kind"] == "frame":
            self.frames.append(content | {"buffers": buffers})
        elif content["kind"] == "turn-failed":
            self.failed.append(content["text"])

    def ask(self, number: int, steps: int = 0, reset: bool = False, **values: Any) -> None:
        turn = {"kind": "turn", "number": number, "steps": steps, "reset": reset, "values": values}
        self.explorer._receive(self.explorer, turn, [])


@pytest.fixture
def line() -> Iterator[Line]:
    explorer = Line()
    yield explorer
    explorer.close()


def test_a_turn_answers_with_the_frame_of_its_values(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page(line, monkeypatch)
    page.ask(1, slope=2.0, offset=[1.0])
    wait_until(lambda: bool(page.frames))
    (frame,) = page.frames
    assert frame["number"] == 1 and frame["values"]["slope"] == 2.0
    assert frame["sentence"] == "The slope is 2."
    y = frame["panels"][0]["lines"]["y"][1]
    values = np.frombuffer(frame["buffers"][y["$"]], np.float32)
    np.testing.assert_allclose(values, 2 * np.linspace(0, 1, 5) + 1, rtol=1e-6)


def test_the_newest_value_wins_and_frames_between_are_dropped(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page(line, monkeypatch)
    with line._lock:  # the engine is busy with a frame
        page.ask(1, slope=0.5)
        wait_until(lambda: line._turn is None)  # taken up, and waiting for the engine
        for i in range(2, 20):
            page.ask(i, slope=i / 10)
    wait_until(lambda: any(frame["number"] == 19 for frame in page.frames))
    assert [frame["number"] for frame in page.frames] == [1, 19]
    assert line.values["slope"] == 1.9


def test_values_of_a_dropped_turn_are_not_lost(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page(line, monkeypatch)
    with line._lock:
        page.ask(1, slope=0.5)
        wait_until(lambda: line._turn is None)
        page.ask(2, color="green")
        page.ask(3, slope=1.5)
    wait_until(lambda: any(frame["number"] == 3 for frame in page.frames))
    assert (line.values["color"], line.values["slope"]) == ("green", 1.5)


def test_steps_of_turns_that_are_joined_are_all_taken(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page(line, monkeypatch)
    with line._lock:
        page.ask(1, steps=1)
        wait_until(lambda: line._turn is None)
        page.ask(2, steps=1, slope=1.5)
        page.ask(3, steps=2)
    wait_until(lambda: any(frame["number"] == 3 for frame in page.frames))
    assert (line.moved, line.values["slope"]) == (4, 1.5)


def test_a_reset_forgets_the_turn_that_it_joins(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page(line, monkeypatch)
    with line._lock:
        page.ask(1, steps=1)
        wait_until(lambda: line._turn is None)
        page.ask(2, steps=3, slope=1.5)
        page.ask(3, reset=True)
        page.ask(4, color="green")
    wait_until(lambda: any(frame["number"] == 4 for frame in page.frames))
    assert (line.moved, line.values["slope"]) == (0, line._defaults["slope"])
    assert line.values["color"] == "green"


def test_what_the_models_are_told_is_told_when_it_rests(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dataflow_widgets.explorer.base._REST_SECONDS", 60.0)
    monkeypatch.setattr("dataflow_widgets.explorer.base._HOLD_SECONDS", 600.0)
    page = Page(line, monkeypatch)
    told: list[dict[str, Any]] = []
    monkeypatch.setattr(line, "_send", lambda message, buffers=None: told.append(message))
    for i in range(1, 6):
        page.ask(i, slope=i / 2)
        wait_until(lambda: page.frames[-1:] != [] and page.frames[-1]["number"] == i)  # noqa: B023
    assert told == [] and line.values["slope"] == line.controls["slope"].value == 2.5
    page.ask(6, slope=3.0)
    wait_until(lambda: len(page.frames) == 6)
    line._receive(line, {"kind": "keep"}, [])
    values = [m["state"]["values"] for m in told if "values" in m.get("state", {})]
    assert [v["slope"] for v in values] == [3.0]


def test_what_the_models_are_told_waits_for_no_recording(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dataflow_widgets.explorer.base._IDLE_SECONDS", 600.0)
    page = Page(line, monkeypatch)
    page.ask(1, slope=2.0)
    wait_until(lambda: len(page.frames) == 1)
    line._receive(line, {"kind": "keep"}, [])  # from now on there is something to record
    told: list[dict[str, Any]] = []
    monkeypatch.setattr(line, "_send", lambda message, buffers=None: told.append(message))
    page.ask(2, slope=3.0)
    wait_until(lambda: any("values" in message.get("state", {}) for message in told))
    assert line._recorder is not None and line.recorded == ""


def test_a_recording_waits_for_readers_of_any_explorer(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dataflow_widgets.explorer.base._IDLE_SECONDS", 600.0)
    page = Page(line, monkeypatch)
    other = Line()
    page.ask(1, slope=2.0)
    wait_until(lambda: len(page.frames) == 1)
    other._receive(other, {"kind": "keep"}, [])
    wait_until(lambda: other._recorder is not None and other._thread is not None)
    assert other._recorder.gi_frame.f_lasti < 1 and other.recorded == ""  # type: ignore[attr-defined]
    monkeypatch.setattr("dataflow_widgets.explorer.base._IDLE_SECONDS", 0.0)
    wait_until(lambda: other.recorded != "")
    other.close()


def test_without_threads_the_message_itself_computes(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    page = Page(line, monkeypatch)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    page.ask(1, slope=2.5)
    assert page.frames[0]["values"]["slope"] == 2.5


def test_an_idle_explorer_has_no_thread(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dataflow_widgets.explorer.base._IDLE_SECONDS", 0.01)
    page = Page(line, monkeypatch)
    page.ask(1, slope=2.0)
    wait_until(lambda: bool(page.frames) and line._thread is None)


def test_play_steps_and_reset_begins_again(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page(line, monkeypatch)
    page.ask(1, steps=3)
    wait_until(lambda: len(page.frames) == 1)
    assert line.moved == 3 and page.frames[0]["tick"] == 3
    page.ask(2, slope=2.0)
    wait_until(lambda: len(page.frames) == 2)
    page.ask(3, reset=True)
    wait_until(lambda: len(page.frames) == 3)
    assert line.moved == 0 and line.values["slope"] == 1 and page.frames[2]["tick"] == 0


def test_only_what_says_so_builds_the_graph_anew(line: Line) -> None:
    line.set_values(slope=2.0)
    assert line.built == 1
    line.set_values(points=7)
    assert line.built == 2


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"slope": "much"}, "slope is a number; got 'much'"),
        ({"slope": float("nan")}, "slope is a number"),
        ({"slope": True}, "slope is a number"),
        ({"color": "blue"}, "color is one of red, green; got 'blue'"),
        ({"dashed": 1}, "dashed is True or False; got 1"),
        ({"offset": [1.0, 2.0]}, r"offset is numbers of shape \[1\]"),
        ({"offset": [float("inf")]}, r"offset is numbers of shape \[1\]"),
        ({"offset": {"a": 1}}, "offset is like"),
        ({"_lock": 1}, "Line has no value '_lock'"),
    ],
)
def test_a_page_cannot_set_what_is_no_value(
    line: Line, monkeypatch: pytest.MonkeyPatch, values: dict[str, Any], message: str
) -> None:
    before = dict(line.values)
    page = Page(line, monkeypatch)
    page.ask(1, **values)
    wait_until(lambda: bool(page.failed))
    with pytest.raises(ValueError, match=message):
        line._take(values)
    assert line.values == before


def test_a_sliders_value_is_brought_within_its_limits(line: Line) -> None:
    line.set_values(slope=17.0, points=4.4)
    assert (line.values["slope"], line.values["points"]) == (3, 4)
    assert line.controls["slope"].value == 3


def test_an_unknown_keyword_is_refused_with_the_nearest() -> None:
    with pytest.raises(TypeError, match=r"Line got slop=.*Did you mean slope=\?"):
        Line(slop=2)


def test_a_control_that_cannot_be_drawn_is_refused() -> None:
    class Odd(Line):
        def make_controls(self) -> dict[str, Any]:
            return {"text": ipywidgets.Text("a")}

    with pytest.raises(
        TypeError, match="the control 'text' is a Text; an explorer takes IntSlider"
    ):
        Odd()


def test_controls_and_values_move_together(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page(line, monkeypatch)
    line.controls["slope"].value = 2.5
    assert line.values["slope"] == 2.5
    assert page.frames[-1]["values"]["slope"] == 2.5
    line.controls["color"].value = "green"
    assert line.values["color"] == "green"


def test_a_setting_is_an_expression_that_makes_it_again(line: Line) -> None:
    line.set_values(slope=2.0, offset=[0.5])
    assert line.setting() == "Line(slope=2.0, offset=[0.5])"
    again = eval(line.setting(), {"Line": Line})
    assert again.values == line.values
    again.close()


def test_a_challenge_is_checked_and_kept(line: Line) -> None:
    ask = {"kind": "challenge", "index": 0}
    assert line._answer(ask) == {"right": False, "words": "1"}
    assert not line.solved
    line.set_values(slope=2.5)
    assert line._answer(ask)["right"]
    assert line.solved == {"a slope over 2?": "2.5"}
    assert "found: a slope over 2?" in line.describe()


def test_a_twin_is_by_itself_and_opens_no_channel(line: Line) -> None:
    twin = line.twin(slope=3.0)
    assert twin.values["slope"] == 3.0 and line.values["slope"] == 1
    assert twin.comm is None and twin.session is not line.session
    twin.close()
    assert line.frame()


def unpacked(explorer: Explorer) -> list[dict[str, Any]]:
    states = json.loads(zlib.decompress(b64decode(explorer.recorded), wbits=-15))
    assert isinstance(states, list)
    return states


def test_a_recording_holds_play_and_every_control(line: Line) -> None:
    line.record(positions=3, ticks=5)
    states = unpacked(line)
    assert [s["tick"] for s in states[:5]] == [0, 1, 2, 3, 4]
    assert {s["values"]["slope"] for s in states} == {-3, 0, 1, 3}
    assert {s["values"]["color"] for s in states} == {"red", "green"}
    line_of = states[4]["panels"][0]["lines"]["y"][1]
    steps = np.frombuffer(b64decode(line_of["q"]), np.uint8)
    values = line_of["least"] + (steps.astype(float) - 1) / 254 * line_of["scale"]
    np.testing.assert_allclose(values, np.linspace(0, 1, 5), atol=1 / 254)
    assert line.values["slope"] == 1 and line.moved == 0


def test_a_page_at_rest_has_the_notebook_keep_picture_and_recording(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page(line, monkeypatch)
    page.ask(1, slope=2.0)
    wait_until(lambda: bool(page.frames))
    line._receive(line, {"kind": "keep"}, [])
    assert "The slope is 2." in line.words
    wait_until(lambda: line.recorded != "")
    assert any(state["values"]["slope"] == 3 for state in unpacked(line))


def test_an_error_in_a_frame_reaches_the_page(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page(line, monkeypatch)

    def fail() -> list[Any]:
        raise ZeroDivisionError("no line")

    monkeypatch.setattr(line, "frame", fail)
    page.ask(1, slope=2.0)
    wait_until(lambda: page.failed == ["ZeroDivisionError: no line"])


def test_graph_views_show_the_graph_that_runs(line: Line) -> None:
    (view,) = line.graph_views()
    assert view.graph is line.graph

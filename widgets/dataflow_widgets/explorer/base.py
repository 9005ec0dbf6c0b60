"""`Explorer`: a picture that the engine computes anew while its controls move."""

from __future__ import annotations

import contextlib
import copy
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import traitlets

from dataflow_widgets.base import Widget, refuse_unknown
from dataflow_widgets.explorer.challenges import Challenge
from dataflow_widgets.explorer.controls import accept, control_spec, shown_value
from dataflow_widgets.explorer.panels import Panel, encode
from dataflow_widgets.explorer.picture import panels_svg
from dataflow_widgets.explorer.recording import recorded_states

_IDLE_SECONDS = 2.0
_REST_SECONDS = 0.3  # without a turn: nothing moves
_HOLD_SECONDS = 1.0  # what the models are told while turns follow each other is told once in these
_STEPS_PER_TURN = 50


class Explorer(Widget):
    """A picture with controls, computed by `Session.run` while they move.

    A subclass says what the controls are, builds its graph, and returns the panels of the picture::

        class Decay(Explorer):
            heading = "Decay"
            lead = "Raise the rate until the curve overshoots."

            def make_controls(self):
                return {"rate": ipywidgets.FloatSlider(0.5, min=0, max=2.5, description="rate")}

            def build(self):
                with tf.Graph().as_default() as self.graph:
                    self.w = tf.placeholder(tf.float32, [], name="w")
                    self.gradient = tf.gradients(tf.square(self.w) / 2, self.w)[0]
                self.session = tf.Session(graph=self.graph)

            def frame(self):
                path = [1.0]
                for _ in range(20):
                    gradient = self.session.run(self.gradient, {self.w: path[-1]})
                    path.append(path[-1] - self.values["rate"] * gradient)
                return [Plot(lines={"w": (np.arange(21), np.array(path))}, x_label="step")]

    ``Decay(rate=1.5)`` displays it. Keywords are values of controls and of `state`, ``title`` and
    ``height`` (px of a panel).

    Class attributes:
        heading: its name, a few words.
        lead: one sentence, what to try first.
        challenges: `Challenge` objects; what was found is kept in ``solved``.
        state: values that no control holds (a dragged point, an edited matrix), with their defaults.
        rebuilds: names of values after whose change `build` is called again.
        plays: whether there is a Play button, which calls `step` before each frame.

    Attributes:
        values: the present values by name, kept in the notebook.
        controls: the ipywidgets by name; setting ``controls[name].value`` moves the picture.
        graph, session: what `build` made; *Show the graph* opens them.
    """

    heading: ClassVar[str] = "Explorer"
    lead: ClassVar[str] = ""
    challenges: ClassVar[Sequence[Challenge]] = ()
    state: ClassVar[Mapping[str, Any]] = {}
    rebuilds: ClassVar[frozenset[str]] = frozenset()
    plays: ClassVar[bool] = False
    record_steps: ClassVar[int] = 60  # of Play, in a recorded state

    values = traitlets.Dict().tag(sync=True)
    form = traitlets.Dict().tag(sync=True)
    solved = traitlets.Dict().tag(sync=True)
    recorded = traitlets.Unicode("").tag(sync=True)

    graph: Any = None
    session: Any = None
    _last_turn: ClassVar[float] = 0.0  # of any explorer: `time.monotonic`

    def __init__(self, **options: Any) -> None:
        self._is_twin = bool(options.pop("_twin", False))
        self.controls: dict[str, Any] = self.make_controls()
        names = {*self.controls, *self.state}
        refuse_unknown(type(self), {"title", "height", *names}, options)
        given = {name: options.pop(name) for name in list(options) if name in names}
        self._defaults = {n: shown_value(c) for n, c in self.controls.items()}
        self._defaults |= copy.deepcopy(dict(self.state))
        self._lock = threading.RLock()  # the engine's state: one turn at a time
        self._ready = threading.Condition()
        self._turn: dict[str, Any] | None = None  # the newest that has not begun
        self._thread: threading.Thread | None = None
        self._held: contextlib.ExitStack | None = None  # what the models are not told yet
        self._held_since = 0.0
        self._recorder: Iterator[None] | None = None  # a recording that is not finished
        self._tick = 0  # frames played since the last reset
        self._is_taking = False
        self._views: dict[str, Any] = {}
        form = {
            "heading": self.heading,
            "lead": self.lead,
            "plays": self.plays,
            "controls": [control_spec(n, c) for n, c in self.controls.items()],
            "defaults": self._defaults,
            "challenges": [challenge.text for challenge in self.challenges],
        }
        super().__init__(
            kind="explorer",
            values=dict(self._defaults),
            form=form,
            **({"height": 260} | options),
        )
        self._take(given)
        for name, control in self.controls.items():
            control.observe(lambda _, name=name: self._control_moved(name), "value")
        self.restart()
        if given:
            self.changed(set(given))
        header, buffers = self._frame_message(0)
        self.payload = {"nodes": [], "frame": header, "arrays": buffers}

    # ---- what a subclass says -----------------------------------------------------------------

    def make_controls(self) -> dict[str, Any]:
        """The controls by the name of their value, in the order in which they are shown."""
        return {}

    def build(self) -> None:
        """Builds ``self.graph`` and ``self.session`` for the present values."""

    def begin(self) -> None:
        """Sets the state that `step` moves to its beginning; called after `build` and by Reset."""

    def step(self) -> None:
        """One step of Play."""

    def changed(self, names: set[str]) -> None:
        """Values have changed (after `build`, if it was called): for what depends on them."""

    def frame(self) -> list[Panel]:
        """The picture for the present values."""
        raise NotImplementedError

    def sentence(self) -> str:
        """What the picture shows now, in one sentence with its numbers: for those who do not see it
        and for the notebook's text."""
        return ""

    def code(self) -> str:
        """About ten lines of `tf` that do the same, ready to paste; "" for none."""
        return ""

    def one_step(self) -> tuple[Any, Any] | None:
        """Fetches and feeds of one step in ``self.session``, for the Stepper; None for none."""
        return None

    # ---- values -------------------------------------------------------------------------------

    def restart(self) -> None:
        """Builds anew and begins at the beginning, with the present values."""
        with self._lock:
            self.build()
            self.begin()
            self._tick = 0

    def set_values(self, **values: Any) -> None:
        """Sets values by name and shows the picture that follows; raises as a control does."""
        refuse_unknown(type(self), {*self.controls, *self.state}, values)
        with self._lock:
            self._apply(self._take(values))
        self._show()

    def adjust(self, **values: Any) -> None:
        """Sets values that follow from another one, in `changed`: without a picture of its own."""
        self._take(values)

    def setting(self) -> str:
        """The expression that makes this explorer as it is set now."""
        changed = {n: v for n, v in self.values.items() if v != self._defaults[n]}
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in changed.items())})"

    def twin(self, **values: Any) -> Explorer:
        """The same explorer with these values, by itself and unseen: its own graph and session."""
        return type(self)(_twin=True, **(dict(self.values) | values))

    def _take(self, given: Mapping[str, Any]) -> set[str]:
        """Takes values that are right, and returns the names of those that changed."""
        new = dict(self.values)
        self._is_taking = True
        try:
            for name, value in given.items():
                if name in self.controls:
                    new[name] = accept(name, self.controls[name], value)
                elif name in self.state:
                    new[name] = self._accept_state(name, value)
                else:
                    raise ValueError(f"{type(self).__name__} has no value {name!r}")
        finally:
            self._is_taking = False
        changed = {name for name in new if new[name] != self.values.get(name)}
        if changed:
            self.values = new
        return changed

    def _accept_state(self, name: str, value: Any) -> Any:
        """A value of `state`: numbers, or lists of them in the shape of the default."""
        like = self.state[name]
        if isinstance(like, str | bool):
            if type(value) is not type(like):
                raise ValueError(f"{name} is like {like!r}; got {value!r}")
            return value
        try:
            array = np.asarray(value, np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{name} is like {like!r}; got {value!r}") from None
        if array.shape != np.shape(like) or not np.isfinite(array).all():
            raise ValueError(f"{name} is numbers of shape {list(np.shape(like))}; got {value!r}")
        if np.asarray(like).dtype.kind in "iu":
            array = np.round(array).astype(np.int64)
        return array.tolist()

    def _apply(self, changed: set[str]) -> None:
        if changed & self.rebuilds:
            self.restart()
        if changed:
            self.changed(changed)

    def _control_moved(self, name: str) -> None:
        """A control was set in Python."""
        if self._is_taking:
            return
        with self._lock:
            value = shown_value(self.controls[name])
            if value == self.values[name]:
                return
            self.values = dict(self.values) | {name: value}
            self._apply({name})
        self._show()

    # ---- turns: what the page asks for ----------------------------------------------------------

    def _begin_turn(self, turn: dict[str, Any]) -> None:
        """Has a turn done soon; one that waits for its beginning is joined with the newer one."""
        with self._ready:
            if self._turn is not None:
                if not turn["reset"]:
                    turn["values"] = self._turn["values"] | turn["values"]
                    turn["steps"] = min(_STEPS_PER_TURN, self._turn["steps"] + turn["steps"])
                turn["reset"] = turn["reset"] or self._turn["reset"]
            self._turn = turn
            if self._has_thread():
                return
        self._next_turn()  # a Python without threads: the message itself does it

    def _has_thread(self) -> bool:
        """Wakes the thread that computes, or starts it; False where there can be none."""
        self._ready.notify()
        if self._thread is None:
            thread = threading.Thread(target=self._work, name="dataflow explorer", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                return False
            self._thread = thread
        return True

    def _work(self) -> None:
        while True:
            if not self._has_work() and self._rests(_REST_SECONDS):
                self._release()
                with self._ready:
                    if self._rests(_IDLE_SECONDS):
                        self._thread = None
                        return
            if self._turn is not None:
                Explorer._last_turn = time.monotonic()
                self._next_turn()
                if time.monotonic() - self._held_since > _HOLD_SECONDS:
                    self._release()
            elif time.monotonic() - Explorer._last_turn < _IDLE_SECONDS:
                self._rests(_REST_SECONDS)  # a reader moves something, maybe of another explorer
                if self._turn is None:
                    self._release()
            elif self._recorder is not None and next(self._recorder, self) is self:
                self._recorder = None

    def _rests(self, seconds: float) -> bool:
        """Waits so long for a turn; whether there is nothing to do."""
        with self._ready:
            if self._turn is None:
                self._ready.wait(seconds)
            return not self._has_work()

    def _has_work(self) -> bool:
        return self._turn is not None or self._recorder is not None

    def _hold(self) -> None:
        """Holds back the messages that tell the models of values: every frame carries them too."""
        if self._held is None:
            self._held, self._held_since = contextlib.ExitStack(), time.monotonic()
            for widget in (self, *self.controls.values()):
                self._held.enter_context(widget.hold_sync())

    def _release(self) -> None:
        """Sends what was held back."""
        with self._lock:
            held, self._held = self._held, None
            if held is not None:
                held.close()

    def _next_turn(self) -> None:
        with self._ready:
            turn, self._turn = self._turn, None
        if turn is None:
            return
        try:
            with self._lock:
                if threading.current_thread() is self._thread:
                    self._hold()
                if turn["reset"]:
                    self._take(self._defaults)
                    self.restart()
                self._apply(self._take(turn["values"]))
                for _ in range(turn["steps"]):
                    self.step()
                    self._tick += 1
                message = self._frame_message(turn["number"])
        except Exception as e:
            text = f"{type(e).__name__}: {e}"
            self.send({"kind": "turn-failed", "number": turn["number"], "text": text})
            return
        self.send(*message)

    def _show(self) -> None:
        """Sends the present picture to pages that did not ask."""
        if not self._is_twin:
            with self._lock:
                message = self._frame_message(0)
            self.send(*message)

    def _frame_message(self, number: int) -> tuple[dict[str, Any], list[bytes]]:
        panels, buffers = encode(self.frame())
        header = {
            "kind": "frame",
            "number": number,
            "tick": self._tick,
            "values": dict(self.values),
            "panels": panels,
            "sentence": self.sentence(),
        }
        return header, buffers

    def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        kind = question.get("kind")
        if kind == "turn":
            turn = {
                "values": dict(question.get("values") or {}),
                "reset": bool(question.get("reset")),
                "steps": max(0, min(_STEPS_PER_TURN, int(question.get("steps", 0)))),
                "number": int(question.get("number", 0)),
            }
            self._begin_turn(turn)
            return {}
        if kind == "challenge":
            return self.check(int(question["index"]))
        if kind == "graph":
            return {"models": [view.model_id for view in self.graph_views()]}
        if kind == "code":
            return {"code": f"# {self.setting()}\n{self.code()}"}
        if kind == "keep":
            self._keep()
            return {}
        return super()._answer(question)

    def _greet(self, version: int, num_runs: int) -> None:
        self._show()

    # ---- challenges, graph, code ----------------------------------------------------------------

    def check(self, index: int) -> dict[str, Any]:
        """Checks challenge ``index`` (from 0) with the engine: whether it is ``right``, and ``words``."""
        challenge = self.challenges[index]
        with self._lock:
            right, words = challenge.check(self)
        right = bool(right)
        if right:
            self.solved = dict(self.solved) | {challenge.text: words}
        return {"right": right, "words": words}

    def graph_views(self) -> list[Any]:
        """The graph that runs in a `GraphView`, and one step of it in a `Stepper`."""
        from dataflow_widgets.graph_view import GraphView
        from dataflow_widgets.stepper import Stepper

        with self._lock:
            if self.graph is None:
                return []
            views = [GraphView(self.graph, title=f"The graph of {self.heading}")]
            step = self.one_step()
            if step is not None:
                views.append(Stepper(self.session, *step, title="One step"))
        for old in self._views.values():
            old.close()
        self._views = {type(view).__name__: view for view in views}
        return views

    # ---- without a kernel -----------------------------------------------------------------------

    def record(self, positions: int = 4, ticks: int = 8) -> None:
        """Keeps states in the notebook, so that the controls move something without a kernel.

        ``positions`` values of each control with the others as they are, and, of one that plays,
        ``ticks`` moments of Play. Twins compute them; of what would make the notebook too large
        (150 kB) every second state goes.
        """
        for _ in self._recording(positions, ticks):
            pass

    def _recording(self, positions: int = 4, ticks: int = 8) -> Iterator[None]:
        """`record`, a step at a time, so that a turn need not wait for the whole of it."""
        self.recorded = yield from recorded_states(self, positions, ticks)

    def _keep(self) -> None:
        """The page has come to rest: its picture is what the notebook keeps."""
        self._release()
        with self._lock:
            self._keep_picture()
        if not self.recorded and self._recorder is None:
            with self._ready:
                self._recorder = self._recording()
                if not self._has_thread():
                    self._recorder = None  # it would keep the kernel from its cells

    # ---- showing --------------------------------------------------------------------------------

    def describe(self) -> str:
        """The explorer in words: what it is, how it is set, what it shows."""
        lines = [f"{self.heading}. {self.lead}".strip()]
        for spec in self.form["controls"]:
            lines.append(f"  {spec['label']}: {_text(self.values[spec['name']])}")
        with self._lock:
            lines.append(self.sentence())
        for challenge in self.challenges:
            found = self.solved.get(challenge.text)
            lines.append(f"  {'found' if found else 'to find'}: {challenge.text}")
        return "\n".join(line for line in lines if line)

    def to_svg(self) -> str:
        """The picture as it is now."""
        return self._draw()

    def _draw(self) -> str:
        with self._lock:
            return panels_svg(self.frame(), self.title or self.heading)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        self._keep_picture()
        return super()._repr_mimebundle_(**kwargs)

    def open(self) -> None:
        """Opens the channel to the page; a twin has none."""
        if not self._is_twin:
            super().open()

    def close(self) -> None:
        """Ends the widget and its session."""
        if hasattr(self, "_held"):
            self._release()
        for view in getattr(self, "_views", {}).values():
            view.close()
        if getattr(self, "session", None) is not None:
            self.session.close()
            self.session = None
        super().close()


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)

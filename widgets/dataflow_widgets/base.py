"""What every widget has: traits that a saved notebook can hold, and a message channel to the page.

The heavy parts never stay in the traits of a widget. Library and layout engine go to a page once
(``built/``); the graph goes in ``payload``, which is emptied as soon as the page has it. What a
notebook keeps of a widget is the loader (3 KB), ``words``, a compressed ``picture``, and a compressed
``snapshot`` from which the page draws it again without a kernel. `Library` is kept once beside them.

A cell that shows a widget has two outputs: a static picture, for viewers that run no script (GitHub,
``nbconvert``, an untrusted notebook), and the widget, whose script hides the picture while it is there.
One output with both will not do: ``nbconvert`` takes the widget of a notebook with saved widgets,
and loads what draws it from the network.
"""

from __future__ import annotations

import difflib
import json
import secrets
import struct
import traceback
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable
from functools import cache, wraps
from html import escape
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from dataflow.course import translations
from dataflow_widgets import live
from dataflow_widgets.rate_limit import Pacer

BUILT = Path(__file__).parent / "built"


@cache
def packed(name: str) -> bytes:
    """A file of ``built/`` as it is sent to a page: deflated, once per process."""
    compress = zlib.compressobj(level=9, wbits=-15)
    return compress.compress((BUILT / name).read_bytes()) + compress.flush()


def words_of(language: str) -> dict[str, str]:
    """What widgets say, in English, and the same in ``language``."""
    table = translations.read_table(language)
    return translations.in_company(table["widgets"] | table["page"])


@cache
def packed_library(language: str) -> bytes:
    """``library.js`` as it is sent, with the table of ``language`` in it; without one for English."""
    if language == "en":
        return packed("library.js")
    told = json.dumps({language: words_of(language)}, ensure_ascii=False, separators=(",", ":"))
    text = (BUILT / "library.js").read_text(encoding="utf-8").replace('"__LANGUAGES__"', told)
    compress = zlib.compressobj(level=9, wbits=-15)
    return compress.compress(text.encode()) + compress.flush()


def pack_payload(payload: dict[str, Any], _widget: Any = None) -> dict[str, Any]:
    """``payload`` as it is sent: all but its ``arrays`` (buffers by themselves) as one buffer of JSON.

    ipywidgets looks through every list and dictionary of a trait for buffers, several times, and the
    page's messages are parsed and copied whole: a graph of 6,000 operations took 0.2 s in that.
    """
    if not payload:
        return {}
    plain = {key: value for key, value in payload.items() if key != "arrays"}
    text = json.dumps(plain, separators=(",", ":"), allow_nan=False, default=_python_number)
    return {"packed": text.encode()} | {k: v for k, v in payload.items() if k == "arrays"}


def _python_number(value: Any) -> Any:
    """NumPy's integers, which `json` does not know."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"a payload holds numbers, texts, lists and dictionaries, got {value!r}")


def _spoken(describe: Callable[..., str]) -> Callable[..., str]:
    @wraps(describe)
    def translated(*args: Any, **kwargs: Any) -> str:
        return translations.translate(describe(*args, **kwargs))

    return translated


class Library(anywidget.AnyWidget):
    """The widgets' JavaScript without the layout engine (100 KB), as a model that a notebook keeps.

    One for each kernel. A notebook that is opened without its kernel takes the library from it, so that
    graphs still open and close and runs are stepped through there.
    """

    _esm = (BUILT / "loader.js").read_text(encoding="utf-8")

    kind = traitlets.Unicode("library").tag(sync=True)
    library = traitlets.Bytes(b"").tag(sync=True, from_json=lambda value, _: bytes(value or b""))


class Delivery:
    """Whether library and engine were brought to a page by this kernel.

    `Library` brings the one, and the first widget carries the other along, so that it is drawn without
    a question and answer, which a busy kernel would not give. Pages opened later ask.
    """

    begun = False
    library: Library | None = None


class Widget(anywidget.AnyWidget):
    """Base of the widgets of this package; see the module's docstring."""

    _esm = (BUILT / "loader.js").read_text(encoding="utf-8")

    kind = traitlets.Unicode("").tag(sync=True)
    token = traitlets.Unicode("").tag(sync=True)  # tells the models of a page apart
    title = traitlets.Unicode("").tag(sync=True)
    height = traitlets.Int(480).tag(sync=True)
    payload = traitlets.Dict().tag(sync=True, to_json=pack_payload)
    bundle = traitlets.Bytes(b"").tag(sync=True, from_json=lambda value, _: bytes(value or b""))
    picture = traitlets.Unicode("").tag(sync=True)
    snapshot = traitlets.Unicode("").tag(sync=True)
    words = traitlets.Unicode("").tag(sync=True)
    marks = traitlets.Dict().tag(sync=True)
    failure = traitlets.Unicode("").tag(sync=True)
    language = traitlets.Unicode("en").tag(
        sync=True
    )  # of the words in the page: shared/translate.js

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """`describe` of every widget speaks the learner's language."""
        super().__init_subclass__(**kwargs)
        if "describe" in cls.__dict__:
            cls.describe = _spoken(cls.describe)  # type: ignore[method-assign]

    def __init__(self, **traits: Any) -> None:
        if not Delivery.begun:
            Delivery.begun = True
            Delivery.library = Library(library=packed_library(translations.language()))
            traits["bundle"] = struct.pack("<I", 0) + packed("graphviz.js")
        traits["token"] = secrets.token_hex(6)
        traits["language"] = translations.language()
        self._num_open = 0
        self._static_id = ""
        self._static_pacer = Pacer(self._renew_static, seconds=1.0)
        super().__init__(**traits)
        self.on_msg(self._receive)

    # ---- messages from the page ---------------------------------------------------------------

    def _receive(self, _widget: Any, content: Any, buffers: list[Any]) -> None:
        """Jupyter swallows what a message handler raises, so an error is sent back to be shown."""
        try:
            self._handle(content, buffers)
        except Exception as e:
            text = f"{type(e).__name__}: {e}"
            if isinstance(content, dict) and content.get("id") is not None:
                self.send({"kind": "answer", "id": content["id"], "error": text})
            else:
                self.send({"kind": "error", "text": text})
            self._last_error = traceback.format_exc()

    def _handle(self, content: dict[str, Any], buffers: list[Any]) -> None:
        kind = content.get("kind")
        if kind == "library":
            self.send({"kind": "library"}, [packed_library(translations.language())])
        elif kind == "language":  # of a page that got its library from an English kernel
            known = self.language in translations.languages()
            table = words_of(self.language) if known else {}
            self.send({"kind": "language", "language": self.language, "table": table})
        elif kind == "engine":
            self.send({"kind": "engine"}, [packed("graphviz.js")])
        elif kind == "hello":
            with self.hold_sync():
                self.payload = {}
                self.bundle = b""
            self._greet(int(content.get("version", 0)), int(content.get("runs", 0)))
        elif kind == "opened":
            self._num_open += 1
            self._page_changed()
        elif kind == "closed":
            self._num_open = max(0, self._num_open - 1)
            self._page_changed()
        else:
            answer = self._answer(content)
            if content.get("id") is not None:
                self.send({"kind": "answer", "id": content["id"], "content": answer})

    def _greet(self, version: int, num_runs: int) -> None:
        """A page that knows ``version`` operations and ``num_runs`` recorded runs says hello."""

    def _page_changed(self) -> None:
        """A view of this widget was opened or closed."""

    def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        """The answer to a question that carries an id."""
        if question.get("kind") == "about":
            from dataflow_widgets.op_reference import about_op

            return {"sections": about_op(str(question.get("op", "")))}
        raise ValueError(f"this widget has no answer to {question.get('kind')!r}")

    # ---- showing ------------------------------------------------------------------------------

    def describe(self) -> str:
        """The same in words."""
        raise NotImplementedError

    def to_svg(self) -> str:
        """A picture without a page: the page's own if it has sent one, else made here."""
        if self.picture:
            try:
                return zlib.decompress(b64decode(self.picture), wbits=-15).decode()
            except (ValueError, zlib.error):
                pass  # a damaged picture: draw a new one
        return self._draw()

    def _draw(self) -> str:
        raise NotImplementedError

    def _keep_picture(self, max_words: int = 4000) -> None:
        """Puts a picture made here, and the words, where a saved notebook keeps them."""
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        self.picture = b64encode(packer.compress(self._draw().encode()) + packer.flush()).decode()
        self.words = self.describe()[:max_words]

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """The widget; unless ``is_alone`` with a picture and words for where no widget can run.

        The picture is an ``<img>`` with an SVG data URI: GitHub, nbconvert and untrusted notebooks
        show that, while they drop ``image/svg+xml``.
        """
        is_alone = kwargs.pop("is_alone", False)
        shown = super()._repr_mimebundle_(**kwargs)
        data, metadata = shown if isinstance(shown, tuple) else (shown or {}, {})
        if is_alone:
            return {k: v for k, v in data.items() if k != "text/plain"}, metadata
        return data | self._static(), metadata

    def _ipython_display_(self, **_: Any) -> None:
        """Two outputs; see the module's docstring."""
        from IPython.display import publish_display_data

        self.publish_static()
        publish_display_data(*self._repr_mimebundle_(is_alone=True))  # type: ignore[no-untyped-call]

    def publish_static(self) -> None:
        """Shows the words as an output of their own, with a picture once the cell is over.

        A page that runs scripts hides that output, so the widget does not wait for the picture. It
        is renewed when the page sends a newer one.
        """
        from IPython.display import publish_display_data

        self._static_id = self._static_id or f"dataflow-{self.token}"
        words = self._said()
        publish_display_data(  # type: ignore[no-untyped-call]
            {"text/plain": words, "text/html": self._marked(f"<pre>{escape(words)}</pre>")},
            transient={"display_id": self._static_id},
        )
        live.after_cell(self, self._renew_static)

    @traitlets.observe("picture")
    def _picture_changed(self, _change: Any) -> None:
        if self._static_id:
            self._static_pacer.ask()

    def _renew_static(self) -> None:
        from IPython.display import publish_display_data

        publish_display_data(  # type: ignore[no-untyped-call]
            self._static(), transient={"display_id": self._static_id}, update=True
        )

    def _static(self) -> dict[str, str]:
        """What stands for the widget where none can run, as text and as HTML."""
        words = self._said()
        # Without text/html the page has nothing to hide, and the words would stand above the widget.
        data = {"text/plain": words, "text/html": self._marked(f"<pre>{escape(words)}</pre>")}
        try:
            data["text/html"] = self._marked(self._html(words))
        except Exception as e:  # a picture that fails must not hide the widget
            self._last_error = f"{type(e).__name__}: {e}"
        return data

    def _said(self) -> str:
        """What the widget shows in words, in the learner's language."""
        return translations.translate(self.words) if self.words else self.describe()

    def _marked(self, html: str) -> str:
        """``html`` as the page's script finds it, to hide it."""
        return f'<div class="df-static-{self.token}">{html}</div>'

    def _html(self, words: str) -> str:
        """The picture, the page's own where it has sent one; ``words`` say the same."""
        from dataflow_widgets.static.html import fits, picture_html

        svg = self.to_svg() if self._num_open else self._draw()
        return picture_html(svg if fits(svg) else self._draw(), words)


def refuse_unknown(cls: type, allowed: set[str], given: dict[str, Any]) -> None:
    """Raises `TypeError` for a keyword that a widget does not take, with the nearest it does."""
    for name in given:
        if name not in allowed:
            near = difflib.get_close_matches(name, allowed, 1)
            hint = f" Did you mean {near[0]}=?" if near else ""
            raise TypeError(
                f"{cls.__name__} got {name}=, which it does not take.{hint} "
                f"It takes: {', '.join(sorted(allowed))}."
            )

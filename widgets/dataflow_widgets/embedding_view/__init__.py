"""`EmbeddingView`: vectors in two dimensions, with search, neighbors and analogies, live."""

from __future__ import annotations

import difflib
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow_widgets import side_tasks
from dataflow_widgets.base import Widget, refuse_unknown
from dataflow_widgets.embedding_view import projection
from dataflow_widgets.embedding_view.picture import embedding_svg
from dataflow_widgets.rate_limit import Pacer
from dataflow_widgets.text_description import plural

METHODS = ("pca", "tsne")
_MAX_SENT_VALUES = 500_000  # vectors of up to 2 MB go to the page, which then needs no kernel
_MAX_LABEL = 200
_MAX_GROUPS = 50


class EmbeddingView(Widget):
    """Draws the rows of an embedding as points that can be searched and compared.

        EmbeddingView(vectors, words)
        EmbeddingView(embedding_variable, words, session=sess)     # live

    ``embedding`` is an array (points, dimensions), or a variable or tensor of that shape, which is
    then read in ``session``: after every run of that session, at most once in ``every_seconds``,
    the picture moves to the new values. `follow` does the same with a background job, at less cost.

    ``labels`` are one text for each point (default: its number), ``groups`` one class for each, for
    the color. At most 20,000 points. The projection is a PCA of our own, or t-SNE (scikit-learn),
    which takes a while and is computed in a background thread.

    Raises `ValueError` for anything but a matrix, or labels and groups of another length.
    """

    _options = {"title", "height"}

    def __init__(
        self,
        embedding: Any,
        labels: Sequence[Any] | None = None,
        *,
        session: Any = None,
        groups: Sequence[Any] | None = None,
        method: str = "pca",
        every_seconds: float = 2.0,
        **options: Any,
    ) -> None:
        refuse_unknown(EmbeddingView, self._options, options)
        self._forgets: list[Callable[[], None]] = []
        self._source, self._session = embedding, session
        self._is_live = hasattr(embedding, "op") or hasattr(embedding, "initializer")
        if self._is_live and session is None:
            from dataflow.graph.default_stacks import default_session

            self._session = default_session()
            if self._session is None:
                raise ValueError("a variable or tensor needs session=, or a default session")
        _check_method(method)
        self._lock = threading.RLock()
        self._reader: int | None = None  # the thread that is reading: its own run is no news
        self._vectors, self._num_bad = projection.as_vectors(self._read())
        n = len(self._vectors)
        self._labels = _labels(labels, n)
        self._groups, self._group_names = _groups(groups, n)
        self._places, self._explained = projection.pca(self._vectors)
        self._method = "pca"
        self._version = 1
        self._working: str | None = None
        self._task = 0
        self._is_shown = False
        self._thread: threading.Thread | None = None
        self._pacer = Pacer(self._begin_refresh, every_seconds)
        header, buffers = self._known(whole=True)
        # In a trait, so that it is drawn also when the kernel is busy; emptied at the page's hello.
        first = {"nodes": [], "embedding": header, "arrays": buffers}
        super().__init__(kind="embedding_view", payload=first, **({"height": 440} | options))
        if method != "pca":
            self.project(method)

    # ---- values -------------------------------------------------------------------------------

    def _read(self) -> Any:
        if not self._is_live:
            return self._source
        self._reader = threading.get_ident()
        try:
            return self._session.run(self._source)
        finally:
            self._reader = None

    def refresh(self) -> None:
        """Reads the variable or tensor again and shows its values now."""
        vectors, num_bad = projection.as_vectors(self._read())
        if len(vectors) != len(self._labels):
            raise ValueError(
                f"the embedding has {len(vectors)} rows now, but {len(self._labels)} labels"
            )
        with self._lock:
            self._vectors, self._num_bad = vectors, num_bad
            if self._method == "pca":
                places, self._explained = projection.pca(vectors)
                self._places = projection.align(places, self._places)
            self._version += 1
        if self._is_shown:
            self._tell_page(whole=False)
            self._keep_picture()

    def follow(self, job: Any) -> None:
        """Refreshes after steps of a background job (`tf.train.background`), at most once in
        ``every_seconds``, and at its end."""
        if not hasattr(job, "listen"):
            raise TypeError(f"follow takes a job of tf.train.background, got {type(job).__name__}")
        if not self._is_live:
            raise ValueError("an array does not change; give the variable and its session")
        self._unsubscribe()  # the job tells more cheaply than every run does
        self._forgets.append(job.listen(lambda event: self._pacer.ask()))

    def _begin_refresh(self) -> None:
        """Refreshes in a thread of its own, so that other widgets do not wait for a projection."""
        if self._thread is not None and self._thread.is_alive():
            self._pacer.ask()
            return
        self._thread = side_tasks.begin_call(self._try_refresh, name="dataflow embedding")

    def _try_refresh(self) -> None:
        try:
            self.refresh()
        except Exception as e:
            self.failure = f"The embedding could not be read: {type(e).__name__}: {e}"

    def _subscribe(self) -> None:
        if self._is_live and not self._forgets:
            from dataflow.runtime.events import subscribe

            self._forgets.append(subscribe(self._after_run))

    def _unsubscribe(self) -> None:
        for forget in self._forgets:
            forget()
        self._forgets.clear()

    def _after_run(self, event: Any) -> None:
        if event.session is self._session and self._reader != threading.get_ident():
            self._pacer.ask()

    # ---- projections --------------------------------------------------------------------------

    def project(self, method: str, *, perplexity: float = 30.0, seed: int = 0) -> None:
        """Draws by ``"pca"`` at once, or by ``"tsne"`` as soon as a background thread is done."""
        _check_method(method)
        with self._lock:
            self._task += 1
            if method == "pca":
                self._working = None
                self._places, self._explained = projection.pca(self._vectors)
                self._method = "pca"
                self._version += 1
            else:
                self._working = f"t-SNE of {plural(len(self._vectors), 'point')} is running"
                side_tasks.begin_call(
                    self._tsne, self._task, self._vectors, perplexity, seed, name="t-SNE"
                )
        if self._is_shown:
            self._tell_page(whole=False)

    def _tsne(self, task: int, vectors: np.ndarray, perplexity: float, seed: int) -> None:
        start = time.monotonic()
        error = ""
        try:
            places = projection.tsne(vectors, perplexity, seed)
        except Exception as e:
            error = f"{type(e).__name__}: {e}"
        with self._lock:
            if task != self._task:
                return  # something else was asked for meanwhile
            self._working = None
            if not error:
                self._places, self._method = projection.align(places, self._places), "tsne"
                self._explained = np.zeros(2)
                self._version += 1
        self._seconds = time.monotonic() - start
        if error:
            self.failure = f"t-SNE failed: {error}"
        if self._is_shown:
            self._tell_page(whole=False)
            self._keep_picture()

    # ---- questions ----------------------------------------------------------------------------

    def index(self, item: Any) -> int:
        """The number of a point given by its number or label; raises `KeyError`."""
        if isinstance(item, int | np.integer) and not isinstance(item, bool):
            if 0 <= item < len(self._labels):
                return int(item)
            raise KeyError(f"there is no point {item}; this view has {len(self._labels)}")
        text = str(item)
        if text in self._labels:
            return self._labels.index(text)
        lower = [label.lower() for label in self._labels]
        if text.lower() in lower:
            return lower.index(text.lower())
        near = difflib.get_close_matches(text, self._labels, 3)
        hint = f" Did you mean {', '.join(near)}?" if near else ""
        raise KeyError(f"no point is called {text!r}.{hint}")

    def neighbors(self, item: Any, k: int = 10) -> list[tuple[str, float]]:
        """The ``k`` points whose vectors have the largest cosine with that of ``item``."""
        at = self.index(item)
        found = projection.nearest(projection.unit(self._vectors), self._vectors[at], [at], k)
        return [(self._labels[i], cosine) for i, cosine in found]

    neighbours = neighbors  # its former name, in notebooks of learners

    def analogy(self, a: Any, b: Any, c: Any, k: int = 5) -> list[tuple[str, float]]:
        """``a`` is to ``b`` as ``c`` is to what? The ``k`` best answers with their cosine."""
        first, second, third = self.index(a), self.index(b), self.index(c)
        found = projection.analogy(projection.unit(self._vectors), first, second, third, k)
        return [(self._labels[i], cosine) for i, cosine in found]

    # ---- to the page --------------------------------------------------------------------------

    def _tell_page(self, whole: bool) -> None:
        self.send(*self._known(whole))

    def _known(self, whole: bool) -> tuple[dict[str, Any], list[bytes]]:
        """What the page knows: a header, and places, vectors and groups as bytes."""
        with self._lock:
            vectors = self._vectors
            sends_vectors = vectors.size <= _MAX_SENT_VALUES
            header = {
                "kind": "embedding",
                "version": self._version,
                "points": len(vectors),
                "dimensions": vectors.shape[1],
                "method": self._method,
                "explained": [float(v) for v in self._explained],
                "working": self._working,
                "bad": self._num_bad,
                "hasVectors": sends_vectors,
                "isLive": self._is_live,
            }
            buffers = [self._places.tobytes(), vectors.tobytes() if sends_vectors else b"", b""]
            if whole:
                header |= {"labels": self._labels, "groupNames": self._group_names}
                if self._groups is not None:
                    buffers[2] = self._groups.astype(np.uint8).tobytes()
        return header, buffers

    def _greet(self, version: int, num_runs: int) -> None:
        self._is_shown = True
        self._tell_page(whole=True)

    def _page_changed(self) -> None:
        if self._num_open:
            self._subscribe()

    def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        kind = question.get("kind")
        if kind == "method":
            self.project(str(question.get("method")))
            return {}
        if kind == "nearest":
            directions = projection.unit(self._vectors)
            items = [self.index(int(i)) for i in question["items"]]
            k = min(50, int(question.get("k", 10)))
            if len(items) == 3:
                a, b, c = items
                found = projection.analogy(directions, a, b, c, k)
            else:
                found = projection.nearest(directions, self._vectors[items[0]], items[:1], k)
            return {"found": found}
        return super()._answer(question)

    # ---- showing ------------------------------------------------------------------------------

    def describe(self, limit: int = 10) -> str:
        """The embedding in words: its size, how it is drawn, and neighbors of the first points."""
        n, d = self._vectors.shape
        how = "t-SNE"
        if self._method == "pca":
            how = f"PCA, which shows {self._explained.sum():.0%} of the variance"
        lines = [f"Embedding of {plural(n, 'point')} in {plural(d, 'dimension')}, drawn by {how}."]
        if self._group_names:
            lines.append(f"Groups: {', '.join(self._group_names)}.")
        if self._num_bad:
            lines.append(f"{plural(self._num_bad, 'row')} not finite, drawn as zeros.")
        directions = projection.unit(self._vectors)
        for i in range(min(limit, n)):
            near = projection.nearest(directions, self._vectors[i], [i], 3)
            words = ", ".join(f"{self._labels[j]} ({cosine:.2f})" for j, cosine in near)
            lines.append(
                f"  {self._labels[i]}: nearest {words}" if near else f"  {self._labels[i]}"
            )
        if n > limit:
            lines.append(f"  ... and {n - limit} more")
        return "\n".join(lines)

    def to_svg(self) -> str:
        """The points as a picture, as they are now."""
        return self._draw()

    def _draw(self) -> str:
        return embedding_svg(
            self._places, self._labels, self._groups, self._group_names, self.title
        )

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        self._is_shown = True
        self._subscribe()
        self._keep_picture()
        return super()._repr_mimebundle_(**kwargs)

    def close(self) -> None:
        """Ends the widget and its listening."""
        if hasattr(self, "_pacer"):
            self._unsubscribe()
            self._pacer.cancel()
        super().close()


def _check_method(method: str) -> None:
    if method not in METHODS:
        raise ValueError(f"method must be 'pca' or 'tsne', got {method!r}")


def _labels(labels: Sequence[Any] | None, n: int) -> list[str]:
    if labels is None:
        return [str(i) for i in range(n)]
    texts = [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in labels]
    if len(texts) != n:
        raise ValueError(f"{n} points need as many labels, got {len(texts)}")
    return [text[:_MAX_LABEL] for text in texts]


def _groups(groups: Sequence[Any] | None, n: int) -> tuple[np.ndarray | None, list[str]]:
    if groups is None:
        return None, []
    texts = _labels([str(g) for g in groups], n)
    names = list(dict.fromkeys(texts))
    if all(name.lstrip("-").isdigit() for name in names):
        names.sort(key=int)
    if len(names) > _MAX_GROUPS:
        raise ValueError(f"{len(names)} groups are too many for colors (at most {_MAX_GROUPS})")
    number = {name: i for i, name in enumerate(names)}
    return np.array([number[text] for text in texts]), names

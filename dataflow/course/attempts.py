"""Attempts at exercises and questions, kept in the notebook and nowhere else.

A check's output carries them under `MIME`; a Predict widget carries them in its saved state. An
attempt is ``{"right": bool, "words": str}``, with ``"given"`` where a widget keeps the answer,
``"shown": True`` where the learner asked to see it, and ``"variant"``, a seed, in a variant of the lesson. Nothing is written to any other file, and
nothing is sent anywhere, unless the learner joins a class: then what is answered is told to the one
`Listener`, too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from dataflow.course import variants

MIME = "application/vnd.dataflow.attempts+json"
WIDGET_STATE_MIME = "application/vnd.jupyter.widget-state+json"

_MAX_NOTEBOOK_BYTES = 50_000_000
_MAX_ATTEMPTS = 50  # of one exercise: an endless "Run all" must not make the notebook fat

Attempt = dict[str, Any]
#: What a widget asks, JSON-safe: ``question`` (its form, text and parts, and a graph's nodes) and ``told``, the
#: explanation with the nodes that are right; None while the learner has not been told. True: in any case.
Asking = Callable[[bool], dict[str, Any]]
_of_this_kernel: dict[str, list[Attempt]] = {}
_asked: dict[str, Asking] = {}


class Listener(Protocol):
    """Who is told of questions and attempts: a class that was joined."""

    def asked(self, name: str) -> None:
        """A question was asked."""

    def answered(self, name: str, attempt: Attempt) -> None:
        """An attempt was made."""


_listener: Listener | None = None


def listen(listener: Listener | None) -> None:
    """Has ``listener`` told from now on, in place of any other; None for nobody."""
    global _listener
    _listener = listener


def introduce(name: str, asking: Asking) -> None:
    """Says what a question asks."""
    _asked[name] = asking
    if _listener is not None:
        _listener.asked(name)


def asked_in(name: str, answer: bool = False) -> dict[str, Any] | None:
    """What a question asks; None for an exercise. With ``answer`` what is right, too."""
    return _asked[name](answer) if name in _asked else None


def tasks_so_far() -> list[str]:
    """The questions that this kernel asked, and the exercises that were tried in it."""
    return list(dict.fromkeys([*_asked, *_of_this_kernel]))


def earlier(name: str) -> list[Attempt]:
    """The attempts at ``name`` so far: in this kernel, else in the saved notebook it belongs to."""
    if name not in _of_this_kernel:
        path = notebook_path()
        kept = _of_saved(path).get(name, []) if path is not None else []
        _of_this_kernel[name] = kept
    return list(_of_this_kernel[name])


def add(name: str, attempt: Attempt) -> list[Attempt]:
    """Keeps one more attempt; returns all. The same right answer again is not another attempt."""
    known, attempt = earlier(name), stamped(attempt)
    if not (known and known[-1].get("right") and known[-1] == attempt):
        known = [*known, attempt][-_MAX_ATTEMPTS:]
        _of_this_kernel[name] = known
        if _listener is not None:
            _listener.answered(name, attempt)
    _of_this_kernel[name] = known
    return list(known)


def stamped(attempt: Attempt) -> Attempt:
    """``attempt`` with the variant in which it was made; the shipped text's have none."""
    return {**attempt, "variant": variants.current()} if variants.current() else attempt


def forget(name: str | None = None) -> None:
    """Begins again: forgets the attempts at ``name``, or at everything, in this kernel."""
    if name is None:
        _of_this_kernel.clear()
    else:
        _of_this_kernel[name] = []


def num_wrong(attempts: Iterable[Attempt]) -> int:
    """How many of ``attempts`` were wrong answers."""
    return sum(not a["right"] and not a.get("shown") for a in attempts)


def notebook_path() -> Path | None:
    """The notebook that this kernel belongs to, as far as the Jupyter server tells."""
    told = os.environ.get("JPY_SESSION_NAME", "")
    path = Path(told)
    return path if path.suffix == ".ipynb" and path.is_file() else None


def read_notebook(path: Path) -> dict[str, Any]:
    """The notebook's JSON. Raises `ValueError` for anything else, and `OSError`."""
    if path.stat().st_size > _MAX_NOTEBOOK_BYTES:
        raise ValueError(f"larger than {_MAX_NOTEBOOK_BYTES // 1_000_000} MB")
    return notebook_of(path.read_text(encoding="utf-8"))


def notebook_of(text: str) -> dict[str, Any]:
    """The notebook whose file holds ``text``. Raises `ValueError` for anything else."""
    try:
        notebook = json.loads(text)
    except RecursionError as e:
        raise ValueError("nested too deeply") from e
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise ValueError("not a notebook of format 4")
    return notebook


def of_notebook(notebook: Mapping[str, Any]) -> dict[str, list[Attempt]]:
    """Every attempt that a notebook holds, by exercise; what is malformed is left out.

    Where a notebook holds several records of one exercise, the longest counts.
    """
    found: dict[str, list[Attempt]] = {}
    for name, attempts in [*_in_outputs(notebook), *_in_widgets(notebook)]:
        good = [_cleaned(a) for a in attempts if _is_attempt(a)][-_MAX_ATTEMPTS:]
        if good and len(good) > len(found.get(name, [])):
            found[name] = good
    return found


def _of_saved(path: Path) -> dict[str, list[Attempt]]:
    try:
        return of_notebook(read_notebook(path))
    except (OSError, ValueError):
        return {}  # a damaged file has no attempts; it must not stop the lesson


def _in_outputs(notebook: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    for cell in notebook["cells"]:
        outputs = cell.get("outputs") if isinstance(cell, Mapping) else None
        for output in outputs if isinstance(outputs, list) else []:
            data = output.get("data") if isinstance(output, Mapping) else None
            record = data.get(MIME) if isinstance(data, Mapping) else None
            if isinstance(record, Mapping):
                yield from _record(record.get("exercise"), record.get("attempts"))


def _in_widgets(notebook: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    part: Any = notebook.get("metadata")
    for key in ("widgets", WIDGET_STATE_MIME, "state"):
        part = part.get(key) if isinstance(part, Mapping) else None
    for model in part.values() if isinstance(part, Mapping) else []:
        state = model.get("state") if isinstance(model, Mapping) else None
        if isinstance(state, Mapping) and state.get("kind") == "predict":
            yield from _record(state.get("name"), state.get("answers"))


def _record(name: Any, attempts: Any) -> Iterator[tuple[str, list[Any]]]:
    if isinstance(name, str) and name and isinstance(attempts, list):
        yield name, attempts


def _is_attempt(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("right"), bool)
        and isinstance(value.get("words"), str)
    )


def _cleaned(attempt: Mapping[str, Any]) -> Attempt:
    kept: Attempt = {"right": attempt["right"], "words": attempt["words"]}
    for key in ("given", "hint"):
        if key in attempt:
            kept[key] = attempt[key]
    if attempt.get("shown") is True:
        kept["shown"] = True
    if variant_in(attempt):
        kept["variant"] = attempt["variant"]
    return kept


def variant_of(notebook: Mapping[str, Any]) -> int:
    """The seed of the variant that a notebook is; 0 for the shipped text, and for anything but a seed."""
    metadata = notebook.get("metadata")
    ours = metadata.get("dataflow") if isinstance(metadata, Mapping) else None
    return variant_in(ours) if isinstance(ours, Mapping) else 0


def variant_in(record: Mapping[str, Any]) -> int:
    """The seed under ``"variant"``; 0 for none, and for anything but a seed."""
    try:
        return variants.valid_seed(record.get("variant", 0))
    except ValueError:
        return 0

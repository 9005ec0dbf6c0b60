"""What every question has: words, a form for the page, a grade for an answer, an explanation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dataflow_widgets.text_description import plural


class Grade(NamedTuple):
    """Whether an answer is right, and what is right and wrong about it, in words."""

    right: bool
    words: str


class Question:
    """A question that the engine can answer.

    ``form`` says how the page asks: "nodes" (click them), "order", "rows" (tick some), "choice" or
    "value". ``hints`` are three. ``nodes`` are the graph for the form "nodes". Nothing that `public`
    gives tells the answer: a notebook's state can be read.
    """

    form = ""
    text = ""
    hints: Sequence[str] = ("", "", "")
    nodes: list[dict[str, Any]] = []

    def public(self) -> dict[str, Any]:
        """What the page needs to ask, JSON-safe and without the answer."""
        return {}

    def options_words(self) -> str:
        """What can be answered, one line each; for screen readers and where no widget can run."""
        return ""

    def grade(self, given: Any, tries: int) -> Grade:
        """Grades an answer; ``tries`` is the number of wrong ones before it.

        Raises `ValueError` for what is no answer at all (it does not count as a try).
        """
        raise NotImplementedError

    def mistakes(self, given: Any) -> list[str]:
        """For a graph: the names that an answer marks and should not."""
        return []

    def given_words(self, given: Any) -> str:
        """An answer in words."""
        return str(given)

    def explanation(self) -> str:
        """The answer, and why, from the real run."""
        raise NotImplementedError

    def marks(self) -> dict[str, Any] | None:
        """For a graph, shown with the explanation: the right nodes (``solution``), what they
        are colored by (``color``), and for a run what it fetched, was fed and needed; nodes as
        lists of indices."""
        return None


def listed(names: Sequence[str], limit: int = 12) -> str:
    """``"a, b and c"``."""
    names = list(names)
    if len(names) > limit:
        names = [*names[:limit], f"{len(names) - limit} more"]
    if len(names) < 2:
        return names[0] if names else "none"
    return f"{', '.join(names[:-1])} and {names[-1]}"


def picks(given: Any, allowed: Sequence[Any], what: str) -> list[Any]:
    """``given`` as a list of different members of ``allowed``; `ValueError` for anything else."""
    if not isinstance(given, list) or len({str(g) for g in given}) != len(given):
        raise ValueError(f"needed a list of different {what}")
    if any(each not in allowed for each in given):
        raise ValueError(f"needed {what} of this question, got {given!r}")
    return given


def subset_grade(given: set[Any], needed: set[Any], what: str) -> Grade:
    """The grade of picking ``needed`` out of many; ``what`` as in "pruned node"."""
    if given == needed:
        count = plural(len(needed), what)
        return Grade(
            True, f"Right: {count}, and no other." if needed else f"Right: there is no {what}."
        )
    hits = len(given & needed)
    parts = []
    if not given:
        parts.append("You marked nothing.")
    elif hits == len(given):
        parts.append("All that you marked is right." if hits > 1 else "What you marked is right.")
    else:
        hit_words = (
            f"{hits} of the {len(given)} that you marked {'is' if hits == 1 else 'are'} right."
        )
        parts.append("What you marked is not right." if len(given) == 1 else hit_words)
    missing = len(needed - given)
    if missing and given:
        parts.append(f"{plural(missing, what)} {'is' if missing == 1 else 'are'} not marked yet.")
    elif missing:
        parts.append(f"There is at least one {what}.")
    else:
        parts.append(f"No {what} is missing.")
    return Grade(False, " ".join(parts))


def brief(value: Any) -> str:
    """A value of a run on one line."""
    import numpy as np

    from dataflow_widgets.values import shape_text

    try:
        array = np.asarray(value)
    except ValueError:
        return " ".join(str(value).split())[:80]
    if array.size > 8:
        return f"{array.dtype} {shape_text(array.shape)}"
    if array.dtype.kind == "f" and array.itemsize < 8:
        array = array.astype(str).astype(float)  # 0.9, and not 0.8999999761581421
    return " ".join(str(array.tolist()).split())

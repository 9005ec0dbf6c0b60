"""Find the stale read: a value that others had changed before it was used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow_widgets.predict.question import Grade, Question, brief, listed, picks, subset_grade
from dataflow_widgets.predict.recording import Access
from dataflow_widgets.text_description import plural


def stale_reads(accesses: Sequence[Access]) -> dict[int, list[int]]:
    """Index of each stale read -> indices of the writes by others that overtook it.

    A read is stale if, between it and its worker's next write of the same variable, another worker
    wrote that variable: the write rests on a value that is no longer there.
    """
    found: dict[int, list[int]] = {}
    for i, read in enumerate(accesses):
        if read.action != "read":
            continue
        overtaken: list[int] = []
        for k, later in enumerate(accesses[i + 1 :], start=i + 1):
            if later.variable != read.variable:
                continue
            if later.worker == read.worker:
                if later.action == "write" and overtaken:
                    found[i] = overtaken
                break  # it wrote, or read afresh
            if later.action == "write":
                overtaken.append(k)
    return found


class StaleQuestion(Question):
    """Which reads of a recorded run were stale?"""

    form = "rows"
    text = (
        "This was recorded, top to bottom. A worker reads a variable, computes, and writes it. Which "
        "reads were stale: overtaken by another worker's write before their own worker wrote?"
    )
    hints = (
        "Take one read. Go down to the same worker's next write: did anybody else write in between?",
        "Mark a read if there is a write by another worker between it and the next write by its own "
        "worker.",
        "Write the version beside each write, 1, 2, 3, ...; a read is stale if its own worker's next write "
        "is more than one above the version that was read.",
    )

    def __init__(self, accesses: Sequence[Access]) -> None:
        if not accesses or any(a.action not in ("read", "write") for a in accesses):
            raise ValueError("needed accesses with the action 'read' or 'write', at least one")
        self._accesses = list(accesses)
        self._stale = stale_reads(accesses)
        self._reads = [i for i, a in enumerate(accesses) if a.action == "read"]

    def _row(self, i: int) -> str:
        each = self._accesses[i]
        verb = "reads" if each.action == "read" else "writes"
        value = "" if each.value is None else f" = {brief(each.value)}"
        return f"{each.worker} {verb} {each.variable}{value}"

    def public(self) -> dict[str, Any]:
        return {
            "rows": [
                {"id": i, "text": self._row(i), "can": i in self._reads}
                for i in range(len(self._accesses))
            ]
        }

    def options_words(self) -> str:
        return "\n".join(f"  {i + 1}. {self._row(i)}" for i in range(len(self._accesses)))

    def grade(self, given: Any, tries: int) -> Grade:
        marked = set(picks(given, self._reads, "reads"))
        grade = subset_grade(marked, set(self._stale), "stale read")
        false = sorted(marked - set(self._stale))
        if false and tries:
            return Grade(
                False, f"{grade.words} Line {false[0] + 1} is fresh: nobody else wrote in between."
            )
        return grade

    def given_words(self, given: Any) -> str:
        return f"lines {listed([str(i + 1) for i in sorted(given)])}" if given else "no read"

    def explanation(self) -> str:
        if not self._stale:
            return "No read was stale: each worker wrote before anybody else did."
        return " ".join(
            f"Line {i + 1} ({self._row(i)}) was stale by {plural(len(by), 'update')}: "
            f"{listed([f'line {k + 1}' for k in by])} came before its worker wrote."
            for i, by in self._stale.items()
        )

"""What the projector shows of one question: how many answered what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from dataflow.course.classroom.questions import Literal, Question, check_given, digest_of
from dataflow.course.classroom.refusal import Refusal
from dataflow.course.classroom.store import Given, Learner

MAX_BARS = 12
_MAX_BAR_TEXT = 300


def question_of(
    literal: Literal | None, kept: tuple[Question, str, dict[str, Any] | None] | None
) -> tuple[Question | None, str | None, dict[str, Any] | None]:
    """The question in force, its digest and the teacher's answer; see `dataflow.course.classroom.questions`."""
    if literal is not None:
        return literal.question, digest_of(literal.question), kept[2] if kept else None
    return kept if kept is not None else (None, None, None)


def summarize(
    question: Question | None,
    digest: str | None,
    answers: Sequence[Given],
    learners: Mapping[int, Learner],
    *,
    which: str = "first",
    names: bool = False,
) -> dict[str, Any]:
    """Counts of learners, each by one answer: their ``which`` ("first" or "last").

    Returns ``answered``, ``asked_to_see`` (had the answer shown without a right one), ``other``
    (answers to another form of the question, not counted), ``bars`` as ``[{"text", "count",
    "names"}]``, ``more`` (bars beyond `MAX_BARS`), and for marks on a graph ``marks``: counts by node. Nothing in it says what is
    right, except of an exercise, whose bars are what its check said. ``names`` are empty unless asked for.
    """
    chosen: dict[int, Given] = {}
    seen: set[int] = set()
    other: set[int] = set()
    for answer in answers:
        if answer.shown:
            seen.add(answer.learner)
        elif question is not None and answer.digest != digest and not _fits(question, answer):
            other.add(answer.learner)
        elif which == "last" or answer.learner not in chosen:
            chosen[answer.learner] = answer
    right = {a.learner for a in answers if a.right}
    bars: dict[str, list[str]] = {text: [] for text in _possible(question)}
    marks: Counter[str] = Counter()
    for learner, answer in chosen.items():
        label = learners[learner].label if learner in learners else f"learner {learner}"
        for text in _texts(question, answer):
            bars.setdefault(text, []).append(label)
        if question is not None and question["form"] == "nodes":
            marks.update(answer.given)
    fixed = len(_possible(question))
    ordered = list(bars.items())
    ordered[fixed:] = sorted(ordered[fixed:], key=lambda bar: (-len(bar[1]), bar[0]))
    shown = ordered[: max(MAX_BARS, fixed)]
    return {
        "answered": len(chosen),
        "asked_to_see": len(seen - right),
        "other": len(other - set(chosen)),
        "bars": [
            {"text": text, "count": len(who), "names": sorted(who) if names else []}
            for text, who in shown
        ],
        "more": len(ordered) - len(shown),
        "marks": dict(marks) if question is not None and question["form"] == "nodes" else None,
    }


def reveal(
    question: Question | None,
    literal: Literal | None,
    told: Mapping[str, Any] | None,
    answers: Sequence[Given],
) -> dict[str, Any]:
    """What is right: ``{"right": [texts of bars], "solution": [nodes], "explanation", "num_right"}``.

    The lesson's own answer where its cell has it, else the teacher's kernel's, else what most of those
    were told who answered rightly; ``explanation`` is empty where nobody knows yet.
    """
    heard: Counter[tuple[str, tuple[str, ...]]] = Counter(
        (a.told["explanation"], tuple(a.told["solution"])) for a in answers if a.told
    )
    if told is None and heard:
        (explanation, solution), _ = heard.most_common(1)[0]
        told = {"explanation": explanation, "solution": list(solution)}
    verdicts: dict[tuple[str, ...], Counter[bool]] = {}
    for answer in answers:
        if not answer.shown and (question is None or _fits(question, answer)):
            verdicts.setdefault(tuple(_texts(question, answer)), Counter())[answer.right] += 1
    # One forged "right" among many does not make an answer right.
    agreed = [texts for texts, said in verdicts.items() if said[True] > said[False]]
    right = list(dict.fromkeys(text for texts in agreed for text in texts))
    if literal is not None and literal.right:
        right = _joined(literal.right)
        told = told or {"explanation": f"The answer: {literal.right[0]}.", "solution": []}
    return {
        "right": right,
        "solution": list(told["solution"]) if told else [],
        "explanation": told["explanation"] if told else "",
        "num_right": len({a.learner for a in answers if a.right}),
    }


def _fits(question: Question, answer: Given) -> bool:
    """Whether an answer can be one to ``question``, though another form of it was asked: the words of a
    lesson were corrected, say."""
    try:
        check_given(question, answer.given)
    except Refusal:
        return False
    return True


def _possible(question: Question | None) -> list[str]:
    """The bars that stand there before anybody answers."""
    if question is None:
        return []
    if question["form"] == "choice" and len(question["groups"]) == 1:
        return list(question["groups"][0]["options"])
    if question["form"] == "rows":
        return [_line(row) for row in question["rows"] if row["can"]]
    return []


def _line(row: Mapping[str, Any]) -> str:
    """A row as a bar; its number tells rows of the same words apart."""
    return f"{row['id'] + 1}. {row['text']}"


def _joined(choices: Sequence[str]) -> list[str]:
    return [" · ".join(choices)]


def _texts(question: Question | None, answer: Given) -> list[str]:
    """The bars that an answer counts for: one, but for rows and nodes one for each that is marked."""
    if question is None:
        return [("Right" if answer.right else "Not yet: " + answer.words)[:_MAX_BAR_TEXT]]
    given = answer.given
    if question["form"] == "choice":
        return _joined(given)
    if question["form"] == "order":
        return [" → ".join(given)[:_MAX_BAR_TEXT]]
    if question["form"] == "rows":
        text = {row["id"]: _line(row) for row in question["rows"]}
        return [text[i] for i in given]
    if question["form"] == "nodes":
        return list(given)
    return [given]

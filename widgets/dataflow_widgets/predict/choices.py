"""Questions with choices (a shape, a plain question) and with a typed value."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow_widgets.predict.graph_questions import fetch_words, recorded_run
from dataflow_widgets.predict.question import Grade, Question, brief

_ERROR = "none: it is an error"


class _Choices(Question):
    """One or more groups of choices; in each, one is right."""

    form = "choice"

    def __init__(self, groups: list[tuple[str, list[str], str]]) -> None:
        """``groups``: (label, choices, the right one)."""
        self._groups = groups
        for label, choices, right in groups:
            if len(choices) < 2 or len(set(choices)) != len(choices) or right not in choices:
                raise ValueError(
                    f"{label or 'a question'} needs two or more different choices, one of them "
                    f"right; got {choices}"
                )

    def public(self) -> dict[str, Any]:
        return {
            "groups": [{"label": label, "options": choices} for label, choices, _ in self._groups]
        }

    def options_words(self) -> str:
        return "\n".join(
            f"  {label}: {' | '.join(choices)}" if label else "\n".join(f"  - {c}" for c in choices)
            for label, choices, _ in self._groups
        )

    def _chosen(self, given: Any) -> list[str]:
        if not isinstance(given, list) or len(given) != len(self._groups):
            raise ValueError(f"needed {len(self._groups)} choices, got {given!r}")
        for choice, (label, choices, _) in zip(given, self._groups, strict=True):
            if choice not in choices:
                open_one = f"Choose one first: {label}." if label else "Choose one first."
                raise ValueError(open_one)
        return given

    def given_words(self, given: Any) -> str:
        return ", ".join(given)


class ChoiceQuestion(_Choices):
    """A plain question, one choice is right."""

    hints = (
        "Read the question once more: what does it say must hold?",
        "Strike out the choices that the picture or the code above contradicts.",
        "Take each choice that is left as true, and say what a run would then show.",
    )

    def __init__(
        self,
        text: str,
        choices: Sequence[str],
        answer: int | Callable[[], int],
        order: Callable[[int], Sequence[int]] = range,
    ) -> None:
        """``order`` says in which order so many choices are shown, by their indices."""
        index = int(answer() if callable(answer) else answer)
        if not 0 <= index < len(choices):
            raise ValueError(f"answer is an index of choices, 0 to {len(choices) - 1}, got {index}")
        self.text = text
        shown = [str(choices[i]) for i in order(len(choices))]
        super().__init__([("", shown, str(choices[index]))])

    def grade(self, given: Any, tries: int) -> Grade:
        right = self._chosen(given)[0] == self._groups[0][2]
        return Grade(right, "Right." if right else f"Not {given[0]!r}.")

    def explanation(self) -> str:
        return f"The answer: {self._groups[0][2]}."


class ShapeQuestion(_Choices):
    """The shape, and the dtype, of a tensor."""

    def __init__(self, tensor: Any, shapes: Sequence[Any], dtypes: Any, shown: str) -> None:
        self._error = ""
        choices = [_shape_text(s) for s in shapes]
        if callable(tensor) and not hasattr(tensor, "op"):
            try:
                tensor = tensor()
            except (ValueError, TypeError) as e:
                self._error = str(e)
                tensor = None
            choices.append(_ERROR)
        right = _ERROR if tensor is None else str(tensor.shape)
        groups = [("shape", _with_right(choices, right), right)]
        if dtypes is not None and tensor is not None:
            names = [str(getattr(d, "name", d)) for d in dtypes]
            groups.append(("dtype", _with_right(names, tensor.dtype.name), tensor.dtype.name))
        self._tensor = tensor
        what = shown or (tensor.name if tensor is not None else "the result")
        also = " and the dtype" if len(groups) > 1 else ""
        self.text = f"What is the shape{also} of this?\n{what}"
        self.hints = (
            "Write the shapes of the inputs beside each other, and ask what the operation does to "
            "each axis.",
            "A missing axis is as good as one of length 1 (broadcasting); a sum removes the axes it "
            "runs over; a matrix product keeps the outer two.",
            "Go through the operations in order, and write the shape beside each; the last one is asked.",
        )
        super().__init__(groups)

    def grade(self, given: Any, tries: int) -> Grade:
        chosen = self._chosen(given)
        marks = [c == right for c, (_, _, right) in zip(chosen, self._groups, strict=True)]
        if all(marks):
            return Grade(True, "Right.")
        if len(marks) == 1:
            return Grade(False, f"Not {chosen[0]}.")
        told = [
            f"the {label} is {'right' if mark else 'not right'}"
            for mark, (label, _, _) in zip(marks, self._groups, strict=True)
        ]
        return Grade(False, f"{' and '.join(told)}.".capitalize())

    def explanation(self) -> str:
        if self._tensor is None:
            return f"The engine refuses to build it: {self._error}"
        op = self._tensor.op
        inputs = ", ".join(f"{t.op.name} {t.shape}" for t in op.inputs) or "nothing"
        return (
            f"The shape rule of {op.type} got {inputs} and gave {self._tensor.shape}, "
            f"{self._tensor.dtype.name}. No run was needed."
        )


class ValueQuestion(Question):
    """The value that a run returns."""

    form = "value"
    hints = (
        "Follow the value along the edges, one node at a time.",
        "Write down what each node gives: begin with those that read nothing.",
        "Only the last node of that list is asked for. Its inputs stand above it: compute it alone.",
    )

    def __init__(self, session: Any, fetches: Any, feed_dict: Any) -> None:
        self._trace = recorded_run(session, fetches, feed_dict)
        self.text = f"Which value will a run of {fetch_words(session.graph, fetches)} return?"

    def options_words(self) -> str:
        return "  a number, a list such as [1, 2], True or False"

    def grade(self, given: Any, tries: int) -> Grade:
        guess = _parsed(given)
        real = self._trace.result
        got, needed = np.asarray(guess), np.asarray(real)
        if got.shape != needed.shape:
            told = f"of shape {needed.shape}" if needed.shape else "a single value"
            return Grade(False, f"The shape is not right: the result is {told}.")
        same = _same(got, needed)
        if same.all():
            return Grade(True, f"Right: {brief(real)}.")
        if same.any():
            return Grade(False, f"{int(same.sum())} of {same.size} numbers are right.")
        return Grade(False, f"Not {brief(guess)}.")

    def explanation(self) -> str:
        steps = [
            f"{step.op_name} = {brief(step.outputs[0])}"
            for step in self._trace.steps
            if step.outputs and step.outputs[0] is not None
        ]
        words = f"The run returned {brief(self._trace.result)}."
        if steps:  # none where only a variable's value is fetched
            words += f" Node by node: {', '.join(steps[:12])}{', ...' if len(steps) > 12 else ''}."
        return words


def _shape_text(shape: Any) -> str:
    if isinstance(shape, str):
        return shape
    sizes = ["?" if n is None else str(n) for n in shape]
    return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"


def _with_right(choices: Sequence[str], right: str) -> list[str]:
    """The choices in a fixed order that does not tell which one is right."""
    return sorted({*choices, right}, key=lambda c: (c == _ERROR, len(c), c))


def _parsed(given: Any) -> Any:
    text = str(given).strip()
    try:
        value = ast.literal_eval(text)
        np.asarray(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError) as e:
        if not text:
            words = "Type a value first: a number, a list such as [1, 2], True or False."
        else:
            words = f"{text[:40]!r} is not a value: type a number, a list such as [1, 2], True or False."
        raise ValueError(words) from e
    return value


def _same(got: np.ndarray, needed: np.ndarray) -> np.ndarray:
    if needed.dtype.kind in "fiuc" and got.dtype.kind in "fiu":
        return np.asarray(np.isclose(got, needed, rtol=1e-3, atol=1e-6, equal_nan=True))
    if needed.dtype.kind in "OSU":
        return np.asarray(np.vectorize(_as_text)(got) == np.vectorize(_as_text)(needed))
    return np.asarray(got == needed)


def _as_text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)

"""`Predict`: one question in the page; answers are graded in the kernel and kept in the notebook."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import traitlets

from dataflow.course.translations import translate, translate_hint
from dataflow_widgets.base import Widget, refuse_unknown
from dataflow_widgets.predict.question import Question
from dataflow_widgets.text_description import plural


class Predict(Widget):
    """Asks a `Question`, grades each answer, gives a hint, a second hint, and the explanation.

    ``answers`` lists what was answered, as dictionaries with ``given``, ``right``, ``words``, ``hint``
    and, for nodes, ``mistakes``: the names marked that should not be, ringed in the picture. It is a trait, so a saved notebook holds it; run again, the cell shows the answers given
    before, as long as the question is the same. The explanation reaches the page only when the
    answer was right or the learner asked for it.
    """

    name = traitlets.Unicode("").tag(sync=True)
    question = traitlets.Dict().tag(sync=True)
    answers = traitlets.List(traitlets.Dict()).tag(sync=True)
    explanation = traitlets.Unicode("").tag(sync=True)

    _options = {"name", "text", "hints", "explain", "title", "height"}

    def __init__(self, question: Question, **options: Any) -> None:
        from dataflow.course import attempts

        refuse_unknown(Predict, self._options, options)
        self._question = question
        text = str(options.pop("text", "") or question.text)
        self._hints: Sequence[str] = options.pop("hints", None) or question.hints
        if len(self._hints) != 3:
            raise ValueError(
                "hints= takes three (look there; think this; nearly the answer), "
                f"got {len(self._hints)}"
            )
        self._explain = str(options.pop("explain", ""))
        public = {"form": question.form, "text": text, **question.public()}
        name = options.pop("name", "")
        if not name:
            told = json.dumps([public, [n["name"] for n in question.nodes]], sort_keys=True)
            name = f"question.{hashlib.sha256(told.encode()).hexdigest()[:10]}"
        super().__init__(
            kind="predict",
            name=name,
            question=public,
            payload=self._payload(),
            **({"title": "Predict", "height": 360} | options),
        )
        self.answers = self._given_before()
        self._reveal_if_done()
        attempts.introduce(name, self._asking)

    def _asking(self, answer: bool) -> dict[str, Any]:
        """The question and, where it may be told, the answer, for a class (`dataflow.course.join`)."""
        question: dict[str, Any] = dict(self.question)
        if question["form"] == "nodes":
            question["nodes"] = self._question.nodes
        explanation = self.explanation or (self._explained() if answer else "")
        if not explanation:
            return {"question": question, "told": None}
        marks = (self._question.marks() or {}).get("solution", [])
        solution = [self._question.nodes[i]["name"] for i in marks]
        return {"question": question, "told": {"explanation": explanation, "solution": solution}}

    def _explained(self) -> str:
        return f"{self._question.explanation()} {self._explain}".strip()

    def _payload(self) -> dict[str, Any]:
        return {"version": len(self._question.nodes), "nodes": self._question.nodes}

    def _greet(self, version: int, num_runs: int) -> None:
        if version < len(self._question.nodes):
            self.payload = self._payload()

    def _given_before(self) -> list[dict[str, Any]]:
        """Earlier answers to this question, graded afresh: the question may have changed."""
        from dataflow.course import attempts

        kept: list[dict[str, Any]] = []
        for each in attempts.earlier(self.name):
            if each.get("shown"):
                kept.append({"right": False, "words": each["words"], "shown": True})
                continue
            try:
                kept.append(self._graded(each.get("given"), kept))
            except ValueError:
                continue  # an answer to what the question was before
        return kept

    def _graded(self, given: Any, before: list[dict[str, Any]]) -> dict[str, Any]:
        tries = sum(not a["right"] and not a.get("shown") for a in before)
        grade = self._question.grade(given, tries)
        from dataflow.course import attempts

        answer = attempts.stamped({"given": given, "right": grade.right, "words": grade.words})
        if not grade.right:
            answer["hint"] = self._hints[min(tries, len(self._hints) - 1)]
            answer["mistakes"] = self._question.mistakes(given)
        return answer

    def answer(self, given: Any) -> str:
        """Grades an answer, as the page's button does. Returns the verdict in words.

        ``given`` is a list of node names, of row numbers, or of chosen texts; for a value, its text.
        Raises `ValueError` for what is no answer to this question; nothing is kept then.
        """
        graded = self._graded(given, self.answers)
        self._keep(graded)
        hint = f" {translate_hint(graded['hint'])}" if graded.get("hint") else ""
        why = f" {translate(self.explanation)}" if graded["right"] else ""
        return f"{translate(str(graded['words']))}{hint}{why}"

    def reveal(self) -> str:
        """Shows the explanation without a right answer; kept as such. Returns it."""
        from dataflow.course import attempts

        if not self.explanation:
            shown = {"right": False, "words": "The answer was shown.", "shown": True}
            self._keep(attempts.stamped(shown))
        return translate(self.explanation)

    def again(self) -> None:
        """Begins again: the answers so far are forgotten."""
        from dataflow.course import attempts

        attempts.forget(self.name)
        with self.hold_sync():
            self.answers = []
            self.explanation = ""
            self.marks = {}
        self._reword()

    def _keep(self, graded: dict[str, Any]) -> None:
        from dataflow.course import attempts

        with self.hold_sync():
            self.answers = [*self.answers, graded]
            self._reveal_if_done()
        attempts.add(self.name, graded)

    def _reveal_if_done(self) -> None:
        if any(a["right"] or a.get("shown") for a in self.answers):
            self.explanation = self._explained()
            self.marks = self._question.marks() or {}
        self._reword()

    def _reword(self) -> None:
        self.words = self.describe()

    def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        kind = question.get("kind")
        if kind == "answer":
            try:
                self.answer(question.get("given"))
            except ValueError as e:
                return {"refused": str(e)}
            return {}
        if kind == "reveal":
            self.reveal()
            return {}
        if kind == "again":
            self.again()
            return {}
        return super()._answer(question)

    def describe(self) -> str:
        """The question, what can be answered, and what was answered so far, in words."""
        lines = [self.question["text"], self._question.options_words()]
        for number, each in enumerate(self.answers, start=1):
            if each.get("shown"):
                lines.append("The answer was shown.")
                continue
            told = self._question.given_words(each["given"])
            lines.append(f"Answer {number}: {told}. {each['words']}")
        if self.explanation:
            lines.append(self.explanation)
        elif not self.answers:
            lines.append("Not answered yet.")
        else:
            lines.append(f"{plural(len(self.answers), 'answer')} so far.")
        return "\n".join(line for line in lines if line)

    def _draw(self) -> str:
        from dataflow_widgets.static.draw import graph_svg

        return graph_svg(self._question.nodes, self.marks or None)

    def _html(self, words: str) -> str:
        """The question as text; a graph question with its picture."""
        from html import escape

        if self._question.nodes:
            return f"<p>{escape(self.question['text'])}</p>{super()._html(words)}"
        return f"<pre>{escape(words)}</pre>"

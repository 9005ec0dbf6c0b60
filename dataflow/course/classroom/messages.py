"""What a learner's kernel sends, read with distrust.

``{"answers": [answer, ...]}``, an answer being ``{"id", "task", "attempt", "question", "told"}``:

- ``id``: made by the sender, the same when the answer is sent again, so that it counts once;
- ``attempt``: as `dataflow.course.attempts` keeps it;
- ``question``: what was asked (`questions.clean_question`); None for an exercise;
- ``told``: the explanation that the learner saw, with the nodes that are right; None while not shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dataflow.course.attempts import variant_in
from dataflow.course.classroom.limits import MAX_ANSWERS_AT_ONCE
from dataflow.course.classroom.questions import (
    Catalog,
    Question,
    check_given,
    clean_question,
    digest_of,
    plain,
)
from dataflow.course.classroom.refusal import Refusal
from dataflow.course.variants import as_shipped

_ID = re.compile(r"[0-9a-zA-Z_-]{8,64}")
_MAX_WORDS = 2_000


@dataclass(frozen=True)
class Answer:
    """An answer that was found in order. ``question`` and ``digest`` are None for an exercise."""

    uid: str
    task: str
    right: bool
    shown: bool
    words: str
    given: Any
    question: Question | None
    digest: str | None
    told: dict[str, Any] | None


def read_json(body: bytes) -> Any:
    """The message. Raises `Refusal` for anything but JSON."""
    try:
        return json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise Refusal(400, "The message is not JSON.") from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def read_answers(message: Any, catalog: Catalog) -> tuple[list[Answer], list[dict[str, Any]]]:
    """The valid answers, and for each invalid one its id, an HTTP status and one sentence.

    Raises `Refusal` for anything but a list of answers at all.
    """
    answers = message.get("answers") if isinstance(message, Mapping) else None
    if not isinstance(answers, list) or not answers:
        raise Refusal(400, 'The message is not {"answers": [...]} with an answer in it.')
    if len(answers) > MAX_ANSWERS_AT_ONCE:
        raise Refusal(413, f"A message has at most {MAX_ANSWERS_AT_ONCE} answers.")
    good, refused = [], []
    for each in answers:
        try:
            good.append(_answer(each, catalog))
        except Refusal as e:
            uid = each.get("id") if isinstance(each, Mapping) else None
            refused.append({"id": plain(uid, 64), "status": e.status, "message": str(e)})
    return good, refused


def read_questions(message: Any) -> list[tuple[str, Question, dict[str, Any] | None]]:
    """The questions that a teacher's kernel asks: task, question, and the answer. Raises `Refusal`."""
    questions = message.get("questions") if isinstance(message, Mapping) else None
    if not isinstance(questions, list) or len(questions) > MAX_ANSWERS_AT_ONCE:
        raise Refusal(400, 'The message is not {"questions": [...]}.')
    found = []
    for each in questions:
        if not isinstance(each, Mapping) or not isinstance(each.get("task"), str):
            raise Refusal(422, "A question has no name.")
        question = clean_question(each.get("question"))
        found.append((plain(each["task"], 100), question, _told(each.get("told"), question)))
    return found


def _answer(value: Any, catalog: Catalog) -> Answer:
    if not isinstance(value, Mapping):
        raise Refusal(422, "An answer is an object.")
    uid, task, attempt = value.get("id"), value.get("task"), value.get("attempt")
    if not isinstance(uid, str) or not _ID.fullmatch(uid):
        raise Refusal(422, "An answer's id is 8 to 64 letters and digits.")
    if not isinstance(task, str):
        raise Refusal(422, "An answer names its question.")
    catalog.card_of(task)
    if not isinstance(attempt, Mapping):
        raise Refusal(422, "An answer has an attempt.")
    right = attempt.get("right")
    if not isinstance(right, bool) or not isinstance(attempt.get("words"), str):
        raise Refusal(422, "An attempt says whether it was right, and what was said of it.")
    shown, seed = attempt.get("shown") is True, variant_in(attempt)
    question = None if value.get("question") is None else clean_question(value["question"])
    literal = catalog.literals.get(task)
    if literal is not None and question is None:
        raise Refusal(422, f"{task} is a question, and the answer does not say what was asked.")
    given = None
    if question is not None and not shown:
        given = _as_shipped(task, seed, check_given(question, attempt.get("given")))
        if literal is not None:  # the lesson itself says what there is to choose
            check_given(literal.question, given)
            right = given == literal.right if literal.right else right
            question = literal.question if seed else question
    told = _told(value.get("told"), question) if right or shown else None
    words = _as_shipped(task, seed, plain(attempt["words"], _MAX_WORDS))
    digest = digest_of(question) if question is not None else None
    return Answer(uid, task, right and not shown, shown, words, given, question, digest, told)


def _as_shipped(task: str, seed: int, given: Any) -> Any:
    """What was answered in a variant, with the shipped text's numbers, so that it can be counted with others."""
    if not seed:
        return given
    if isinstance(given, list):
        return [_as_shipped(task, seed, each) for each in given]
    return as_shipped(task, seed, given) if isinstance(given, str) else given


def _told(value: Any, question: Question | None) -> dict[str, Any] | None:
    if not isinstance(value, Mapping) or question is None:
        return None
    names = {node["name"] for node in question.get("nodes", ())}
    solution = value.get("solution")
    known = (
        [s for s in solution if s in names]
        if isinstance(solution, list) and all(isinstance(s, str) for s in solution)
        else []
    )
    return {"explanation": plain(value.get("explanation", ""), 4_000), "solution": known}

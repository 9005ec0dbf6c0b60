"""What may be answered in a class: the tasks of its lessons, and the forms that questions have.

A question's own form (its choices, its graph) is made by running the lesson, and notebooks are never run
here. So it arrives with the answers, and is believed in this order: what the lesson's cell spells out
(`predict.choice` with its choices), what the teacher's own kernel sent, what most learners sent.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dataflow.course.attempts import read_notebook
from dataflow.course.classroom.refusal import Refusal
from dataflow.course.contents import LessonCard, read_lessons

_MAX_TEXT = 4_000
_MAX_LABEL = 500
_MAX_NODES = 3_000
_MAX_GIVEN_BYTES = 60_000
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]+")

Question = dict[str, Any]


def plain(text: Any, limit: int = _MAX_LABEL) -> str:
    """A text without control characters, cut at ``limit``."""
    return _CONTROL.sub(" ", str(text)).strip()[:limit]


def digest_of(question: Question) -> str:
    """What two kernels that ask the same question agree on."""
    asked = {k: v for k, v in question.items() if k != "nodes"}
    asked["nodes"] = [[n["name"], n["op"], n["inputs"]] for n in question.get("nodes", [])]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]


# ---- the forms -----------------------------------------------------------------------------------


def clean_question(value: Any) -> Question:
    """A question as it is kept: known fields only, all of them of the right kind.

    Raises `Refusal`.
    """
    if not isinstance(value, Mapping):
        raise Refusal(422, "The question that came with an answer is not a question.")
    form = value.get("form")
    cleaner = _CLEANERS.get(form) if isinstance(form, str) else None
    if cleaner is None:
        raise Refusal(422, f"There is no form of question {plain(form, 40)!r}.")
    kept: Question = {"form": form, "text": plain(value.get("text", ""), _MAX_TEXT)}
    return kept | cleaner(value)


def _list(value: Mapping[str, Any], key: str, most: int, least: int = 1) -> list[Any]:
    found = value.get(key)
    if not isinstance(found, list) or not least <= len(found) <= most:
        raise Refusal(422, f"A question's {key} are a list of {least} to {most}; these are not.")
    return found


def _texts(values: list[Any], what: str) -> list[str]:
    if not all(isinstance(v, str) and len(v) <= _MAX_LABEL for v in values):
        raise Refusal(422, f"A question's {what} are texts of at most {_MAX_LABEL} characters.")
    return [_CONTROL.sub(" ", v) for v in values]


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise Refusal(422, "A part of a question is not what it should be.")
    return value


def _clean_choice(value: Mapping[str, Any]) -> Question:
    groups = []
    for group in map(_mapping, _list(value, "groups", 8)):
        options = _texts(_list(group, "options", 50, 2), "options")
        groups.append({"label": plain(group.get("label", "")), "options": options})
    return {"groups": groups}


def _clean_order(value: Mapping[str, Any]) -> Question:
    items = [_mapping(item) for item in _list(value, "items", 50)]
    ids = _texts([item.get("id") for item in items], "items")
    return {
        "items": [
            {"id": i, "text": plain(item.get("text", i))}
            for i, item in zip(ids, items, strict=True)
        ]
    }


def _clean_rows(value: Mapping[str, Any]) -> Question:
    rows = []
    for row in map(_mapping, _list(value, "rows", 300)):
        if type(row.get("id")) is not int:
            raise Refusal(422, "A row of a question has a number as its id.")
        text = plain(row.get("text", ""))
        rows.append({"id": row["id"], "text": text, "can": row.get("can") is not False})
    return {"rows": rows}


def _clean_nodes(value: Mapping[str, Any]) -> Question:
    color = value.get("color", "")
    return {
        "color": color if color in ("", "device", "type") else "",
        "nodes": [_clean_node(_mapping(n)) for n in _list(value, "nodes", _MAX_NODES)],
    }


def _clean_node(node: Mapping[str, Any]) -> dict[str, Any]:
    """A node of `dataflow.introspect.graph_json`, without its attributes and its place in a file."""
    name, op, device = _texts([node.get(k, "") for k in ("name", "op", "device")], "nodes")
    outputs = [_mapping(out) for out in _list(node, "outputs", 64, 0)]
    kept: dict[str, Any] = {
        "name": name,
        "op": op,
        "device": device,
        "inputs": _texts(_list(node, "inputs", 1_000, 0), "nodes"),
        "outputs": [
            {"dtype": plain(o.get("dtype", ""), 40), "shape": plain(o.get("shape", ""), 80)}
            for o in outputs
        ],
        "attrs": {},
        "source": None,
    }
    return kept | ({"value": plain(node["value"], 100)} if "value" in node else {})


def _clean_value(value: Mapping[str, Any]) -> Question:
    return {}


_CLEANERS = {
    "choice": _clean_choice,
    "order": _clean_order,
    "rows": _clean_rows,
    "nodes": _clean_nodes,
    "value": _clean_value,
}


# ---- answers to them -----------------------------------------------------------------------------


def check_given(question: Question, given: Any) -> Any:
    """``given`` as it is kept, if it can be an answer to ``question``. Raises `Refusal`."""
    if len(json.dumps(given)) > _MAX_GIVEN_BYTES:
        raise Refusal(413, f"An answer has at most {_MAX_GIVEN_BYTES} bytes.")
    form = question["form"]
    if form == "value":
        if not isinstance(given, str) or len(given) > _MAX_LABEL:
            raise Refusal(422, f"An answer here is a text of at most {_MAX_LABEL} characters.")
        return plain(given)
    if not isinstance(given, list):
        raise Refusal(422, "An answer to this question is a list.")
    if form == "choice":
        groups = question["groups"]
        if len(given) != len(groups):
            raise Refusal(422, f"An answer to this question has {len(groups)} choices.")
        for choice, group in zip(given, groups, strict=True):
            if choice not in group["options"]:
                raise Refusal(422, f"The question has no choice {plain(choice, 80)!r}.")
        return given
    allowed = {
        "nodes": lambda: [node["name"] for node in question["nodes"]],
        "order": lambda: [item["id"] for item in question["items"]],
        "rows": lambda: [row["id"] for row in question["rows"] if row["can"]],
    }[form]()
    if not all(isinstance(g, str | int) for g in given) or len(set(given)) != len(given):
        raise Refusal(422, "An answer to this question names different parts of it.")
    for each in given:
        if isinstance(each, bool) or each not in allowed:
            raise Refusal(422, f"The question has no {plain(each, 80)!r} to be marked.")
    if form == "order" and len(given) != len(allowed):
        raise Refusal(422, f"An answer to this question puts all {len(allowed)} in order.")
    return given


# ---- the lessons ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Literal:
    """A question that its lesson spells out: its form, and the right choice where that stands there."""

    question: Question
    right: list[str] | None


@dataclass(frozen=True)
class Catalog:
    """The lessons of a class: their cards, and by task the questions that their cells spell out and what
    stands before an exercise."""

    cards: list[LessonCard] = field(default_factory=list)
    literals: Mapping[str, Literal] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)

    @property
    def tasks(self) -> dict[str, LessonCard]:
        """The lesson of each question and exercise."""
        return {task: card for card in self.cards for task in card.tasks}

    def card_of(self, task: str) -> LessonCard:
        """The lesson of a task. Raises `Refusal` for one that no lesson has."""
        for card in self.cards:
            if task in card.tasks:
                return card
        raise Refusal(422, f"No lesson of this class has a question {plain(task, 80)!r}.")


def read_catalog(folder: Path) -> Catalog:
    """The lessons in ``folder``; they are read, never run. Raises `NotADirectoryError`."""
    if not folder.is_dir():
        raise NotADirectoryError(f"no such folder of lessons: {folder}")
    cards = [card for card in read_lessons(folder) if card.tasks]
    literals: dict[str, Literal] = {}
    prompts: dict[str, str] = {}
    for card in cards:
        notebook = read_notebook(folder / card.file)
        literals |= _literals(notebook)
        prompts |= _prompts(notebook, card.tasks)
    return Catalog(cards, literals, prompts)


def _source(cell: Any) -> str:
    source = cell.get("source", "") if isinstance(cell, Mapping) else ""
    return "".join(map(str, source)) if isinstance(source, list) else str(source)


def _prompts(notebook: Mapping[str, Any], tasks: list[str]) -> Iterator[tuple[str, str]]:
    """Of each exercise the words before its cells, without Markdown's marks."""
    words = ""
    for cell in notebook["cells"]:
        kind = cell.get("cell_type") if isinstance(cell, Mapping) else None
        if kind == "markdown":
            words = _source(cell)
        elif kind == "code":
            source = _source(cell)
            for task in tasks:
                if words and f"check.{task}(" in source:
                    text = re.sub(
                        r"\*\*|`|^#+ |(?<![\w`])\*(?=\S)|(?<=[\w.!?])\*(?![\w`])",
                        "",
                        words,
                        flags=re.M,
                    )
                    paragraphs = (" ".join(part.split()) for part in text.split("\n\n"))
                    yield task, plain("\n".join(paragraphs), _MAX_TEXT)


def _literals(notebook: Mapping[str, Any]) -> Iterator[tuple[str, Literal]]:
    for cell in notebook["cells"]:
        if not isinstance(cell, Mapping) or cell.get("cell_type") != "code":
            continue
        try:
            tree = ast.parse(_source(cell))
        except (SyntaxError, ValueError):
            continue  # magics, or what a learner left open
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "predict.choice":
                found = _literal(node)
                if found:
                    yield found


def _literal(call: ast.Call) -> tuple[str, Literal] | None:
    given: dict[str, Any] = dict(zip(("text", "choices", "answer"), call.args, strict=False))
    given |= {k.arg: k.value for k in call.keywords if k.arg}
    values = {}
    for key in ("name", "text", "choices", "answer"):
        try:
            values[key] = ast.literal_eval(given[key])
        except (KeyError, ValueError, TypeError):
            continue
    if not {"name", "text", "choices"} <= set(values):
        return None
    choices = [str(choice) for choice in values["choices"]]
    groups = [{"label": "", "options": choices}]
    question = {"form": "choice", "text": str(values["text"]), "groups": groups}
    answer = values.get("answer")
    right = [choices[answer]] if type(answer) is int and 0 <= answer < len(choices) else None
    return str(values["name"]), Literal(clean_question(question), right)

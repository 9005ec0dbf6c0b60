"""What checks and widgets say, in the learner's language.

    dataflow.course.language("de")      # from now on; or DATAFLOW_LANGUAGE=de before the kernel starts

Checks and widgets are written in English. Where they speak, what they say is looked up by its template, the
string of the source with ``{0}`` for what was filled in, in ``languages/LANGUAGE.toml``. A sentence that the
table lacks is said in English. English itself costs nothing: nothing is looked up.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "languages"
_HOLE = re.compile(r"\{(\d+)\}")
_SENTENCE_END = re.compile(r"(?<=[.!?]) (?=\S)")
_HEAD = re.compile(r"\s*[^\W\d_]{4,}")
_COUNT = re.compile(r"\d[\d,.]* \S+")
_COUNTED = re.compile(r"(\d[\d,.]*) (.+)")
_QUOTED = re.compile("“[^”]*”")  # an answer, as it was given
_MAX_DEPTH = 6
_MAX_KNOWN = 5000
_FEW_LETTERS = 9
_chosen: str | None = None


def languages() -> list[str]:
    """The languages that have a table: ``["de", "en"]``."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def language(code: str | None = None) -> str:
    """Chooses the language of checks and widgets, and returns the one that is chosen.

    Without ``code`` nothing changes; it is the value of ``DATAFLOW_LANGUAGE`` at first, else ``"en"``.
    Widgets that are shown already stay as they are, and a page that has loaded the widgets' library speaks
    another language once it is loaded again. Raises `ValueError` for a language without a table.
    """
    global _chosen
    if code is not None:
        if code not in languages():
            raise ValueError(
                f"there is no table for the language {code!r}; there are {', '.join(languages())}. "
                f"A table is a file such as {FOLDER.name}/de.toml"
            )
        _chosen = code
    if _chosen is None:
        wanted = os.environ.get("DATAFLOW_LANGUAGE", "en").partition("_")[0].lower() or "en"
        _chosen = wanted if wanted in languages() else "en"
    return _chosen


@cache
def read_table(code: str) -> dict[str, dict[str, str]]:
    """A language's table: part ("checks", "widgets", "page") -> English sentence -> sentence."""
    path = FOLDER / f"{code}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


@cache
def _translator(code: str) -> Callable[[str], str]:
    table: dict[str, str] = {}
    for part in ("checks", "widgets"):
        table |= read_table(code).get(part, {})
    return translator(in_company(table))


def in_company(table: Mapping[str, str]) -> dict[str, str]:
    """A table in which a sentence that a source begins with a space, as it follows others, is there without it, too:
    what is said is taken apart into sentences at the spaces between them.
    """
    return {key[1:]: said[1:] for key, said in table.items() if key[:1] == " "} | dict(table)


def translate(text: str) -> str:
    """``text``, which checks or widgets say, in the chosen language."""
    code = language()
    return text if code == "en" else _translator(code)(text)


def translate_hint(hint: str) -> str:
    """``Hint: ...`` in the chosen language. The hint is looked up by itself: what is filled into a template is
    found in the table as one sentence, and most hints are several.
    """
    return translate("Hint: {0}").replace("{0}", translate(hint))


def translator(table: Mapping[str, str]) -> Callable[[str], str]:
    """A function that says a text by ``table``: whole, else line by line and sentence by sentence.

    Of several templates that fit, the one with most words of its own is taken; one of few words only where
    little was filled in. What was filled in is translated, too, as it may be words of the table. The page has
    the same rules (``shared/translate.js``).
    """
    return _Translator(table).say


class _Translator:
    """A table of translations, with its templates as patterns, and the texts that were said last."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self._table = table
        self._patterns = sorted(
            (
                (_pattern(english), said, _weight(english))
                for english, said in table.items()
                if _HOLE.search(english)
            ),
            key=lambda each: each[2],
            reverse=True,
        )
        self._known: dict[str, str] = {}

    def say(self, text: str) -> str:
        """The text in the table's language."""
        return self._said(text, 0)

    def _said(self, text: str, depth: int) -> str:
        if text in self._table:
            return self._table[text]
        if _QUOTED.fullmatch(text):
            return text
        if depth > _MAX_DEPTH or not any(c.isalpha() for c in text):
            return text
        counted = _COUNTED.fullmatch(text)
        if counted and counted[2] in self._table:
            return f"{counted[1]} {self._table[counted[2]]}"
        if depth == 0 and text in self._known:
            return self._known[text]
        result = self._filled(text, depth, strictly=True)
        if result is None:
            result = self._in_parts(text, depth)
            if result == text:
                result = self._filled(text, depth, strictly=False) or text
        if depth == 0:
            if len(self._known) > _MAX_KNOWN:
                self._known.clear()
            self._known[text] = result
        return result

    def _filled(self, text: str, depth: int, strictly: bool) -> str | None:
        for pattern, to, weight in self._patterns:
            match = pattern.fullmatch(text)
            if match and _fits(match.groups(), weight, strictly):
                return _fill(to, [self._said(part, depth + 1) for part in match.groups()])
        return None

    def _in_parts(self, text: str, depth: int) -> str:
        if "\n" in text:
            return "\n".join(self._said(line, depth + 1) for line in text.split("\n"))
        inner = text.strip(" ")
        if inner != text:
            before, _, after = text.partition(inner)
            return before + self._said(inner, depth + 1) + after
        sentences = _SENTENCE_END.split(text)
        for num in range(
            len(sentences) - 1, 0, -1
        ):  # several sentences may be one string of a source
            first, rest = " ".join(sentences[:num]), " ".join(sentences[num:])
            one = self._table.get(first) or self._filled(first, depth + 1, strictly=num == 1)
            if one is not None and one != first:
                return f"{one} {self._said(rest, depth + 1)}"
        if len(sentences) > 1:
            return f"{sentences[0]} {self._said(' '.join(sentences[1:]), depth + 1)}"
        head, colon, tail = text.partition(": ")
        if colon and (head in self._table or _COUNT.fullmatch(head)):
            return f"{self._said(head, depth + 1)}{colon}{self._said(tail, depth + 1)}"
        first, *others = text.split(", ")  # a list, or what was added to a line
        return (
            self._said(first, depth + 1)
            + "".join(
                self._filled(f", {each}", depth + 1, strictly=True)
                or f", {self._said(each, depth + 1)}"
                for each in others
            )
            if others
            else text
        )


def _fits(parts: tuple[str, ...], weight: tuple[int, int, bool], strictly: bool) -> bool:
    """Whether a template may be meant: "{0} is {1}" fits nearly all that is said, "Hint: {0}" does not."""
    num_letters, _, is_headed = weight
    if num_letters < _FEW_LETTERS and not is_headed:
        most = 3 if num_letters > 3 else 1
        return all(part.count(" ") < most for part in parts)
    return not strictly or not any(_SENTENCE_END.search(part) for part in parts)


def _weight(template: str) -> tuple[int, int, bool]:
    """Letters of its own, characters of its own, and whether it begins with a word."""
    own = _HOLE.sub("", template)
    return sum(c.isalpha() for c in own), len(own), bool(_HEAD.match(template))


def _fill(template: str, parts: list[str]) -> str:
    return _HOLE.sub(lambda hole: parts[int(hole[1])], template)


def _pattern(template: str) -> re.Pattern[str]:
    parts = _HOLE.split(template)[::2]
    return re.compile("(.*?)".join(re.escape(part) for part in parts), re.DOTALL)


def holes(template: str) -> Iterable[str]:
    """The numbers of what a template has filled in, sorted."""
    return sorted(_HOLE.findall(template))

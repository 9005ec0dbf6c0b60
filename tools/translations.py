"""The sentences of checks and widgets, taken from their sources: ``dataflow/course/languages/en.toml``.

    python -m tools.translations            # writes en.toml anew, and says what other tables lack
    python -m tools.translations --lacking de   # the sentences that de.toml lacks, one a line

A sentence is a string or an f-string (in JavaScript a template literal) of a source; what is filled in is
``{0}``, ``{1}``, ... Nothing is marked in the sources: `is_sentence` tells words for a person from other
strings, and `languages/not_words.txt` has the few that it cannot tell; `languages/words.txt` has what looks like
none, single words above all, which are translated where the page has words of its own (FURNITURE in
`shared/translate.js`), and `languages/composed.txt` the sentences that widgets put together of parts. What a check
says to a learner is words in any case.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import re
import sys
from collections.abc import Generator, Iterator
from html.parser import HTMLParser
from pathlib import Path

from dataflow.course.contents import TRACKS
from dataflow.course.translations import FOLDER, read_table

ROOT = Path(__file__).resolve().parents[1]
WIDGETS = ROOT / "widgets" / "dataflow_widgets"
_WORDS = re.compile(
    r"[A-Za-z\u2019']{2,}[,;:.!?)]*(?: | \S+ )[(\"“]?(?:[A-Za-z]{2,}|\{\d+\})|\{\d+\}[^{}]* [A-Za-z]{3,}"
)
_ONE_WORD = re.compile(r"[A-Z][a-z]{2,}(?: ?[▾…:.])*|[a-z]{3,}(?:[:.]|…)")
_CODE = re.compile(
    r"[<>={}\\#]|::|\bdf-|px\b|;\s*$|^\s*//|--|\.(js|css|svg|png|py|csv|html|json)\b|rgb\(|calc\(|translate\("
    r"|^(import|digraph|node|graph|font|M-?\{)|svg |xmlns|dataflow_widgets|[a-z]+\.[a-z]+\.[a-z]+|[a-z]_[a-z]"
)


def is_sentence(template: str) -> bool:
    """Whether a string is words for a person."""
    bare = re.sub(r"\{\d+\}", "", template)
    if _CODE.search(
        re.sub(r"[a-z]+_[a-z_]+", "", bare.replace("=", "", 2))
        if "_" in bare
        else bare.replace(" = ", " ").replace("->", " ")
    ):
        return False
    return bool(_WORDS.search(template) or _ONE_WORD.fullmatch(bare.strip()))


def sentences_of_python(path: Path) -> Iterator[str]:
    """Strings of a module as templates; docstrings and errors for programmers are left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    left_out: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            left_out.add(id(node.value))
        elif isinstance(node, ast.Raise):
            left_out.update(map(id, ast.walk(node)))
        elif isinstance(node, ast.JoinedStr):
            left_out.update(id(v) for v in node.values)
            left_out.update(
                id(v.format_spec) for v in node.values if isinstance(v, ast.FormattedValue)
            )
            for value in node.values:
                if isinstance(value, ast.FormattedValue) and value.format_spec:
                    left_out.update(map(id, ast.walk(value.format_spec)))
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "plural":
            yield from _plurals(node, left_out)
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "what":
            if isinstance(node.value, ast.Constant):
                yield f"{node.value.value!s}s"  # several of a question's `what`
    for node in ast.walk(tree):
        if id(node) in left_out:
            continue
        if isinstance(node, ast.JoinedStr):
            yield from _templates(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


#: Arguments that the page shows, one word as well as several.
_LABELS = ("description", "x_label", "y_label")


def labels_of_python(path: Path) -> Iterator[str]:
    """What stands beside a control or an axis, where it is one word.

    In the table it begins with "label:": the page replaces it there only, as a node may have that name.
    """
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.keyword) and node.arg in _LABELS:
            value = node.value
            if isinstance(value, ast.Constant) and re.fullmatch("[a-z]{2,}", str(value.value)):
                yield f"label:{value.value}"


def said_by_checks(path: Path) -> Iterator[str]:
    """Hints and messages of a module of checks: words for a person, also where there is code among them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        called = (
            node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        )
        if called not in ("exercise", "begun", "expect", "expect_type", "wrong"):
            continue
        assert isinstance(node, ast.Call)
        for argument in node.args:
            said = argument.body if isinstance(argument, ast.Lambda) else argument
            if isinstance(said, ast.JoinedStr):
                yield from filter(_WORDS.search, _templates(said))
            elif isinstance(said, ast.Constant) and _WORDS.search(str(said.value)):
                yield str(said.value)


def _templates(node: ast.JoinedStr) -> Iterator[str]:
    """The templates of an f-string: one for each way that the conditions in it may go."""
    choices: list[list[str | None]] = []
    for value in node.values:
        if isinstance(value, ast.Constant):
            choices.append([str(value.value)])
        else:
            inner = value.value if isinstance(value, ast.FormattedValue) else value
            ways = [inner.body, inner.orelse] if isinstance(inner, ast.IfExp) else []
            words = [
                w.value for w in ways if isinstance(w, ast.Constant) and isinstance(w.value, str)
            ]
            choices.append([*words] if len(words) == 2 else [None])
    for parts in itertools.product(*choices):
        number = itertools.count()
        yield "".join(f"{{{next(number)}}}" if part is None else part for part in parts)


def _plurals(call: ast.Call, left_out: set[int]) -> Iterator[str]:
    """``plural(n, "node")``: one node, several nodes."""
    words = [str(a.value) for a in call.args[1:] if isinstance(a, ast.Constant)]
    left_out.update(id(a) for a in call.args[1:])
    if words:
        yield f"{{0}} {words[0]}"
        yield f"{{0}} {words[1] if len(words) > 1 else words[0] + 's'}"


def sentences_of_javascript(path: Path) -> Iterator[str]:
    """Strings and template literals of a module as templates; also those within a template."""
    text = path.read_text(encoding="utf-8")
    for match in re.finditer(
        r'\bplural\([^()"]*(?:\([^()]*\))?[^()"]*, "([^"]+)"(?:, "([^"]+)")?\)', text
    ):
        yield f"{{0}} {match[1]}"
        yield f"{{0}} {match[2] or match[1] + 's'}"
    at = 0
    while at < len(text):
        at = yield from _next_string(text, at)


def _next_string(text: str, at: int) -> Generator[str, None, int]:
    """Yields the strings that begin at ``at``; returns where to go on."""
    char = text[at]
    if text.startswith("//", at):
        end = text.find("\n", at)
        return len(text) if end < 0 else end
    if text.startswith("/*", at):
        return text.index("*/", at) + 2
    if char == "/" and re.search(r"(?:[(,=:?&|]|=>|return)\s*$", text[max(0, at - 10) : at]):
        match = re.compile(r"/(?:\\.|\[(?:\\.|[^\]])*\]|[^/\n\\[])+/").match(text, at)
        return match.end() if match else at + 1
    if char == '"':
        match = re.compile(r'"(?:\\.|[^"\\\n])*"').match(text, at)
        if not match:
            return at + 1
        yield json.loads(match[0].replace("\\x", "\\u00"))
        return match.end()
    if char == "'":  # only for strings that hold quotes: no words
        match = re.compile(r"'(?:\\.|[^'\\\n])*'").match(text, at)
        return match.end() if match else at + 1
    if char == "`":
        return (yield from _template_literal(text, at))
    return at + 1


def _template_literal(text: str, at: int) -> Generator[str, None, int]:
    parts, number, at = [], 0, at + 1
    while text[at] != "`":
        if text[at] == "\\":
            parts.append({"n": "\n", "t": "\t"}.get(text[at + 1], text[at + 1]))
            at += 2
        elif text.startswith("${", at):
            parts.append(f"{{{number}}}")
            number, depth, at = number + 1, 1, at + 2
            while depth:
                if text[at] in "{}":
                    depth += 1 if text[at] == "{" else -1
                    at += 1
                else:
                    at = yield from _next_string(text, at)
        else:
            parts.append(text[at])
            at += 1
    yield "".join(parts)
    return at + 1


class _Texts(HTMLParser):
    """The texts of the elements in a page's ``<main>``, white space as it is shown."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._inside: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "main" or self._inside:
            self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        text = " ".join(data.split())
        if self._inside and "noscript" not in self._inside and re.search("[a-z]{3}", text):
            self.found.append(text)


def sentences_of_course_page(path: Path) -> Iterator[str]:
    """The texts of the course page, what its script says (``say("...")``), and the names of the tracks."""
    page = path.read_text(encoding="utf-8")
    yield from (text for text in _Texts(page).found if text not in ("dataflow", "Shift+Enter"))
    yield from map(json.loads, re.findall(r'\bsay\((?:\w+ \|\| )?("(?:\\.|[^"\\])*")', page))
    yield from TRACKS


def sources() -> dict[str, tuple[str, list[Path]]]:
    """For each part of a table what reads it and which files it comes from."""
    course = ROOT / "dataflow" / "course"
    checks = sorted((course / "check").glob("*.py"))
    static = WIDGETS / "static"  # its drawings say what the page's do, for which there is a table
    python = [p for p in sorted(WIDGETS.rglob("*.py")) if p.parent != static]
    python.append(static / "html.py")
    python.append(ROOT / "dataflow" / "cluster" / "management" / "launch_progress.py")
    page = [p for p in sorted(WIDGETS.glob("*/*.js")) if p.parent.name not in ("built", "engine")]
    return {
        "checks": ("py", [course / "exercise.py", course / "translations.py", *checks]),
        "widgets": ("py", python),
        "page": ("js", page),
    }


def collect() -> dict[str, dict[str, str]]:
    """The English table: part -> sentence -> sentence."""
    not_words = set((FOLDER / "not_words.txt").read_text(encoding="utf-8").splitlines())
    listed = [
        line
        for name in ("words.txt", "composed.txt")
        for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()
    ]
    table: dict[str, dict[str, str]] = {}
    for part, (kind, paths) in sources().items():
        found: dict[str, str] = {}
        for path in paths:
            take = sentences_of_python if kind == "py" else sentences_of_javascript
            hints = set(said_by_checks(path)) if part == "checks" else set()
            if part == "widgets":
                found |= {label: label for label in labels_of_python(path)}
            for template in take(path):
                if (is_sentence(template) or template in hints) and json.dumps(
                    template, ensure_ascii=False
                ) not in not_words:
                    found[template] = template
        table[part] = found
    page = ROOT / "dataflow" / "course" / "course_page.html"
    table["course"] = {text: text for text in sentences_of_course_page(page)}
    table["page"] |= {word: word for word in map(json.loads, listed)}
    return table


def as_toml(table: dict[str, dict[str, str]]) -> str:
    """TOML: a section for each part, a line for each sentence."""
    lines = []
    for part, sentences in table.items():
        lines += [f"[{part}]", *(f"{_quoted(k)} = {_quoted(v)}" for k, v in sentences.items()), ""]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # a basic string of TOML is one of JSON


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lacking", metavar="LANGUAGE", help="print what a table lacks")
    options = parser.parse_args(arguments)
    english = collect()
    if options.lacking:
        other = read_table(options.lacking)
        for part, sentences in english.items():
            for sentence in sentences:
                if sentence not in other.get(part, {}):
                    print(f"{part}\t{_quoted(sentence)}")
        return 0
    (FOLDER / "en.toml").write_text(as_toml(english), encoding="utf-8")
    for path in sorted(FOLDER.glob("*.toml")):
        table = read_table(path.stem)
        lacking = sum(len(set(s) - set(table.get(part, {}))) for part, s in english.items())
        print(f"{path.name}: {sum(map(len, table.values()))} sentences, {lacking} lacking")
    return 0


if __name__ == "__main__":
    sys.exit(main())

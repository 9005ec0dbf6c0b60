"""Python 2's spellings turned into Python 3's, line by line, as ``2to3`` did.

What a scanner of tokens can tell: ``print`` and ``exec`` statements, ``except E, e``, ``raise E, "text"``,
``<>``, backquotes, ``0777``, ``10L``, ``ur""``, ``.has_key``, ``.next()``, and names that moved (``xrange``,
``raw_input``, ``itertools.izip``, ``cPickle``, ``d.iteritems()``). Line numbers stay. What depends on values
(``/`` of integers, ``map`` and ``d.keys()`` that were lists) is for `dataflow.shim.python2_values`.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""(?P<string>[bBuUrR]{0,3}(?:'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\""""
    r"""|'(?:[^'\\\n]|\\.|\\\n)*'|"(?:[^"\\\n]|\\.|\\\n)*"))"""
    r"""|(?P<comment>\#[^\n]*)|(?P<number>(?:0[xX][\da-fA-F]+|0[bBoO]\d+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[lLjJ]?)"""
    r"""|(?P<name>[^\W\d]\w*)|(?P<newline>\n)|(?P<joined>\\\n)|(?P<space>[ \t\f\r]+)|(?P<op><>|.)""",
    re.S,
)

_NAMES = {
    "xrange": "range",
    "raw_input": "input",
    "unicode": "str",
    "unichr": "chr",
    "basestring": "str",
    "long": "int",
}
_MODULES = {
    "cPickle": "pickle",
    "Queue": "queue",
    "ConfigParser": "configparser",
    "StringIO": "io",
    "cStringIO": "io",
    "urllib2": "urllib.request",
    "Tkinter": "tkinter",
    "commands": "subprocess",
    "__builtin__": "builtins",
    "HTMLParser": "html.parser",
    "copy_reg": "copyreg",
    "thread": "_thread",
}
_METHODS = {"iteritems": "items", "iterkeys": "keys", "itervalues": "values", "next": "__next__"}
_ITERTOOLS = {"izip": "zip", "imap": "map", "ifilter": "filter"}
_MAXINT = {"maxint": "maxsize"}

Token = tuple[str, str]


def to_python3(source: str) -> str:
    """``source`` with Python 2's spellings replaced; text that has none comes back as it is."""
    tokens = [
        (kind, text)
        for found in _TOKEN.finditer(source)
        if (kind := found.lastgroup) and (text := found.group()) is not None
    ]
    tokens = [_literal(token) for token in tokens]
    lines: list[list[Token]] = [[]]
    depth = 0
    for kind, text in tokens:  # logical lines: a newline within brackets ends none
        depth += (kind == "op" and text in "([{") - (kind == "op" and text in ")]}")
        lines[-1].append((kind, text))
        if kind == "newline" and depth <= 0:
            lines.append([])
            depth = 0
    prints_are_calls = "print_function" in source
    return "".join(_line(line, prints_are_calls) for line in lines)


def _literal(token: Token) -> Token:
    kind, text = token
    if kind == "number":
        text = text.rstrip("lL")
        if re.fullmatch(r"0[0-7]+", text) and text.strip("0"):
            text = "0o" + text[1:]
    elif kind == "string" and (prefix := re.match(r"[uU][rR]", text)):
        text = "r" + text[prefix.end() :]
    elif kind == "op" and text == "<>":
        text = "!="
    return kind, text


def _line(line: list[Token], prints_are_calls: bool) -> str:
    """One logical line; statements after a colon or a semicolon are looked at, too."""
    line = _without_iterators(_renamed(line))
    result: list[Token] = []
    at = 0
    begins = True
    depth = 0
    while at < len(line):
        kind, text = line[at]
        if kind == "op":
            depth += (text in "([{") - (text in ")]}")
        if begins and kind == "name" and text in ("print", "exec", "raise", "except"):
            end = _end(line, at)
            result += _statement(text, line[at + 1 : end], prints_are_calls)
            at, begins = end, False
            continue
        result.append((kind, text))
        if kind not in ("space", "joined", "newline", "comment"):
            begins = kind == "op" and text in ":;" and depth == 0
        at += 1
    return "".join(text for _, text in result)


def _end(line: list[Token], at: int) -> int:
    """Where the statement that begins at ``at`` ends: before ``;``, ``:`` of an except, comment, newline."""
    depth = 0
    keyword = line[at][1]
    for i in range(at + 1, len(line)):
        kind, text = line[i]
        if kind == "op":
            depth += (text in "([{") - (text in ")]}")
        if depth <= 0 and (
            kind in ("newline", "comment") or text == ";" or (keyword == "except" and text == ":")
        ):
            end = i
            while line[end - 1][0] == "space":
                end -= 1
            return end
    return len(line)


def _split(tokens: list[Token]) -> list[str]:
    """The parts between commas outside brackets."""
    parts, depth = [""], 0
    for kind, text in tokens:
        if kind == "op":
            depth += (text in "([{") - (text in ")]}")
        if kind == "op" and text == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += text
    return parts


def _statement(keyword: str, tokens: list[Token], prints_are_calls: bool) -> list[Token]:
    text = "".join(t for _, t in tokens)
    words = text.strip()
    whole = ("op", keyword + text)
    if keyword == "print":
        if prints_are_calls or _is_one_group(tokens) or words[:1] in ("=", ".", ","):
            return [whole]
        if not words:
            return [("op", "print()")]
        target = ""
        if words.startswith(">>"):
            first, *rest = _split(tokens)
            target, words = first.strip()[2:].strip(), ",".join(rest).strip()
        end = ""
        if words.endswith(","):
            words, end = words[:-1], ', end=" "'
        file = f", file={target}" if target else ""
        arguments = (words + end + file).removeprefix(", ")
        return [("op", f"print({arguments})")]
    parts = [part.strip() for part in _split(tokens)]
    if keyword == "except" and len(parts) == 2:
        return [("op", f"except {parts[0]} as {parts[1]}")]
    if keyword == "raise" and len(parts) in (2, 3):
        trace = f".with_traceback({parts[2]})" if len(parts) == 3 else ""
        return [("op", f"raise {parts[0]}({parts[1]}){trace}")]
    if keyword == "exec" and words and not words.startswith("("):
        code, _, scope = words.partition(" in ")
        return [("op", f"exec({code}{', ' + scope if scope else ''})")]
    return [whole]


def _is_one_group(tokens: list[Token]) -> bool:
    """Whether what is printed is one pair of brackets: ``print("a")`` means the same in both."""
    marks = [t for t in tokens if t[0] not in ("space", "joined", "newline", "comment")]
    if not marks or marks[0][1] != "(":
        return False
    depth = 0
    for i, (kind, text) in enumerate(marks):
        if kind == "op":
            depth += (text in "([{") - (text in ")]}")
        if depth == 0:
            # ("a", b) was a tuple; as a call it prints the same words without brackets.
            return i == len(marks) - 1
    return False


def _renamed(line: list[Token]) -> list[Token]:
    marks = [i for i, t in enumerate(line) if t[0] not in ("space", "joined", "newline", "comment")]
    result = list(line)
    imports = bool(marks) and line[marks[0]][1] in ("import", "from")
    for n, i in enumerate(marks):
        kind, text = line[i]
        before = line[marks[n - 1]][1] if n else ""
        after = line[marks[n + 1]][1] if n + 1 < len(marks) else ""
        owner = line[marks[n - 2]][1] if n > 1 else ""
        if kind == "op" and text == "`":
            is_open = sum(line[j][1] == "`" for j in marks[:n]) % 2 == 0
            result[i] = ("op", "repr(" if is_open else ")")
        if kind != "name":
            continue
        if imports and text in _MODULES and before in ("import", "from", ","):
            new = _MODULES[text]
            bare = before == "import" and after != "as"
            result[i] = (kind, f"{new} as {text}" if bare or before == "," else new)
        elif before == "." and text in _METHODS and after == "(" and text != "next":
            result[i] = (kind, _METHODS[text])
        elif before == "." and owner == "itertools" and text in _ITERTOOLS:
            result[marks[n - 2]] = (kind, "")
            result[marks[n - 1]] = ("op", "")
            result[i] = (kind, _ITERTOOLS[text])
        elif before == "." and owner == "sys" and text in _MAXINT:
            result[i] = (kind, _MAXINT[text])
        elif before == "." and text == "has_key" and after == "(":
            result[i] = (kind, "__contains__")
        elif before == "." and text == "next" and after == "(" and n + 2 < len(marks):
            if line[marks[n + 2]][1] == ")":  # it.next()
                result[i] = (kind, "__next__")
        elif before != "." and text in _NAMES and after != "=" and not imports:
            result[i] = (kind, _NAMES[text])
    return result


def _without_iterators(line: list[Token]) -> list[Token]:
    """``from itertools import izip`` as ``izip = zip``; other lines as they are."""
    text = "".join(t for _, t in line)
    found = re.match(r"(\s*)from itertools import ([\w, ]+)", text)
    names = [name.strip() for name in found[2].split(",")] if found else []
    if found is None or not all(name in _ITERTOOLS for name in names):
        return line
    new = "; ".join(f"{name} = {_ITERTOOLS[name]}" for name in names)
    return [("op", found[1] + new + text[found.end() :])]

"""Regular expressions as TensorFlow has them (RE2's syntax and semantics), in linear time.

Three engines give the same results. Python's `re` backtracks, which may take time exponential in
the text; it is asked only where the pattern's form bounds its steps by a thousand for each byte. Where
it does not, the package google-re2 does the work (the extra ``regex``) and, where
that is not installed, the automaton of `dataflow.kernels.regex_automaton`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from dataflow.extras import install
from dataflow.kernels import regex_backtracking, regex_syntax
from dataflow.kernels.regex_automaton import Automaton

#: Backtracking may take this many steps for each character of the text, about 10 us.
_STEPS_PER_CHARACTER = 1000

#: ``search(text, start)``: where the first match and its groups begin and end; ``None`` without one.
_Search = Callable[[Any, int], Any]


class RegularExpression:
    """A compiled pattern. Text and results are ``bytes``; the pattern sees UTF-8 characters."""

    def __init__(self, pattern: bytes) -> None:
        self._google = google = _google_re2(pattern)
        self._tree: regex_syntax.Node | None = None
        try:
            parsed = regex_syntax.parse(pattern.decode())
            self.num_groups = parsed.num_groups
            self._tree = parsed.tree
            self._can_be_empty = not regex_syntax.shortest(parsed.tree)
            self._limits: dict[tuple[int, bool], bool] = {}
            if google is None:
                self._automaton = Automaton(parsed)
        except UnicodeDecodeError:
            if google is None:
                raise _invalid(pattern, "invalid UTF-8") from None
        except regex_syntax.UnknownHereError as e:
            if google is None:
                needed = f"this needs the package google-re2: {install('regex')}"
                raise _invalid(pattern, f"{e} ({needed})") from e
        except regex_syntax.PatternError as e:
            if google is None:
                raise _invalid(pattern, str(e)) from e
        if google is not None:
            self.num_groups = google.groups

    def matches_whole(self, text: bytes) -> bool:
        """Whether all of ``text`` is a match."""
        if self._few_steps(len(text), True):
            if text.isascii():
                return self._python(bytes).fullmatch(text) is not None
            return self._python(str).fullmatch(_decoded(text)) is not None
        if self._google is not None:
            return self._google.fullmatch(text) is not None
        return self._automaton.search(_decoded(text), 0, whole=True) is not None

    def replace(self, text: bytes, rewrite: bytes, every: bool = True) -> bytes:
        r"""``text`` with ``rewrite`` (in which ``\0`` to ``\9`` are groups) for each match, or the first.

        An empty match directly after another match is none.
        """
        pieces = _rewrite(rewrite)
        wanted = max((p for p in pieces if isinstance(p, int)), default=0)
        if wanted > self.num_groups:
            raise ValueError(
                f"rewrite {rewrite!r} asks for group {wanted}, but the pattern has {self.num_groups}"
            )
        if self._few_steps(len(text), False):
            kind = bytes if text.isascii() and rewrite.isascii() else str
            compiled = self._python(kind)
            of_kind = text if kind is bytes else _decoded(text)
            if self._can_be_empty:
                result = _replaced(_python_search(compiled), of_kind, _of_kind(pieces, kind), every)
            else:
                result = compiled.sub(_template(rewrite, kind), of_kind, 0 if every else 1)
        elif self._google is not None:
            result = _replaced(_google_search(self._google), text, pieces, every)
        else:
            result = _replaced(self._automaton.search, _decoded(text), _of_kind(pieces, str), every)
        return result if isinstance(result, bytes) else result.encode("utf-8", "surrogateescape")

    def _few_steps(self, length: int, whole: bool) -> bool:
        """Whether Python's `re` is bound to be quick for a text of ``length`` bytes."""
        if self._tree is None:
            return False
        # Rounded up to a power of two: few lengths, each asked once.
        length = 1 << length.bit_length()
        known = self._limits.get((length, whole))
        if known is None:
            steps = regex_backtracking.most_steps(self._tree, length, whole)
            known = steps <= _STEPS_PER_CHARACTER * length
            self._limits[length, whole] = known
        return known

    @functools.cache  # noqa: B019  # as many as the cache of expressions holds
    def _python(self, kind: type) -> Any:
        """The pattern for Python's `re`: for ASCII text as bytes, or for any as str."""
        assert self._tree is not None
        if kind is bytes:
            return re.compile(regex_backtracking.as_python(self._tree, 127).encode())
        return re.compile(regex_backtracking.as_python(self._tree, 0x10FFFF))


@functools.lru_cache(maxsize=256)
def compiled(pattern: bytes) -> RegularExpression:
    """The pattern, compiled; raises `ValueError` that names it where it is invalid."""
    return RegularExpression(pattern)


def _invalid(pattern: bytes, reason: str) -> ValueError:
    shown = pattern if len(pattern) <= 200 else pattern[:200] + b"..."
    return ValueError(
        f"Invalid pattern: {shown.decode('utf-8', 'backslashreplace')}, error: {reason[:300]}. "
        "The syntax is RE2's: without backreferences and lookaround."
    )


def _decoded(text: bytes) -> str:
    """Bytes that are no UTF-8 become surrogates, which no class holds."""
    return text.decode("utf-8", "surrogateescape")


# ---- the engines ---------------------------------------------------------------------------


@functools.cache
def _google() -> Any:
    """The package google-re2, or ``None`` where it is not installed."""
    try:
        import re2
    except ImportError:
        return None
    return re2


def _google_re2(pattern: bytes) -> Any:
    re2 = _google()
    if re2 is None:
        return None
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as e:
        (reason,) = e.args
        if isinstance(reason, bytes):
            reason = reason.decode("utf-8", "backslashreplace")
        raise _invalid(pattern, str(reason)) from e


def _google_search(compiled: Any) -> _Search:
    groups = range(compiled.groups + 1)

    def search(text: bytes, start: int) -> Any:
        found = compiled.search(text, start)
        while found is not None and _inside_character(text, found.start()):
            # RE2 finds the empty match \\B between the bytes of a character too.
            found = compiled.search(text, found.start() + 1)
        return found and [found.span(i) for i in groups]

    return search


def _python_search(compiled: Any) -> _Search:
    def search(text: Any, start: int) -> Any:
        found = compiled.search(text, start)
        return found and found.regs

    return search


# ---- replacing -----------------------------------------------------------------------------


@functools.lru_cache(maxsize=256)
def _rewrite(rewrite: bytes) -> tuple[bytes | int, ...]:
    """What takes a match's place: bytes, and numbers of groups."""
    pieces: list[bytes | int] = []
    first, *escapes = rewrite.split(b"\\")
    literal = first
    position = 0
    while position < len(escapes):
        text = escapes[position]
        if text[:1].isdigit():
            pieces += [literal, int(text[:1])]
            literal = text[1:]
        elif not text and position + 1 < len(escapes):  # two backslashes are one
            position += 1
            literal += b"\\" + escapes[position]
        else:
            escape = b"\\" + text[:1]
            raise ValueError(
                f"Rewrite schema error: {rewrite!r} has the invalid escape {escape!r}: "
                r"write \0 for the match, \1 to \9 for a group, \\ for a backslash."
            )
        position += 1
    return (*pieces, literal)


def _of_kind(pieces: tuple[bytes | int, ...], kind: type) -> tuple[Any, ...]:
    if kind is bytes:
        return pieces
    return tuple(_decoded(p) if isinstance(p, bytes) else p for p in pieces)


@functools.lru_cache(maxsize=256)
def _template(rewrite: bytes, kind: type) -> Any:
    """The rewrite in the language of Python's `re`."""
    parts = (
        b"\\g<%d>" % piece if isinstance(piece, int) else piece.replace(b"\\", b"\\\\")
        for piece in _rewrite(rewrite)
    )
    template = b"".join(parts)
    return template if kind is bytes else _decoded(template)


def _replaced(search: _Search, text: Any, pieces: tuple[Any, ...], every: bool) -> Any:
    """``text`` with what ``search`` finds replaced by ``pieces``."""
    out: list[Any] = []
    copied = start = 0
    last_end = -1
    while start <= len(text):
        spans = search(text, start)
        if not spans:
            break
        begin, end = spans[0]
        if begin == end == last_end:  # an empty match behind another match is none
            start += _character_bytes(text, start)
            continue
        out.append(text[copied:begin])
        for piece in pieces:
            if type(piece) is int:
                first, last = spans[piece]
                out.append(text[first:last] if first >= 0 else text[:0])
            else:
                out.append(piece)
        copied = start = last_end = end
        if not every:
            break
    out.append(text[copied:])
    return text[:0].join(out)


def _character_bytes(text: Any, start: int) -> int:
    """How far the next character reaches; of bytes that are no UTF-8, one."""
    if type(text) is str or start >= len(text) or text[start] < 0xC0:
        return 1
    length = 2 if text[start] < 0xE0 else 3 if text[start] < 0xF0 else 4
    try:
        text[start : start + length].decode()
    except UnicodeDecodeError:
        return 1
    return length


def _inside_character(text: bytes, at: int) -> bool:
    if at >= len(text) or text[at] & 0xC0 != 0x80:
        return False
    return any(at - i >= 0 and _character_bytes(text, at - i) > i for i in (1, 2, 3))

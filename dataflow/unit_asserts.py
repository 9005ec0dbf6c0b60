"""Asserts on texts, containers, structures and processes that TensorFlow's `tf.test.TestCase` has from absl."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import tempfile
import unittest
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any


class TempFile(os.PathLike):  # type: ignore[type-arg]
    """A file of a test: ``full_path`` is its path."""

    def __init__(self, full_path: str) -> None:
        self.full_path = full_path

    def __fspath__(self) -> str:
        return self.full_path

    def read_text(self, encoding: str = "utf8", errors: str = "strict") -> str:
        """Its text."""
        with open(self.full_path, encoding=encoding, errors=errors) as file:
            return file.read()

    def read_bytes(self) -> bytes:
        """Its bytes."""
        with open(self.full_path, "rb") as file:
            return file.read()

    def write_text(
        self, text: str, mode: str = "w", encoding: str = "utf8", errors: str = "strict"
    ) -> None:
        """Writes a text, in place of what it held or (mode ``"a"``) after it."""
        with open(self.full_path, mode, encoding=encoding, errors=errors) as file:
            file.write(text)

    def write_bytes(self, data: bytes, mode: str = "wb") -> None:
        """Writes bytes."""
        with open(self.full_path, mode) as file:
            file.write(data)


class TempDir(os.PathLike):  # type: ignore[type-arg]
    """A folder of a test: ``full_path`` is its path."""

    def __init__(self, full_path: str) -> None:
        self.full_path = full_path

    def __fspath__(self) -> str:
        return self.full_path

    def create_file(
        self,
        file_path: str | None = None,
        content: str | bytes | None = None,
        mode: str = "w",
        encoding: str = "utf8",
        errors: str = "strict",
    ) -> TempFile:
        """A new file in it, with some text or bytes."""
        return make_file(self.full_path, file_path, content, mode, encoding, errors)

    def mkdir(self, dir_path: str | None = None) -> TempDir:
        """A new folder in it."""
        return make_folder(self.full_path, dir_path)


def make_folder(parent: str, name: str | None) -> TempDir:
    """The folder ``name`` of another one, or a new one with a name of its own."""
    path = tempfile.mkdtemp(dir=parent) if name is None else os.path.join(parent, name)
    os.makedirs(path, exist_ok=True)
    return TempDir(path)


def make_file(
    parent: str, name: str | None, content: Any, mode: str, encoding: str, errors: str
) -> TempFile:
    """The file ``name`` of a folder, or a new one with a name of its own, that holds ``content``."""
    if name is None:
        number, path = tempfile.mkstemp(dir=parent)
        os.close(number)
    else:
        path = os.path.join(parent, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
    file = TempFile(path)
    if isinstance(content, bytes):
        file.write_bytes(content, mode if "b" in mode else f"{mode}b")
    else:
        file.write_text(content or "", mode, encoding, errors)
    return file


class UnitAsserts(unittest.TestCase):
    """`unittest.TestCase` with the asserts of absl's; ``msg`` is said where one fails."""

    __test__ = False

    def _failed(self, msg: Any, text: str) -> None:
        self.fail(text if msg is None else f"{text} : {msg}")

    # ---- containers -----------------------------------------------------------------------

    def assertItemsEqual(self, expected_seq: Any, actual_seq: Any, msg: Any = None) -> None:
        """The same items in any order: `assertCountEqual` of Python 3."""
        self.assertCountEqual(expected_seq, actual_seq, msg)

    def assertSameElements(self, expected_seq: Any, actual_seq: Any, msg: Any = None) -> None:
        """The same items in any order, however often each; of what has no hash as often."""
        try:
            self.assertEqual(set(expected_seq), set(actual_seq), msg)
        except TypeError:
            self.assertCountEqual(expected_seq, actual_seq, msg)

    def assertContainsSubset(self, expected_subset: Any, actual_set: Any, msg: Any = None) -> None:
        """All items of the first are in the second."""
        missing = set(expected_subset) - set(actual_set)
        if missing:
            self._failed(msg, f"Missing elements {missing}, expected them in {actual_set!r}")

    def assertNoCommonElements(self, expected_seq: Any, actual_seq: Any, msg: Any = None) -> None:
        """No item is in both."""
        common = set(expected_seq) & set(actual_seq)
        if common:
            self._failed(msg, f"Common elements {common} of {expected_seq!r} and {actual_seq!r}")

    def assertDictContainsSubset(self, subset: Any, dictionary: Any, msg: Any = None) -> None:
        """The second has all keys of the first, with equal values; Python 3.12 has this no more."""
        wrong = {k: v for k, v in subset.items() if k not in dictionary or dictionary[k] != v}
        if wrong:
            self._failed(msg, f"not in the dict, or with another value: {wrong!r}")

    def assertLen(self, container: Any, expected_len: int, msg: Any = None) -> None:
        """A container has so many items."""
        if len(container) != expected_len:
            self._failed(msg, f"{container!r} has length {len(container)}, not {expected_len}.")

    def assertEmpty(self, container: Any, msg: Any = None) -> None:
        """A container has no items."""
        if len(container):
            self._failed(msg, f"{container!r} is not empty.")

    def assertNotEmpty(self, container: Any, msg: Any = None) -> None:
        """A container has items."""
        if not len(container):
            self._failed(msg, f"{container!r} is empty.")

    def assertBetween(self, value: Any, minv: Any, maxv: Any, msg: Any = None) -> None:
        """``minv <= value <= maxv``."""
        if not minv <= value <= maxv:
            self._failed(msg, f"{value!r} is not between {minv!r} and {maxv!r}.")

    def assertTotallyOrdered(self, *groups: Any, **kwargs: Any) -> None:
        """Items of a group are equal, and below those of the groups after it, by all six operators."""
        items = [(rank, item) for rank, group in enumerate(groups) for item in group]
        for rank, a in items:
            for other, b in items:
                found = [a < b, a <= b, a == b, a != b, a >= b, a > b]
                less, equal = rank < other, rank == other
                wanted = [less, less or equal, equal, not equal, not less, not (less or equal)]
                if found != wanted or (equal and hash(a) != hash(b)):
                    self._failed(kwargs.get("msg"), f"{a!r} and {b!r} are not ordered as given")

    # ---- sequences ------------------------------------------------------------------------

    def assertSequenceStartsWith(self, prefix: Any, whole: Any, msg: Any = None) -> None:
        """A sequence begins with the items of another, which has some."""
        prefix = list(prefix)
        if not prefix:
            self._failed(msg, "the prefix is empty: everything would begin with it.")
        if list(whole[: len(prefix)]) != prefix:
            self._failed(msg, f"{whole!r} does not start with {prefix!r}")

    def assertSequenceAlmostEqual(
        self,
        expected_seq: Any,
        actual_seq: Any,
        places: Any = None,
        msg: Any = None,
        delta: Any = None,
    ) -> None:
        """As many numbers, each pair almost equal."""
        if len(expected_seq) != len(actual_seq):
            self._failed(msg, f"of lengths {len(expected_seq)} and {len(actual_seq)}")
        for expected, actual in zip(expected_seq, actual_seq, strict=True):
            self.assertAlmostEqual(expected, actual, places, msg, delta)

    def assertContainsSubsequence(self, container: Any, subsequence: Any, msg: Any = None) -> None:
        """The second's items are in the first in this order, others between them or not."""
        rest = iter(container)
        for item in subsequence:
            if item not in rest:
                self._failed(
                    msg, f"{subsequence!r} is not a subsequence of {container!r}: {item!r}"
                )

    def assertContainsExactSubsequence(
        self, container: Any, subsequence: Any, msg: Any = None
    ) -> None:
        """The second's items are in the first one after another."""
        whole, part = list(container), list(subsequence)
        starts = range(len(whole) - len(part) + 1)
        if not any(whole[i : i + len(part)] == part for i in starts):
            self._failed(msg, f"{subsequence!r} is not in {container!r} without gaps")

    # ---- texts ----------------------------------------------------------------------------

    def assertStartsWith(self, actual: Any, expected_start: Any, msg: Any = None) -> None:
        """A text begins with another."""
        if not actual.startswith(expected_start):
            self._failed(msg, f"{actual!r} does not start with {expected_start!r}")

    def assertNotStartsWith(self, actual: Any, unexpected_start: Any, msg: Any = None) -> None:
        """A text does not begin with another."""
        if actual.startswith(unexpected_start):
            self._failed(msg, f"{actual!r} does start with {unexpected_start!r}")

    def assertEndsWith(self, actual: Any, expected_end: Any, msg: Any = None) -> None:
        """A text ends with another."""
        if not actual.endswith(expected_end):
            self._failed(msg, f"{actual!r} does not end with {expected_end!r}")

    def assertNotEndsWith(self, actual: Any, unexpected_end: Any, msg: Any = None) -> None:
        """A text does not end with another."""
        if actual.endswith(unexpected_end):
            self._failed(msg, f"{actual!r} does end with {unexpected_end!r}")

    def assertContainsInOrder(self, strings: Any, target: str, msg: Any = None) -> None:
        """Texts are in another one, one after the other."""
        position = 0
        for text in [strings] if isinstance(strings, str) else strings:
            found = target.find(text, position)
            if found < 0:
                self._failed(msg, f"Did not find {text!r} from character {position} in {target!r}")
            position = found + len(text)

    def assertRegexMatch(self, actual_str: Any, regexes: Any, message: Any = None) -> None:
        """One of the patterns, or the only one, is found in a text."""
        if isinstance(regexes, (str, bytes)):
            self.fail("regexes is one pattern: give a list of them.")
        if not any(re.search(pattern, actual_str) for pattern in regexes):
            self._failed(message, f"{actual_str!r} contains none of {list(regexes)!r}")

    def assertUrlEqual(self, a: str, b: str, msg: Any = None) -> None:
        """Two URLs mean the same: their parameters may come in another order."""
        first, second = urllib.parse.urlparse(a), urllib.parse.urlparse(b)
        self.assertEqual(first[:3] + first[5:], second[:3] + second[5:], msg)
        self.assertEqual(sorted(first.params.split(";")), sorted(second.params.split(";")), msg)
        queries = [urllib.parse.parse_qs(url.query, True) for url in (first, second)]
        self.assertEqual(queries[0], queries[1], msg)

    def assertJsonEqual(self, first: str, second: str, msg: Any = None) -> None:
        """Two texts hold the same in JSON; `ValueError` where one is no JSON."""
        self.assertSameStructure(json.loads(first), json.loads(second), "first", "second", msg)

    # ---- structures -----------------------------------------------------------------------

    def assertSameStructure(
        self, a: Any, b: Any, aname: str = "a", bname: str = "b", msg: Any = None
    ) -> None:
        """Dicts and lists in each other are equal; says at which places they are not."""
        problems = list(_differences(a, b, aname, bname))
        if problems:
            self._failed(msg, "; ".join(problems[:20]))

    # ---- errors and processes -------------------------------------------------------------

    def assertRaisesWithLiteralMatch(
        self,
        expected_exception: Any,
        expected_exception_message: str,
        callable_obj: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """The call, or the block, raises with exactly this text."""
        block = self._raises_literally(expected_exception, expected_exception_message)
        if callable_obj is None:
            return block
        with block:
            callable_obj(*args, **kwargs)
        return None

    @contextlib.contextmanager
    def _raises_literally(self, kind: Any, text: str) -> Iterator[None]:
        with self.assertRaises(kind) as caught:
            yield
        self.assertEqual(str(caught.exception), text)

    def assertCommandSucceeds(
        self,
        command: Any,
        regexes: Any = (b"",),
        env: Any = None,
        close_fds: bool = True,
        msg: Any = None,
    ) -> None:
        """A command (a list of words, or a line for the shell) ends well, and prints what a pattern finds."""
        status, output = _output_of(command, env, close_fds)
        if status:
            self._failed(msg, f"{command!r} ended with status {status}: {output!r}")
        self.assertRegexMatch(output, [_as_bytes(r) for r in regexes], msg)

    def assertCommandFails(
        self, command: Any, regexes: Any, env: Any = None, close_fds: bool = True, msg: Any = None
    ) -> None:
        """A command ends with another status than 0, and prints what a pattern finds."""
        status, output = _output_of(command, env, close_fds)
        if not status:
            self._failed(msg, f"{command!r} was to fail, and ended well: {output!r}")
        self.assertRegexMatch(output, [_as_bytes(r) for r in regexes], msg)


def _as_bytes(pattern: Any) -> bytes:
    return pattern.encode() if isinstance(pattern, str) else pattern


def _output_of(command: Any, env: Any, close_fds: bool) -> tuple[int, bytes]:
    """The status of a command, and what it printed, errors included."""
    done = subprocess.run(
        command,
        shell=isinstance(command, str),
        env=env,
        close_fds=close_fds,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.returncode, done.stdout


def _differences(a: Any, b: Any, aname: str, bname: str) -> Iterator[str]:
    """Where two structures differ, in words."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in [k for k in a if k not in b]:
            yield f"{aname} has [{key!r}] with value {a[key]!r} but it's missing in {bname}"
        for key in [k for k in b if k not in a]:
            yield f"{aname} is missing [{key!r}] with value {b[key]!r}, which {bname} has"
        for key in [k for k in a if k in b]:
            yield from _differences(a[key], b[key], f"{aname}[{key!r}]", f"{bname}[{key!r}]")
    elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        if len(a) != len(b):
            yield f"{aname} has {len(a)} items, {bname} {len(b)}"
        for i, (x, y) in enumerate(zip(a, b, strict=False)):
            yield from _differences(x, y, f"{aname}[{i}]", f"{bname}[{i}]")
    elif a != b:
        yield f"{aname} is {a!r} but {bname} is {b!r}"

"""A pytest plugin that tests one mutant after the other, each in a fork of one process.

The process imports the engine and collects the tests once, which takes longer than most mutants' tests.
Then each line on `REQUESTS` names a mutant and its tests: a fork changes the code of the functions
that differ and runs the tests until one fails. The answer is that test, "" when all pass, `NOT_IN_PLACE` where the
change is not inside a function (a default value, a decorator, a constant of the module). `tools/mutate.py` starts it.
"""

from __future__ import annotations

import gc
import json
import math
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NoReturn

import pytest

REQUESTS = "DATAFLOW_MUTANTS"  # the environment variable that holds two file descriptors
NOT_IN_PLACE = "not in place"


def change_functions(path: Path, original: str, code: str) -> bool:
    """Give the functions of an imported module the code of a changed source; False when none was changed.

    A module that is not imported yet needs nothing: it will be read from the changed file.
    """
    if not any(
        getattr(module, "__file__", None) == str(path) for module in [*sys.modules.values()]
    ):
        return True
    old = compile(original, str(path), "exec", dont_inherit=True)
    new = compile(code, str(path), "exec", dont_inherit=True)
    if _done_at_import(old) != _done_at_import(new):
        return False
    changed = {_place(before): after for before, after in _changed_functions(old, new, False)}
    found = [
        function
        for function in gc.get_objects()
        if isinstance(function, FunctionType)
        and function.__globals__.get("__file__") == str(path)
        and _place(function.__code__) in changed
    ]
    for function in found:
        function.__code__ = changed[_place(function.__code__)]
    return bool(found) or original == code


def _done_at_import(code: CodeType) -> list[Any]:
    """The code of a module and of its classes, without that of functions."""
    inner = [c for c in _codes_in(code) if not c.co_flags & 0x2]  # CO_NEWLOCALS
    values = [repr(value) for value in code.co_consts if not isinstance(value, CodeType)]
    return [code.co_code, code.co_names, values, *map(_done_at_import, inner)]


def _place(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _changed_functions(
    old: CodeType, new: CodeType, in_function: bool
) -> Iterator[tuple[CodeType, CodeType]]:
    """Functions that differ, those inside of functions too: some of these were made at import."""
    if in_function and old != new and old.co_freevars == new.co_freevars:
        yield old, new
    pairs = zip(_codes_in(old), _codes_in(new), strict=False)
    for inner_old, inner_new in pairs:
        is_function = bool(inner_old.co_flags & 0x2)  # CO_NEWLOCALS
        yield from _changed_functions(inner_old, inner_new, in_function or is_function)


def _codes_in(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """Answer requests until the other side closes; the tests' own loop does not run."""
    requests, answers = (int(number) for number in os.environ[REQUESTS].split(","))
    items = {item.nodeid: item for item in session.items}
    with open(requests) as lines:
        for line in lines:
            request = json.loads(line)
            answer = _in_fork(request, items)
            os.write(answers, (json.dumps(answer) + "\n").encode())
    return True


def _in_fork(request: dict[str, Any], items: dict[str, pytest.Item]) -> str:
    """Test a mutant in a process of its own; return the test that failed, or ""."""
    path = Path(request["path"])
    original, times = path.read_text(), path.stat()
    receiving, sending = os.pipe()
    # For modules that are imported later, and for programs that tests start.
    path.write_text(request["code"])
    try:
        child = os.fork()
        if not child:
            os.close(receiving)
            _run_and_end(request, original, items, sending)
        os.close(sending)
        try:
            return _read(receiving, request["limit"])
        finally:
            os.close(receiving)
            try:
                os.killpg(child, signal.SIGKILL)
            except ProcessLookupError:  # it had no time to become a group of its own
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    finally:
        path.write_text(original)
        # Its time again, or what is compiled of it would count as stale.
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def _run_and_end(
    request: dict[str, Any], original: str, items: dict[str, pytest.Item], answers: int
) -> NoReturn:
    os.setsid()  # with what the tests start, which ends with it
    try:
        answer = _first_failure(request, original, items)
    except BaseException as error:
        answer = f"{type(error).__name__}: {error}"
    os.write(answers, answer.encode()[:300] + b".")
    os._exit(0)


def _read(pipe: int, limit: float) -> str:
    """One answer, which one `write` sent, and a dot behind it."""
    if not select.select([pipe], [], [], limit)[0]:
        return f"time limit ({limit:.0f} s)"
    received = os.read(pipe, 4096).decode()
    return received[:-1] if received else "the process ended"


class _Failures:
    def __init__(self) -> None:
        self.first = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.first:
            self.first = f"{report.when} {report.nodeid}"


def _first_failure(request: dict[str, Any], original: str, items: dict[str, pytest.Item]) -> str:
    if not change_functions(Path(request["path"]), original, request["code"]):
        return NOT_IN_PLACE
    # Tests that were measured may have gone or been renamed since.
    chosen = [items[test] for test in request["tests"] if test in items]
    functions = set(request["more"])
    others = [
        item
        for test, item in items.items()
        if test.partition("[")[0] in functions and item not in set(chosen)
    ]
    until = time.monotonic() + request["limit"] / 2
    return _run(chosen) or _run(others, until)


def _run(chosen: list[pytest.Item], until: float = math.inf) -> str:
    failures = _Failures()
    for item, following in zip(chosen, [*chosen[1:], None][: len(chosen)], strict=True):
        if failures.first or time.monotonic() > until:
            break
        item.config.pluginmanager.register(failures)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        item.config.pluginmanager.unregister(failures)
    return failures.first

"""Changing the functions of an imported module to those of a changed source."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tools.mutant_forks import _first_failure, change_functions

SOURCE = """
import functools

LIMIT = 3

def made(factor):
    def inner(x):
        return x * factor + 1
    return inner

twice = made(2)

def plain(x, more=10):
    return x + more

@functools.wraps(plain)
def wrapped(x):
    return plain(x) - 1

class Thing:
    @property
    def size(self):
        return 3

    def method(self, x):
        return x - LIMIT
"""


@pytest.fixture
def module(tmp_path: Path) -> Iterator[ModuleType]:
    path = tmp_path / "module_of_mutants.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("module_of_mutants", path)
    assert spec and spec.loader
    module = sys.modules["module_of_mutants"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["module_of_mutants"]


def change(module: ModuleType, before: str, after: str) -> bool:
    assert module.__file__
    return change_functions(Path(module.__file__), SOURCE, SOURCE.replace(before, after))


def test_functions_of_every_kind_are_changed_where_they_are(module: ModuleType) -> None:
    thing, plain, twice = module.Thing(), module.plain, module.twice
    assert (thing.method(5), plain(1), twice(3), module.wrapped(1)) == (2, 11, 7, 10)
    for before, after in (
        ("x - LIMIT", "x + LIMIT"),
        ("x + more", "x * more"),
        ("factor + 1", "factor + 2"),
        ("plain(x) - 1", "plain(x) - 2"),
    ):
        assert change(module, before, after)
    assert (thing.method(5), plain(1), twice(3), module.wrapped(1)) == (8, 10, 8, 8)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ("more=10", "more=11"),
        ("made(2)", "made(3)"),
        ("    @property\n", "\n"),
    ],
)
def test_what_is_done_when_a_module_is_imported_cannot_be_changed(
    module: ModuleType, before: str, after: str
) -> None:
    assert not change(module, before, after)
    thing = module.Thing()
    assert (thing.method(5), thing.size, module.plain(1), module.twice(3)) == (2, 3, 11, 7)


def test_the_same_source_and_a_module_that_is_not_imported_need_no_change(
    module: ModuleType, tmp_path: Path
) -> None:
    assert change(module, "x", "x")
    assert change_functions(tmp_path / "another.py", SOURCE, SOURCE.replace("3", "4"))


def test_a_test_that_is_gone_since_it_was_measured_is_no_failure(tmp_path: Path) -> None:
    request = {"path": str(tmp_path / "never_imported.py"), "code": "", "limit": 1.0}
    assert _first_failure(request | {"tests": ["gone"], "more": ["gone"]}, "", {}) == ""

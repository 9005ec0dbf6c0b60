"""A printed program in a cell: what is filled in, what is shown, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from dataflow.course.listing import filled, load_ipython_extension, run_listing


@pytest.fixture
def shell() -> Any:
    shell = InteractiveShell.instance()
    load_ipython_extension(shell)
    shell.user_ns.pop("y", None)
    yield shell
    InteractiveShell.clear_instance()


def test_a_fill_takes_the_indentation_of_its_line() -> None:
    program, notes = filled("def f():\n    # ...\n    return x\n", {"# ...": "x = 1\nx += 1"})
    assert program == "def f():\n    x = 1\n    x += 1\n    return x\n"
    assert notes == ["  printed # ...\n  runs    x = 1\n          x += 1"]


def test_each_place_is_filled() -> None:
    assert filled("a(feed=1)\nb(feed=2)", {"feed=": "fed="})[0] == "a(fed=1)\nb(fed=2)"


def test_a_fill_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match=r"has no 'y = \.\.\.'"):
        filled("x = ...", {"y = ...": "y = 1"})


def test_the_last_value_is_given_back_and_changes_are_told(capsys: Any) -> None:
    names: dict[str, Any] = {}
    assert run_listing("x = ...\nx + 1", names, {"...": "41"}) == 42
    assert names["x"] == 41
    assert "printed ...\n  runs    41" in capsys.readouterr().out
    assert run_listing("x = 1", names) is None and names["x"] == 1
    assert capsys.readouterr().out == ""


def test_python_2_is_translated(capsys: Any) -> None:
    run_listing("for i in xrange(2):\n    print i, 'x'\n", {}, python2=True)
    said = capsys.readouterr().out
    assert "Python 2" in said and said.endswith("0 x\n1 x\n")


def test_what_the_program_raises_names_its_line() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        run_listing("x = 1\nx / 0\n", {})
    assert caught.traceback[-1].lineno == 1
    assert str(caught.traceback[-1].statement) == "x / 0"
    with pytest.raises(SyntaxError):
        run_listing("x = = 1", {})


def test_the_magic_runs_in_the_notebook(shell: Any, tmp_path: Path) -> None:
    shell.user_ns.update(fills={"...": "20"}, program=tmp_path / "program.py")
    shell.run_cell_magic("listing", "fills", "y = ...\n")
    assert shell.user_ns["y"] == 20
    shell.run_cell_magic("listing", "fills --python2 --to program", "print ...\n")
    assert (tmp_path / "program.py").read_text() == "print(20)\n"


@pytest.mark.parametrize("line", ["nothing_of_this_name", "y", "--python3", "--to nowhere"])
def test_a_wrong_line_of_the_magic_says_what_is_needed(shell: Any, line: str) -> None:
    shell.user_ns["y"] = 3
    with pytest.raises(ValueError, match=r"needed %%listing \[FILLS\]"):
        shell.run_cell_magic("listing", line, "x = 1")

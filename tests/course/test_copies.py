"""A learner's copy of the lessons gets corrections, and loses nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dataflow.course.attempts import MIME, of_notebook
from dataflow.course.copies import AUTHORS_FILES, BASE, merge, refresh


def cell(name: str, source: str | None = None, **more: Any) -> dict[str, Any]:
    text = name if source is None else source
    return {"cell_type": "code", "id": name, "metadata": {}, "source": text, **more}


def book(*cells: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}


def sources(notebook: dict[str, Any]) -> list[str]:
    return [c["source"] for c in notebook["cells"]]


ATTEMPT = [
    {"data": {MIME: {"exercise": "lesson01.ex1", "attempts": [{"right": True, "words": "x"}]}}}
]


def test_a_corrected_cell_keeps_its_outputs_and_the_rest_stays() -> None:
    base = book(cell("a"), cell("b"), cell("c"))
    mine = book(cell("a", outputs=ATTEMPT, execution_count=3), cell("b", "my answer"), cell("c"))
    merged, num_both = merge(base, mine, book(cell("a", "A"), cell("b"), cell("c", ["C", "C"])))
    assert sources(merged) == ["A", "my answer", ["C", "C"]]
    assert merged["cells"][0]["execution_count"] == 3 and num_both == 0
    assert of_notebook(merged)["lesson01.ex1"][0]["right"]


def test_what_both_changed_is_there_twice_and_told_once() -> None:
    base, mine = book(cell("a"), cell("b")), book(cell("a", "mine"), cell("b"))
    course = book(cell("a", "x = ```1```"), cell("b"))
    merged, num_both = merge(base, mine, course)
    assert num_both == 1 and sources(merged)[0::2] == ["mine", "b"]
    assert merged["cells"][1]["cell_type"] == "markdown"
    assert "````python\nx = ```1```\n````" in sources(merged)[1]
    assert merge(base, merged, course) == (
        merged,
        0,
    )  # as after a crash before the base was written
    assert merge(course, merged, course) == (merged, 0)


def test_the_same_change_on_both_sides_is_none() -> None:
    mine = book(cell("a", "A"))
    assert merge(book(cell("a")), mine, book(cell("a", "A"))) == (mine, 0)


def test_cells_of_the_learner_stay_where_they_were() -> None:
    base = book(cell("a"), cell("b"))
    mine = book(cell("mine0"), cell("a"), cell("mine1"), cell("mine2"), cell("b"), cell("mine3"))
    merged, _ = merge(base, mine, book(cell("a", "A"), cell("new"), cell("b")))
    assert sources(merged) == ["mine0", "A", "mine1", "mine2", "new", "b", "mine3"]


def test_what_the_course_took_away_goes_unless_it_holds_work() -> None:
    base = book(cell("a"), cell("b"), cell("c"), cell("d"))
    mine = book(cell("a"), cell("b", "mine"), cell("c", outputs=ATTEMPT), cell("d"))
    merged, _ = merge(base, mine, book(cell("a")))
    assert sources(merged) == ["a", "mine", "c"]


def test_what_the_learner_deleted_comes_back_only_when_it_was_corrected() -> None:
    base = book(cell("a"), cell("b"), cell("c"))
    merged, _ = merge(base, book(cell("a")), book(cell("a"), cell("b"), cell("c", "C")))
    assert sources(merged) == ["a", "C"]


def test_widgets_states_of_the_learner_stay() -> None:
    mine = book(cell("a"), metadata={"widgets": {"state": 1}})
    merged, _ = merge(book(cell("a")), mine, book(cell("a", "A")))
    assert merged["metadata"] == {"widgets": {"state": 1}}


def test_cells_without_ids_are_not_guessed_at() -> None:
    with pytest.raises(ValueError, match="ids"):
        merge(book(cell("a")), book(cell("a"), cell("a")), book(cell("a")))


def _write(path: Path, notebook: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook))


def test_a_folder_is_copied_corrected_and_begun_again(tmp_path: Path) -> None:
    course, copy = tmp_path / "lessons", tmp_path / "mine"
    _write(course / "01.ipynb", book(cell("a"), cell("b")))
    _write(course / "02.ipynb", book(cell("a")))
    (course / "images").mkdir()
    (course / "images" / "x.svg").write_text("old")
    assert len(refresh(course, copy).copied) == 3
    _write(copy / "01.ipynb", book(cell("a"), cell("b", "mine")))
    _write(course / "01.ipynb", book(cell("a", "A"), cell("b")))
    (course / "images" / "x.svg").write_text("new")
    (copy / "02.ipynb").unlink()
    done = refresh(course, copy)
    assert done.corrected == [Path("01.ipynb"), Path("images/x.svg")]
    assert done.copied == [Path("02.ipynb")] and not done.kept and not done.both
    assert sources(json.loads((copy / "01.ipynb").read_text())) == ["A", "mine"]
    assert (copy / "images" / "x.svg").read_text() == "new"
    again = refresh(course, copy)
    assert not (again.copied or again.corrected or again.kept or again.both)


def test_a_damaged_notebook_is_left_alone_and_merged_when_it_is_mended(tmp_path: Path) -> None:
    course, copy = tmp_path / "lessons", tmp_path / "mine"
    _write(course / "01.ipynb", book(cell("a"), cell("b")))
    refresh(course, copy)
    (copy / "01.ipynb").write_text('{"cells": [')
    _write(course / "01.ipynb", book(cell("a", "A"), cell("b")))
    assert refresh(course, copy).kept == [Path("01.ipynb")]
    assert (copy / "01.ipynb").read_text() == '{"cells": ['
    _write(copy / "01.ipynb", book(cell("a"), cell("b", "mine")))
    assert refresh(course, copy).corrected == [Path("01.ipynb")]
    assert sources(json.loads((copy / "01.ipynb").read_text())) == ["A", "mine"]


def test_a_copy_of_before_is_kept_and_corrected_from_now_on(tmp_path: Path) -> None:
    course, copy = tmp_path / "lessons", tmp_path / "mine"
    _write(course / "01.ipynb", book(cell("a"), cell("b")))
    _write(copy / "01.ipynb", book(cell("a"), cell("b", "mine")))
    assert refresh(course, copy).kept == [Path("01.ipynb")]
    assert (copy / BASE / "01.ipynb").is_file()
    _write(course / "01.ipynb", book(cell("a", "A"), cell("b")))
    assert refresh(course, copy).corrected == [Path("01.ipynb")]


def test_what_authors_need_is_not_copied(tmp_path: Path) -> None:
    course = Path(__file__).resolve().parents[2] / "lessons"
    assert all((course / name).is_file() for name in AUTHORS_FILES)
    source = tmp_path / "source"
    for name in [*AUTHORS_FILES, "README.md", "cluster/plans.toml"]:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(name)
    done = refresh(source, tmp_path / "mine")
    assert done.copied == [Path("README.md"), Path("cluster/plans.toml")]

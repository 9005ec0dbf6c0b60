"""What a class keeps: on the disk, once, and again after a new start."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from dataflow.course.classroom import limits
from dataflow.course.classroom.identity import code_as_typed
from dataflow.course.classroom.messages import Answer, read_answers
from dataflow.course.classroom.questions import Catalog, read_catalog
from dataflow.course.classroom.refusal import Refusal
from dataflow.course.classroom.store import Store
from tests.course.classroom.a_class import answer, key, lessons


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return read_catalog(lessons(tmp_path / "lessons"))


def read(catalog: Catalog, *answers: dict[str, Any]) -> list[Answer]:
    good, refused = read_answers({"answers": list(answers)}, catalog)
    assert refused == []
    return good


def test_a_new_start_finds_everything(tmp_path: Path, catalog: Catalog) -> None:
    first = Store(tmp_path / "class")
    ada = first.join(key(1), "Ada")
    first.record([(ada, read(catalog, answer(), answer("lesson01.ex1", "exercise-1")))])
    first.hand_in(ada, "01.ipynb", b"{}")
    # Not closed: a process that is killed closes nothing.
    second = Store(tmp_path / "class")
    assert (second.code, second.teacher) == (first.code, first.teacher)
    assert second.learner_of(key(1)) == ada
    assert [(a.task, a.right, a.given) for a in second.answers()] == [
        ("lesson01.q1", True, ["five"]),
        ("lesson01.ex1", True, None),
    ]
    assert [n.body for n in second.notebooks()] == [b"{}"]
    first.close()
    second.close()


def test_an_answer_counts_once_however_often_it_is_sent(tmp_path: Path, catalog: Catalog) -> None:
    store = Store(tmp_path)
    ada, bob = store.join(key(1), "Ada"), store.join(key(2), "Bob")
    answers = read(catalog, answer())
    assert store.record([(ada, answers), (ada, answers), (bob, answers)]) == [1, 0, 1]
    assert store.record([(ada, answers)]) == [0]
    assert store.num_answered() == {"lesson01.q1": 2}
    store.close()


def test_joining_again_is_the_same_learner(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.join(key(1), "Ada") == store.join(key(1), "") == store.join(key(1), "Ada L.")
    store.join(key(2), "Ada L.")
    store.join(key(3), "")
    assert [learner.label for learner in store.learners().values()] == [
        "Ada L.",
        "Ada L. (2)",
        "learner 3",
    ]
    assert store.learner_of(key(4)) is None
    store.close()


def test_tokens_of_learners_are_not_in_the_file(tmp_path: Path) -> None:
    store = Store(tmp_path / "class")
    store.join(key(123456789), "Ada")
    store.close()
    kept = b"".join(path.read_bytes() for path in (tmp_path / "class").iterdir())
    assert b"Ada" in kept
    assert key(123456789).encode() not in kept


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_only_its_owner_reads_it(tmp_path: Path) -> None:
    store = Store(tmp_path / "class")
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700
    store.close()


def test_the_newest_version_of_a_notebook_counts_and_they_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dataflow.course.classroom.store.MAX_NOTEBOOK_VERSIONS", 3)
    store = Store(tmp_path)
    ada = store.join(key(1), "Ada")
    for body in (b"1", b"2", b"1"):
        store.hand_in(ada, "a.ipynb", body)
    assert [(n.file, n.body) for n in store.notebooks()] == [("a.ipynb", b"1")]
    store.hand_in(ada, "b.ipynb", b"1")
    with pytest.raises(Refusal, match="At most 3"):
        store.hand_in(ada, "c.ipynb", b"1")
    store.hand_in(ada, "b.ipynb", b"1")  # the same again is no other version
    assert store.num_notebooks() == 2
    store.close()


def test_the_teachers_form_of_a_question_counts_then_that_of_most(
    tmp_path: Path, catalog: Catalog
) -> None:
    store = Store(tmp_path)
    forged = {"form": "value", "text": "forged"}
    other = {"form": "value", "text": "as most have it"}
    for number, question in enumerate([forged, other, other]):
        learner = store.join(key(number), "")
        sent = answer("lesson01.q2", f"answer-{number:04}", question=question, given="1")
        store.record([(learner, read(catalog, sent))])
    kept = store.question("lesson01.q2")
    assert kept is not None and kept[0]["text"] == "as most have it"
    told = {"explanation": "b", "solution": []}
    store.keep_questions([("lesson01.q2", {"form": "value", "text": "the teacher's"}, told)])
    kept = store.question("lesson01.q2")
    assert kept is not None and (kept[0]["text"], kept[2]) == ("the teacher's", told)
    store.close()


def test_a_class_can_be_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dataflow.course.classroom.store.MAX_LEARNERS", 1)
    store = Store(tmp_path)
    store.join(key(1), "")
    store.join(key(1), "again")
    with pytest.raises(Refusal, match="full"):
        store.join(key(2), "")
    store.close()


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "class.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(ValueError, match=r"class\.sqlite is not a class's file"):
        Store(tmp_path)


def test_a_code_is_easily_typed(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert len(store.code) == 6
    assert not set(store.code) & set("0O1IL5S2Z8BUVAE")
    assert code_as_typed(f" {store.code[:3].lower()}-{store.code[3:]} ") == store.code
    store.close()


def test_a_pace_allows_a_burst_and_then_so_many_a_second() -> None:
    now = [0.0]
    pace = limits.Pace(2, 3, clock=lambda: now[0])
    for _ in range(3):
        pace.take("ada")
    with pytest.raises(Refusal, match="try again in 1 s") as refused:
        pace.take("ada")
    assert refused.value.status == 429
    pace.take("bob")
    now[0] = 0.5
    pace.take("ada")

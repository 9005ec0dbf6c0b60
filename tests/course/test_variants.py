"""Variants by seed: what they draw, the copies for a class, and what the report makes of them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import nbformat
import pytest

import dataflow.course
from dataflow.cli import main
from dataflow.course import attempts, check, report, variants
from dataflow.course.attempts import MIME, read_notebook
from dataflow.course.variants import copies
from tests.lessons.notebooks import LESSONS, by_role, read


@pytest.fixture(autouse=True)
def shipped():
    """Afterwards this process asks the shipped text again."""
    attempts.forget()
    yield
    variants.use(0)
    attempts.forget()


@pytest.fixture
def lessons(tmp_path: Path) -> Path:
    folder = tmp_path / "lessons"
    (folder / "images").mkdir(parents=True)
    (folder / "images" / "a.svg").write_text("<svg/>")
    for path in LESSONS[1:3]:
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


def test_seed_0_is_the_shipped_text_and_others_have_none_of_its_numbers() -> None:
    assert vars(variants.drawn("lesson01.ex3", 0)) == {"rows": 5, "inner": 3, "columns": 7}
    many = [vars(variants.drawn("lesson01.ex3", seed)) for seed in range(1, 60)]
    assert {"rows": 5, "inner": 3, "columns": 7} not in many
    assert len({json.dumps(each) for each in many}) == 3, "every other row is drawn"
    assert vars(variants.drawn("lesson01.q1", 7)) == {}, "nothing varies there"


def test_choices_are_shuffled_by_seed() -> None:
    from dataflow_widgets import predict

    def options(seed: int) -> list[str]:
        dataflow.course.variant(seed)
        asked = predict.choice("Which?", ["a", "b", "c", "d"], answer=2, name="lesson01.q2")
        assert asked.answer(["c"]).startswith("Right")
        asked.again()
        return asked.question["groups"][0]["options"]

    assert options(0) == ["a", "b", "c", "d"]
    seen = {tuple(options(seed)) for seed in range(1, 20)}
    assert all(sorted(each) == ["a", "b", "c", "d"] for each in seen)
    assert len(seen) > 5
    assert options(3) == options(3)


def test_a_check_grades_by_the_variant_and_keeps_its_seed() -> None:
    import dataflow as tf

    variants.use(4)
    v = variants.drawn("lesson01.ex4")
    assert v.elements != 24
    wrong = check.lesson01.ex4(tf.zeros([2, 3, 4], tf.int32))
    assert wrong.state == "wrong"
    assert f"needed {v.elements}" in wrong.words
    assert str(v.elements) in wrong.hint
    right = check.lesson01.ex4(tf.zeros([int(n) for n in v.shape.split(", ")], tf.int32))
    assert right.state == "right"
    assert [a["variant"] for a in right.attempts] == [4, 4]


@pytest.mark.parametrize("seed", [-1, 1.5, "3", True, 10**9, None])
def test_what_is_no_seed_is_refused(seed) -> None:
    with pytest.raises(ValueError, match="a whole number from 0"):
        dataflow.course.variant(seed)
    assert variants.current() == 0


def test_a_copy_for_a_student(lessons: Path, tmp_path: Path, capsys) -> None:
    to = tmp_path / "students"
    assert main(["course", "variants", str(lessons), str(to), "--seed", "5"]) == 0
    assert "2 notebooks of the variant 5" in capsys.readouterr().out
    assert (to / "images" / "a.svg").exists()
    for path in LESSONS[1:3]:
        copy = read(to / path.name)
        nbformat.validate(copy)
        assert copy.metadata["dataflow"] == {"variant": 5}
        assert by_role(copy, "solution") == {}
        assert sum("variant(5)" in c.source for c in copy.cells) == 1
        assert [c.id for c in copy.cells] != []
        shipped = {c.id: c.source for c in read(path).cells}
        assert sum(shipped[c.id] != c.source for c in copy.cells) >= 3


def test_a_teachers_copy_has_the_solutions_of_the_variant(lessons: Path, tmp_path: Path) -> None:
    to = tmp_path / "teacher"
    assert main(["course", "variants", str(lessons), str(to), "--seed", "5", "--solutions"]) == 0
    solution = by_role(read(to / LESSONS[1].name), "solution")["ex4"].source
    assert f"tf.zeros([{variants.drawn('lesson01.ex4', 5).shape}]" in solution


@pytest.mark.parametrize(
    "listed",
    [
        "name,mail\nAda,a@x\nGrace H.,g@x\n",
        "Ada\nGrace H.\n",
        "mail;Name\na@x;Ada\ng@x;Grace H.\n\n",
    ],
    ids=["column", "lines", "semicolons"],
)
def test_a_class_list(lessons: Path, tmp_path: Path, listed: str) -> None:
    (tmp_path / "names.csv").write_text(listed, encoding="utf-8-sig")
    to = tmp_path / "class"
    given = ["--learners", str(tmp_path / "names.csv")]
    assert main(["course", "variants", str(lessons), str(to), *given]) == 0
    with open(to / "variants.csv", encoding="utf-8") as file:
        seeds = {row["learner"]: int(row["seed"]) for row in csv.DictReader(file)}
    assert seeds == {"Ada": variants.seed_of("Ada"), "Grace H.": variants.seed_of("Grace H.")}
    ada, grace = (read(to / name / LESSONS[1].name) for name in ("Ada", "Grace H"))
    assert ada.metadata["dataflow"] == {"variant": seeds["Ada"]}
    assert [c.source for c in ada.cells] != [c.source for c in grace.cells]


def test_next_years_class_has_other_variants() -> None:
    assert variants.seed_of("Ada", 2027) != variants.seed_of("Ada", 2026)
    assert variants.seed_of(" ada ") == variants.seed_of("Ada")


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        ("Ada\nAda\n", "stands twice"),
        ("a/b\na?b\n", "cannot be told from"),
        ("\n\n", "has 0 names"),
        ("x\n" * 2001, "has 2001 names"),
    ],
)
def test_a_bad_class_list_leaves_nothing(
    lessons: Path, tmp_path: Path, capsys, listed: str, words: str
) -> None:
    (tmp_path / "names.csv").write_text(listed)
    to = tmp_path / "class"
    given = ["--learners", str(tmp_path / "names.csv")]
    assert main(["course", "variants", str(lessons), str(to), *given]) == 2
    assert words in capsys.readouterr().err
    assert not to.exists()


def test_names_stay_in_their_folder(lessons: Path, tmp_path: Path) -> None:
    made = copies.write_variants(lessons, tmp_path / "class", ["../../evil", ".hidden", "=1+1"])
    assert list(made) == ["../../evil", ".hidden", "=1+1"]
    assert {p.name for p in (tmp_path / "class").iterdir()} == {
        *("_.._evil", "hidden", "=1+1", "variants.csv")
    }
    assert not (tmp_path / "evil").exists()
    assert "'=1+1," in (tmp_path / "class" / "variants.csv").read_text()


def test_an_edited_lesson_is_named_and_nothing_is_left(lessons: Path, tmp_path: Path, capsys):
    path = lessons / LESSONS[1].name
    path.write_text(path.read_text().replace("that has 24 elements", "that has two dozen elements"))
    to = tmp_path / "students"
    assert main(["course", "variants", str(lessons), str(to)]) == 2
    told = capsys.readouterr().err
    assert "cell-22" in told
    assert "that has 24 elements" in told
    assert not to.exists()


def test_solutions_are_for_one_variant(lessons: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        main(["course", "variants", str(lessons), "to", "--learners", "x.csv", "--solutions"])


# ---- the report ----------------------------------------------------------------------------------


def answered(seed: int, given: list[tuple[str, str, int]]) -> dict:
    """Lesson 1 in a variant, saved after wrong answers: exercise, words, and the seed they were made in."""
    notebook = copies.as_variant(read_notebook(LESSONS[1]), seed)
    for exercise, words, made_in in given:
        attempt = {"right": False, "words": words} | ({"variant": made_in} if made_in else {})
        record = {"exercise": f"lesson01.{exercise}", "attempts": [attempt]}
        (cell,) = [c for c in notebook["cells"] if c["id"] == f"check-{exercise}"]
        data = {MIME: record, "text/plain": ""}
        cell["outputs"] = [{"output_type": "display_data", "data": data, "metadata": {}}]
    return notebook


def write_class(folder: Path, works: dict[str, dict]) -> None:
    for name, notebook in works.items():
        (folder / name).mkdir(parents=True)
        (folder / name / LESSONS[1].name).write_text(json.dumps(notebook))


def test_the_same_mistake_in_different_variants_counts_as_one(tmp_path: Path) -> None:
    works = {}
    for number, seed in enumerate((0, 1, 2, 3, 4)):
        v = variants.drawn("lesson01.ex4", seed)
        words = f"(2, 2) has 4 elements, needed {v.elements}"
        works[f"learner{number}"] = answered(seed, [("ex4", words, seed)])
    write_class(tmp_path / "class", works)
    (summary,) = report(tmp_path / "class").by_task()
    assert (summary.num_tried, summary.num_wrong_at_first, summary.num_said) == (5, 5, 5)
    assert summary.most_said == "(2, 2) has 4 elements, needed 24"
    assert summary.num_variants == 5
    assert "5 of 5 wrong at first (5 variants), most (5) with" in str(summary)


def test_an_answer_of_another_variant_is_told(tmp_path: Path, capsys) -> None:
    v = variants.drawn("lesson01.ex4", 1)
    words = f"needed {v.elements}"
    write_class(
        tmp_path / "class",
        {
            "ada": answered(1, [("ex4", words, 1)]),
            "copycat": answered(2, [("ex4", words, 1), ("ex3", "x", 2)]),
        },
    )
    found = report(tmp_path / "class")
    rows = {(r[0], r[2]): r[-1] for r in found.rows()}
    assert rows["ada", "lesson01.ex4"] == "1"
    assert rows["copycat", "lesson01.ex4"] == "2, answered as 1"
    assert rows["copycat", "lesson01.ex3"] == "2"
    ada, copycat = repr(found).splitlines()[1:]
    assert "(variant 1)" in ada
    assert "another variant" not in ada
    assert "answers of another variant: lesson01.ex4" in copycat


@pytest.mark.parametrize("seed", [-4, "7", 1.5, None, [1], 10**12])
def test_a_forged_seed_is_none(tmp_path: Path, seed) -> None:
    notebook = answered(0, [("ex4", "x", 0)])
    notebook["metadata"]["dataflow"] = {"variant": seed}
    assert attempts.variant_of(notebook) == 0
    notebook["metadata"]["dataflow"] = seed
    assert attempts.variant_of(notebook) == 0


def test_as_shipped_changes_whole_words_only() -> None:
    v = variants.drawn("lesson01.ex3", 1)
    told = f"[{v.rows}, 1{v.inner}] and {v.columns}.5, {v.inner}"
    assert variants.as_shipped("lesson01.ex3", 1, told) == f"[5, 1{v.inner}] and {v.columns}.5, 3"
    assert variants.as_shipped("lesson01.q1", 1, told) == told

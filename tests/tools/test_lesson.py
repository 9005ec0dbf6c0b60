"""`tools/lesson.py`: a lesson as text and back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tools.lesson import PEAK_MEMORY, LessonError, main, role_of, to_notebook, to_text

ROOT = Path(__file__).resolve().parents[2]
TEXT = """\
# %% [markdown] title
# 1 · Title

```python
# %% is not at the start of a cell here, as it has no [role]
```

# %% [code]
x = 1

# %% [exercise] ex1
y = ...

# %% [check] ex1
check.lesson01.ex1(y)

# %% [solution] ex1
# Solution 1
y = 2
"""


def test_roles_become_tags_ids_and_collapsed_cells() -> None:
    cells = to_notebook(TEXT).cells
    assert [c.id for c in cells] == ["title", "cell-01", "ex1", "check-ex1", "solution-ex1"]
    assert [role_of(c) for c in cells] == ["markdown", "code", "exercise", "check", "solution"]
    assert cells[4].metadata["jupyter"] == {"source_hidden": True, "outputs_hidden": True}
    assert cells[0].source.startswith("# 1 · Title\n\n```python")
    assert cells[0].source.endswith("```")


def test_text_and_notebook_are_the_same_lesson() -> None:
    notebook = to_notebook(TEXT)
    again = to_notebook(to_text(notebook))
    assert again.cells == notebook.cells


def test_a_new_cell_gets_a_free_id() -> None:
    cells = to_notebook("# %% [code] cell-01\n1\n# %% [code]\n2\n# %% [code]\n3\n").cells
    assert [c.id for c in cells] == ["cell-01", "cell-02", "cell-03"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\n# %% [code]\n", "line 1: text before"),
        ("# %% [cod]\n1\n", r"line 1: got \[cod\], needed one of markdown, code"),
        ("# %% [code]\n1\n# %% [check]\n2\n", "line 3: a cell .check. has an id ex1"),
        ("# %% [code] a\n1\n# %% [code] a\n2\n", "the same id more than once: a"),
    ],
)
def test_mistakes_are_named(text: str, words: str) -> None:
    with pytest.raises(LessonError, match=words):
        to_notebook(text)


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = tmp_path / "lesson.txt", tmp_path / "01_a.ipynb"
    source.write_text(TEXT)
    assert main(["notebook", str(source), str(target)]) == 0
    nbformat.validate(nbformat.read(target, as_version=4))
    assert main(["text", str(target)]) == 0
    assert to_notebook(capsys.readouterr().out).cells == to_notebook(TEXT).cells
    source.write_text("x")
    assert main(["notebook", str(source), str(target)]) == 1
    assert "lesson: line 1" in capsys.readouterr().err


def test_the_example_for_authors_is_a_lesson() -> None:
    guide = (ROOT / "lessons" / "AUTHORING.md").read_text(encoding="utf-8")
    example = guide.split("## A small example")[1].split("```\n", 1)[1].rsplit("```", 1)[0]
    roles = [role_of(c) for c in to_notebook(example).cells]
    assert {"markdown", "code", "predict", "exercise", "check", "solution"} == set(roles)


def test_peak_memory_is_the_kernels_own_and_not_that_of_who_started_it():
    # A process of 400 MB forks another: Linux would count the 400 MB in the child's `ru_maxrss`.
    child = [sys.executable, "-c", PEAK_MEMORY]
    parent = f"import os; held = b'x' * 400_000_000; os.fork() or os.execv({child[0]!r}, {child!r})"
    parent += "; os.wait()"
    out = subprocess.run(
        [sys.executable, "-c", parent], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    assert 1_000_000 < int(out) < 200_000_000


def test_peak_memory_counts_what_was_given_back():
    held = "held = b'x' * 400_000_000\ndel held\n"
    out = subprocess.run(
        [sys.executable, "-c", held + PEAK_MEMORY],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    assert int(out) > 400_000_000

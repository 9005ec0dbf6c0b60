"""Every listing of the seed documents, as printed and as it runs."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest

from tests.lessons.notebooks import ROOT, code, read
from tests.lessons.test_lessons import execute
from tests.lessons.test_skeleton import layout
from tools.lesson import to_notebook, to_text

NOTEBOOK = ROOT / "lessons" / "seeds.ipynb"
#: The seeds are not part of the repository; where they lie beside it, each line is looked up in them.
SEEDS = {path.name[2]: path for path in (ROOT.parent / "shared" / "seeds").glob("0*.txt")}
DOCUMENTS = {"a": "0", "b": "1", "c": "2", "d": "3", "e": "4"}
NUM_LISTINGS = {"a": 21, "b": 19, "c": 5, "d": 3, "e": 5}
#: Of the lines of all listings, without spaces: nobody mends a print unseen.
DIGEST = "074c427778b80c41"


def listings(notebook: Any) -> dict[str, str]:
    """The cells that hold a print: a01, a02, ..., without their first line."""
    cells = {c.id: c.source for c in code(notebook) if c.source.startswith("%%listing")}
    return {name: source.partition("\n")[2] for name, source in cells.items()}


def bare(line: str) -> str:
    return re.sub(r"\s", "", line).replace("\\*", "*")


def lines_of(text: str) -> list[str]:
    return [bare(line) for line in text.splitlines() if line.strip()]


def output_of(cell: Any) -> str:
    """What a cell printed and showed."""
    parts = [o.get("text", "") or o.get("data", {}).get("text/plain", "") for o in cell.outputs]
    return "".join(parts)


@pytest.mark.timeout(300)
@pytest.mark.cluster
def test_every_listing_runs_and_says_what_its_slide_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DATAFLOW_DATA", raising=False)
    notebook = read(NOTEBOOK)
    execute(notebook, tmp_path, monkeypatch)
    said = {cell.id: output_of(cell) for cell in code(notebook)}
    assert said["a02"] == 'Tensor("Add:0", shape=(), dtype=int32)\n'
    assert said["a03"] == "8\n" and "7776" in said["a04-shown"] and "15625" in said["a05-shown"]
    assert "6.4         2.8          5.6         2.2        2" in said["a07-setting"]
    (accuracy,) = re.findall(r"Test set accuracy: (\S+)", said["a10"])
    assert float(accuracy) >= 0.9
    for species in ("Setosa", "Versicolor", "Virginica"):
        assert re.search(f'Prediction is "{species}" .*, expected "{species}"', said["a12-shown"])
    assert said["a16"] == "7.5\n[3. 7.]\n"
    assert said["a18-shown"] == "[[0, 1], [2, 3], [4, 5], [6, 7]]\n"
    before, after = map(float, re.findall(r"\d\.\d+", said["a22-shown"]))
    assert after < 0.2 * before
    assert said["b27"] == said["b28"] == 'Tensor("MatMul:0", shape=(1, 1), dtype=float32)\n'
    assert said["b30"].startswith("[[129.98")
    for name in ("b39-shown", "b40-shown"):
        assert float(re.findall(r"[\d.]+", said[name])[0]) > 90
    assert "Initialized" in said["b43"] and "result: [array([[" in said["b43"]
    assert said["b56a"].startswith("b'cat'       1.0000\nb'kitten'")
    assert said["b56b"] == "b'puppy'"
    assert "worker 0 ended with 0" in said["b81-shown"]
    assert "worker 1 ended with 0" in said["b81-shown"]
    assert said["b85-shown"].startswith("60 steps")
    assert float(re.findall(r"loss (\S+)", said["b87-shown"])[0]) < 0.01
    for name in ("c1", "c2"):
        assert len(re.findall(r"^\d \d+", said[name], flags=re.M)) == 10
    assert said["c4-shown"].startswith("array([[264.]]") and "156." in said["d1-shown"]
    assert "/device:CPU:1 /device:GPU:0" in said["d3-shown"]
    assert "GPU:0" in said["e1"] and "12.0" in said["e4-shown"]
    assert "machine-b.example.com:2222" in said["e5-shown"]
    assert "MatMul" in said["c2-shown"] or "operations" in said["c2-shown"]


def test_the_listings_are_as_they_were_printed() -> None:
    found = listings(read(NOTEBOOK))
    assert {p: sum(name[0] == p for name in found) for p in NUM_LISTINGS} == NUM_LISTINGS
    lines = [line for source in found.values() for line in lines_of(source)]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    assert digest == DIGEST, "a listing differs from its print; what must change is a fill"


def test_every_line_is_in_its_document_and_none_of_its_programs_is_missing() -> None:
    found = listings(read(NOTEBOOK))
    for part, number in DOCUMENTS.items():
        if number not in SEEDS:
            continue
        text = SEEDS[number].read_text(encoding="utf-8")
        # A slide is one line in the text of 2017, and a formula where the others print code.
        whole = bare(text) if part in "cd" else "\n".join(lines_of(text))
        mine = [line for n, s in found.items() if n[0] == part for line in lines_of(s)]
        assert [line for line in mine if line not in whole] == []
        printed = re.findall(r"```(?:python)?\n(.*?)```", text, flags=re.S)
        printed += re.findall(r"^In \[None\]:\n\n?(.*?)\n\n+(?=#|-|<)", text, flags=re.S | re.M)
        for block in printed:
            program = block.partition("# Output:")[0]
            if re.match(r"\W*(>>|Prediction|'prob)", program):
                continue  # what a program prints
            assert [line for line in lines_of(program) if line not in mine] == [], block
        if part == "b":
            said = [line for line in lines_of(text) if re.match(r"\w+=tf\.|tf\.\w|withtf\.", line)]
            assert [line for line in said if line not in mine and "(" in line] == []


def test_the_notebook_is_laid_out_as_lessons_are() -> None:
    notebook = read(NOTEBOOK)
    printed = set(listings(notebook).values())
    own = [c for c in notebook.cells if c.source.partition("\n")[2] not in printed]
    checked = type(notebook)(notebook, cells=own)
    assert layout(checked) == []
    again: Any = to_notebook(to_text(notebook))
    assert again.cells == notebook.cells

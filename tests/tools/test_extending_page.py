"""The worked examples of EXTENDING.md: each diff applies to the sources, and its tests pass."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.widgets.test_javascript import node_program

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "dataflow" / "EXTENDING.md").read_text(encoding="utf-8")
_COPIED = ("dataflow", "widgets/dataflow_widgets", "datasets/dataflow_datasets", "tests")
_LEFT_OUT = shutil.ignore_patterns("screenshots", "benchmarks", "oracle", "real_data")


class Example(NamedTuple):
    """One section of the page."""

    title: str
    diff: str
    tests: str

    @property
    def least_tests(self) -> int:
        """Test functions that the diff itself adds; a sample of an op makes several."""
        return (
            4
            if "Sample(" in self.diff
            else len(re.findall(r"^\+def test_", self.diff, re.MULTILINE))
        )


def examples(page: str) -> list[Example]:
    """The sections that have a diff, in order."""
    found = []
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        (diff,) = re.findall(r"^```diff\n(.*?\n)```$", section, re.MULTILINE | re.DOTALL)
        (tests,) = re.findall(r"^Run: `(.*)`$", section, re.MULTILINE)
        found.append(Example(section.partition("\n")[0], diff, tests))
    return found


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the examples change and need, with all of them applied in order."""
    copy = tmp_path_factory.mktemp("extended")
    for name in _COPIED:
        shutil.copytree(ROOT / name, copy / name, ignore=_LEFT_OUT)
    shutil.copy(ROOT / "pyproject.toml", copy)
    for example in examples(PAGE):
        command = ["git", "apply", "--whitespace=error", "-"]
        done = subprocess.run(
            command, cwd=copy, input=example.diff, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{example.title}: the sources have changed\n{done.stderr}"
    return copy


def test_there_are_five() -> None:
    assert [e.title.partition(".")[0] for e in examples(PAGE)] == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize("example", examples(PAGE), ids=lambda example: example.title)
def test_the_tests_of_an_example_pass(example: Example, sources: Path) -> None:
    paths = [str(sources / name) for name in (".", "widgets", "datasets")]
    # Settings of this run of pytest are not those of the one that it starts.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            *shlex.split(example.tests),
        ],
        cwd=sources,
        env=environment | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None and int(passed[1]) >= example.least_tests


def test_the_pages_part_of_the_widget_is_a_module(sources: Path) -> None:
    folder = sources / "widgets" / "dataflow_widgets"
    (sources / "widgets" / "package.json").write_text('{"type": "module"}')
    program = (
        "globalThis.__ENGINE__ = globalThis.__VERSION__ = 0;"  # the build puts them in
        f"const widget = await import({str(folder / 'op_count' / 'op_count.js')!r});"
        "console.log(typeof widget.default.initialize, typeof widget.default.render);"
    )
    done = subprocess.run(
        [node_program(), "--input-type=module", "-e", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.split() == ["function", "function"], done.stderr
    library = (folder / "shared" / "library.js").read_text(encoding="utf-8")
    assert "op_count: useStyle(opCount)" in library

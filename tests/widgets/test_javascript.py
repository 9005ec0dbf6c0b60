"""The JavaScript: its own unit tests under node, and the committed build."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dataflow_widgets.base import packed

HERE = Path(__file__).parent
PACKAGE = HERE.parents[1] / "widgets" / "dataflow_widgets"
TOTAL_LIMIT = 1_000_000


def node_program() -> str:
    """node, from the machine or from Playwright's own driver, which the test extras install."""
    found = shutil.which("node")
    if found:
        return found
    from playwright._impl._driver import compute_driver_executable

    return str(compute_driver_executable()[0])


@pytest.mark.parametrize("file", sorted(p.name for p in HERE.glob("*.test.mjs")))
def test_units(file: str) -> None:
    done = subprocess.run(
        [node_program(), "--test", file],
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_there_are_unit_tests() -> None:
    assert len(list(HERE.glob("*.test.mjs"))) >= 4


def test_built_files_are_up_to_date() -> None:
    """CI also rebuilds and compares; this needs no npm."""
    recorded = json.loads((PACKAGE / "built" / "sources.json").read_text(encoding="utf-8"))
    now = {}
    for path in [*PACKAGE.glob("*/*.js"), *PACKAGE.glob("*/*.css")]:
        if path.parent.name != "built":
            digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
            now[f"{path.parent.name}/{path.name}"] = digest
    assert now == recorded, "run `npm install && npm run build` in widgets/js"


def test_a_class_is_styled_by_one_widget() -> None:
    """All style sheets are one in the page: a class of two widgets would look like both."""
    homes: dict[str, set[str]] = {}
    for path in PACKAGE.glob("*/*.css"):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for selectors in re.findall(r"([^{}]+)\{", text):
            for name in re.findall(r"(?:^|,)\s*\.(df-[\w-]+)\s*(?=,|$)", selectors):
                homes.setdefault(name, set()).add(path.parent.name)
    assert len(homes) > 100
    assert {name: where for name, where in homes.items() if len(where - {"shared"}) > 1} == {}


def test_a_page_gets_at_most_a_megabyte() -> None:
    sizes = {p.name: p.stat().st_size for p in (PACKAGE / "built").glob("*.js")}
    assert set(sizes) == {"graphviz.js", "library.js", "loader.js"}
    sent = len(packed("library.js")) + len(packed("graphviz.js")) + sizes["loader.js"]
    assert sent <= TOTAL_LIMIT
    # anywidget stores the loader once per widget in every saved notebook.
    assert sizes["loader.js"] < 6_000


def test_nothing_is_loaded_from_elsewhere() -> None:
    """No CDN: the built files hold no URL but names of XML namespaces and licenses' homes."""
    for name in ("library.js", "loader.js"):
        text = (PACKAGE / "built" / name).read_text(encoding="utf-8")
        hosts = {
            part.split("/")[0] for part in text.replace("https://", "http://").split("http://")[1:]
        }
        assert hosts <= {"www.w3.org"}, hosts

"""The site of `make site` in Chromium: Python runs in the page, and answers stay in the browser."""

from __future__ import annotations

import io
import json
import os
import re
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser import built_site
from tests.browser.built_site import SitePage
from tests.browser.lab_page import screenshot_folder
from tests.browser.patience import new_context
from tests.course.classroom.a_class import Process
from tests.wasm import distribution

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.wasm, pytest.mark.timeout(900)]
LESSON = "01_graphs.ipynb"
LESSON_FOLDER = distribution.ROOT / "lessons"
#: The numbers of lessons that `make site-test` runs whole.
LESSONS = os.environ.get("DATAFLOW_SITE_LESSONS", "").split()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built with npm's Pyodide."""
    return built_site.build(tmp_path_factory.mktemp("site") / "site")


@pytest.fixture
def page(chromium: Browser, site: Path) -> Iterator[SitePage]:
    """A page of a fresh profile; a request to another host fails the test when it ends."""
    with built_site.served(site) as address:
        context = new_context(chromium, viewport={"width": 1280, "height": 900})
        page = SitePage(context.new_page(), address)
        yield page
        context.close()
        assert page.outside == []


def test_everything_that_is_loaded_is_in_the_site(site: Path) -> None:
    settings = json.loads((site / "jupyter-lite.json").read_text())["jupyter-config-data"]
    kernel = settings["litePluginSettings"]["@jupyterlite/pyodide-kernel-extension:kernel"]
    options = kernel["loadPyodideOptions"]
    start = (site / kernel["pyodideUrl"]).read_text()
    (parts,) = re.findall(r"const settings = (\{.*\});", start)
    for name in ("memory", "files", "pyodide"):
        assert (site / "static" / "pyodide" / json.loads(parts)[name]).is_file()
    packages = json.loads((site / options["lockFileURL"]).read_text())["packages"]
    for entry in packages.values():
        assert (site / "static" / "pyodide" / entry["file_name"]).is_file()
        assert set(entry["depends"]) <= set(packages)
    assert {name.replace("_", "-") for name in options["packages"]} <= set(packages)


def test_a_question_is_answered_and_the_answer_stays(page: SitePage) -> None:
    tab = page.page
    tab.goto(page.address)
    assert tab.inner_text("#continue") == "Begin"
    tab.get_by_text("Tensors flow").click()
    page.wait_for_notebook()
    assert page.run_all(patience_seconds=400) == []
    page.show_cell(page.index_of("a tensor's name, shape and dtype"))
    tab.locator("label", has_text="a tensor's name, shape and dtype").first.click()
    tab.get_by_role("button", name="Check").first.click()
    tab.locator(".jp-OutputArea").get_by_text("Right").first.wait_for()
    tab.screenshot(path=screenshot_folder() / "site_lesson01.png")
    assert page.slow_starts == []
    page.save()

    tab.get_by_text("All lessons").click()
    tab.get_by_text(re.compile(r"\b1 of \d+ answered")).wait_for()
    assert tab.inner_text("#continue") == "Continue where I was"
    tab.screenshot(path=screenshot_folder() / "site_course.png")
    with tab.expect_download() as download:
        tab.click("#download")
    archive = zipfile.ZipFile(io.BytesIO(Path(download.value.path()).read_bytes()))
    assert archive.testzip() is None
    assert archive.namelist() == [LESSON]
    assert '"right": true' in json.dumps(json.loads(archive.read(LESSON)))

    tab.click("#continue")
    tab.locator(".jp-Notebook .jp-Cell").first.wait_for()
    tab.wait_for_function(
        "() => JSON.stringify(window.jupyterapp.shell.currentWidget.content.model.getMetadata('widgets') ?? {})"
        ".includes('\"right\":true')"
    )


_PUT = """([index, source]) => {
  window.jupyterapp.shell.currentWidget.content.widgets[index].model.sharedModel.setSource(source);
}"""


def test_a_class_is_joined_from_the_site_that_its_server_serves(
    chromium: Browser, site: Path, tmp_path: Path
) -> None:
    """Nothing to install: the course, a learner's answer and the projector from one server."""
    options = ["--lessons", str(LESSON_FOLDER), "--site", str(site)]
    room = Process(tmp_path, options=options)
    context = new_context(chromium, viewport={"width": 1280, "height": 900})
    try:
        address = f"http://127.0.0.1:{room.port}"
        page = SitePage(context.new_page(), f"{address}/")
        tab = page.page
        tab.goto(f"{address}/site/lab/index.html?path={LESSON}")
        page.wait_for_notebook()
        first = page.index_of("from dataflow_widgets import")
        source = tab.evaluate(
            "(i) => window.jupyterapp.shell.currentWidget.content.widgets[i].model.sharedModel.getSource()",
            first,
        )
        joining = f'from dataflow.course import hand_in, join\njoin("{address}", "{room.code}", name="Ada")'
        tab.evaluate(_PUT, [first, f"{source}\n{joining}"])
        assert page.run_all(patience_seconds=400) == []
        page.show_cell(page.index_of("a tensor's name, shape and dtype"))
        tab.locator("label", has_text="an error: nothing ran").first.click()
        tab.get_by_role("button", name="Check").first.click()
        projector = context.new_page()
        projector.goto(f"{address}/teacher#token={room.teacher}")
        projector.get_by_label("Lesson").select_option(label="1 · Tensors flow")
        projector.get_by_text("1 of 1 have answered").wait_for()
        counts = projector.locator("#bars .number").all_inner_texts()
        assert counts == ["0 · 0 %", "0 · 0 %", "1 · 100 %"]

        page.save()
        form = (
            context.new_page()
        )  # the same browser: its lessons are listed, and it is the same learner
        form.goto(address)
        form.get_by_label(LESSON).wait_for()
        form.get_by_label("Code").fill(room.code.lower())
        form.get_by_role("button", name="Hand in").click()
        form.get_by_text(f"Handed in as Ada: {LESSON}").wait_for()
        projector.get_by_text("1 joined · 1 notebooks").wait_for()
        last = page.index_of("check.lesson01.ex4(block)")
        again = f'join("{address}", "{room.code}")\nhand_in("{LESSON}")'  # the same learner
        tab.evaluate(_PUT, [last, again])
        page.show_cell(last)
        page.command("notebook:run-cell")
        tab.get_by_text(f"{LESSON}, as saved at").first.wait_for()
        projector.wait_for_timeout(1000)  # time enough for another learner to be told of
        assert "1 joined" in projector.inner_text("#joined")
        assert page.outside == []
    finally:
        room.stop()
        context.close()


_RUN = """async (code) => {
  const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  const said = [];
  const running = kernel.requestExecute({ code, store_history: false });
  running.onIOPub = (message) => said.push(message.content.text ?? message.content.evalue ?? "");
  await running.done;
  return said.join("");
}"""


def test_a_kernel_begins_from_the_stored_memory_again_and_is_itself(page: SitePage) -> None:
    """What a memory cannot keep: random numbers, the reader's language, libraries that were not loaded yet."""
    tab = page.page
    tab.goto(f"{page.address}lab/index.html?path={LESSON}")
    page.wait_for_notebook()
    drawn = "import random, os, numpy as np; print(random.random(), np.random.rand())"
    first = tab.evaluate(_RUN, drawn)
    other = tab.evaluate(_RUN, "from PIL import Image; print(Image.new('RGB', (2, 3)).size)")
    assert other == "(2, 3)\n"
    assert tab.evaluate(_RUN, "import os; print(os.environ['LANG'])") == "en_US.UTF-8\n"
    assert "ZeroDivisionError" in tab.evaluate(
        _RUN, "try:\n  1 / 0\nexcept Exception as e: print(repr(e))"
    )
    tab.evaluate(
        "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()"
    )
    second = tab.evaluate(_RUN, drawn)
    assert len(first.split()) == len(second.split()) == 2
    assert not set(first.split()) & set(second.split())
    assert page.slow_starts == []


@pytest.mark.skipif(not LESSONS, reason="long: `make site-test` runs lessons whole")
def test_a_lesson_runs_whole_where_the_memory_is_of_no_use(page: SitePage, site: Path) -> None:
    (stored,) = (site / "static" / "pyodide").glob("kernel-memory-*")
    aside = stored.rename(site / "aside")
    try:
        page.page.goto(f"{page.address}lab/index.html?path={LESSON}")
        page.wait_for_notebook()
        assert page.run_all(patience_seconds=800) == []
        assert "404" in page.slow_starts[0]
    finally:
        aside.rename(stored)


@pytest.mark.skipif(not LESSONS, reason="long: `make site-test` runs lessons whole")
@pytest.mark.parametrize("number", LESSONS or ["none"])
def test_a_lesson_runs_whole(page: SitePage, number: str) -> None:
    (name,) = (path.name for path in LESSON_FOLDER.glob(f"{number.zfill(2)}_*.ipynb"))
    page.page.goto(f"{page.address}lab/index.html?path={name}")
    page.wait_for_notebook()
    started = time.monotonic()
    wrong = page.run_all(patience_seconds=800)
    print(f"{name}: {time.monotonic() - started:.0f} s, {wrong or 'whole'}")
    assert wrong == []

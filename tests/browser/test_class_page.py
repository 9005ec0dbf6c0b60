"""The projector's page of a class, in light and dark: bars and marks live, nothing told unasked."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.axe import serious_findings
from tests.browser.lab_page import screenshot_folder
from tests.browser.patience import at_rest, eventually, new_context
from tests.browser.test_graph_view import node, wait_drawn
from tests.browser.test_lesson02 import code_cell
from tests.course.classroom.a_class import ROOT, Process, Wire, answer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.browser.jupyter_server import JupyterServer
    from tests.browser.lab_page import LabPage

pytestmark = pytest.mark.browser
EVIL = '<img src=x onerror="document.title=1">'


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Process]:
    room = Process(tmp_path)
    yield room
    room.stop()


@pytest.fixture(params=["light", "dark"])
def projector(request: pytest.FixtureRequest, chromium: Browser, room: Process) -> Iterator[Page]:
    context = new_context(
        chromium, color_scheme=request.param, viewport={"width": 1280, "height": 900}
    )
    page = context.new_page()
    page.failures = []  # type: ignore[attr-defined]
    page.theme = request.param  # type: ignore[attr-defined]
    page.on("pageerror", lambda error: page.failures.append(str(error)))  # type: ignore[attr-defined]
    page.goto(f"http://127.0.0.1:{room.port}/teacher#token={room.teacher}")
    yield page
    assert page.failures == []  # type: ignore[attr-defined]
    context.close()


def tell(
    room: Process, *sent: tuple[int, dict[str, Any]], names: dict[int, str] | None = None
) -> None:
    """Learners join and answer. In a thread: Playwright has a loop in this one."""

    async def scene() -> None:
        wire = Wire(room.port)
        for number in {number for number, _ in sent}:
            await wire.join(
                number, room.code, (names or {}).get(number, f"learner number {number}")
            )
        for number, each in sent:
            status, told = await wire.send(number, each)
            assert status == 200, told
        wire.close()

    done = threading.Thread(target=lambda: asyncio.run(scene()))
    done.start()
    done.join()


TAGS = """(nodes) => nodes.map((node) => [node.querySelector("title").textContent,
                                   node.querySelector(".df-tag").textContent])"""


def shot(page: Page, name: str) -> None:
    at_rest(page)
    page.screenshot(path=screenshot_folder() / f"class_{name}_{page.theme}.png", full_page=True)  # type: ignore[attr-defined]


def test_bars_names_and_the_answer(projector: Page, room: Process) -> None:
    page = projector
    page.locator("#code", has_text=room.code).wait_for()
    assert "token" not in page.url, "the token does not stay on the wall"
    page.get_by_role("button", name="Question 1").click()
    page.get_by_text("Nobody has answered yet.").wait_for()
    assert page.inner_text("#title") == "What is 2 + 3?"
    given = ["six", "five", "five", "six", "six", "<b>0</b>"]
    tell(
        room,
        *((n, answer(given=[each], right=each == "five")) for n, each in enumerate(given)),
        (0, answer(uid="again-0001", given=["five"])),
        names={0: EVIL},
    )
    page.get_by_text("6 of 6 have answered").wait_for()
    bars = page.locator("#bars li")
    assert [bar.locator(".number").inner_text() for bar in bars.all()] == [
        "2 · 33 %",
        "3 · 50 %",
        "1 · 17 %",
    ]
    assert bars.nth(2).locator(".text").inner_text() == "<b>0</b>"
    assert page.locator("#bars .right, #bars .who").count() == 0, "nothing is told unasked"
    assert serious_findings(page, "body") == []
    shot(page, "bars")
    page.get_by_role("button", name="Last answers").click()
    bars.nth(0).get_by_text("3 · 50 %").wait_for()
    page.get_by_role("button", name="Names").click()
    page.locator("#bars .who").first.wait_for()
    assert EVIL in page.inner_text("#bars")
    page.get_by_role("button", name="Show the answer").click()
    page.locator("#bars .right").wait_for()
    assert page.inner_text("#bars .right .text") == "five"
    page.locator("#explanation", has_text="The answer: five.").wait_for()
    assert serious_findings(page, "body") == []
    shot(page, "answer")
    assert page.title() == "dataflow: the class"
    page.set_viewport_size({"width": 390, "height": 844})  # a teacher's phone
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.get_by_role("button", name="Exercise 1").click()
    page.get_by_text("Nobody has answered yet.").wait_for()
    assert "Then <b>check</b>." in page.inner_text("#text")
    shot(page, "exercise")
    assert page.get_by_role("button", name="Show the answer").count() == 0
    page.get_by_role("button", name="Question 1").click()
    asked = page.get_by_role("button", name="Show the answer")
    asked.wait_for()
    assert asked.get_attribute("aria-pressed") == "false", "not asked for, though it was before"


def test_marks_on_the_graph_and_a_new_start_of_the_server(
    projector: Page, room: Process, tmp_path: Path
) -> None:
    page = projector
    page.get_by_role("button", name="Question 2").click()
    told = {"explanation": "Pruned: b and <i>d</i>.", "solution": ["b", "<i>d</i>"]}
    right = {"given": ["b", "<i>d</i>"], "told": told}
    tell(
        room,
        *((n, answer("lesson01.q2", **right)) for n in range(3)),
        *((n, answer("lesson01.q2", given=["b", "a"], right=False)) for n in range(3, 8)),
    )
    page.get_by_text("8 of 8 have answered").wait_for()

    def tags() -> dict[str | None, str | None]:
        # In one call: the graph may be drawn anew meanwhile.
        return dict(page.locator("#heat .df-node").evaluate_all(TAGS))

    wanted = {"a": "5 of 8", "b": "8 of 8", "c": "", "<i>d</i>": "3 of 8"}
    eventually(page, tags, wanted)
    at_rest(page)
    fill = "(node) => getComputedStyle(node.querySelector('.df-shape')).fill"
    fills = {
        node.locator("title").text_content(): node.evaluate(fill)
        for node in page.locator("#heat .df-node").all()
    }
    assert len(set(fills.values())) == 4, "each count has its warmth"
    shot(page, "marks")
    assert serious_findings(page, "body") == []
    page.get_by_role("button", name="Show the answer").click()
    page.locator("#heat .df-tag", has_text="✓ 8 of 8").wait_for()
    assert page.locator("#heat .df-tag", has_text="✓").count() == 2
    page.locator("#explanation", has_text="3 right in the end. Pruned: b and").wait_for()
    shot(page, "marks_answer")

    room.kill()
    page.get_by_text("The server does not answer").wait_for()
    again = Process(tmp_path, room.port)
    try:
        tell(again, (9, answer("lesson01.q2", given=["c"], right=False)))
        page.get_by_text("9 of 9 have answered").wait_for()
    finally:
        again.stop()


def test_a_wrong_token_is_said_and_the_right_one_opens(chromium: Browser, room: Process) -> None:
    context = new_context(chromium)
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{room.port}/teacher")
    page.get_by_label("The teacher's token").fill("wrong")
    page.get_by_role("button", name="Open").click()
    page.get_by_text("This needs the teacher's token").wait_for()
    page.get_by_label("The teacher's token").fill(room.teacher)
    page.get_by_role("button", name="Open").click()
    page.locator("#code", has_text=room.code).wait_for()
    with page.expect_download() as started:
        page.get_by_role("button", name="Moodle").click()
    assert started.value.suggested_filename == "class_moodle.csv"
    context.close()


def test_a_learner_hands_in_from_a_page(chromium: Browser, room: Process, tmp_path: Path) -> None:
    context = new_context(chromium)
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{room.port}/")
    page.get_by_label("Code").fill("wrong1")
    page.get_by_label("Name").fill("Ada")
    (tmp_path / "bad.ipynb").write_text("{")
    files = [str(tmp_path / "lessons" / "01_small.ipynb"), str(tmp_path / "bad.ipynb")]
    page.get_by_label("Notebooks").set_input_files(files)
    page.get_by_role("button", name="Hand in").click()
    page.get_by_text("This is not the code of this class").wait_for()
    page.get_by_label("Code").fill(room.code.lower())
    page.get_by_role("button", name="Hand in").click()
    page.get_by_text("Handed in as Ada: 01_small.ipynb, 0 right of 4").wait_for()
    page.get_by_text("bad.ipynb was not taken: This is not a notebook").wait_for()
    assert serious_findings(page, "body") == []
    page.screenshot(path=screenshot_folder() / "class_learner.png")
    context.close()


def test_a_lesson_in_the_lab_is_joined_answered_and_a_bar(
    lab_page: LabPage, jupyter_server: JupyterServer, chromium: Browser, tmp_path: Path
) -> None:
    """Lesson 2 itself: a choice and marks, by mouse, on the projector; then handed in."""
    room = Process(tmp_path, options=["--lessons", str(ROOT / "lessons")])
    context = new_context(chromium, viewport={"width": 1280, "height": 900})
    try:
        jupyter_server.restore_lesson("02_sessions.ipynb")
        lab_page.open_notebook("02_sessions.ipynb")
        first, marks = (code_cell(lab_page, f'name="lesson02.{q}"') for q in ("q1", "q2"))
        for index in range(marks + 1):
            if lab_page.cells()[index]["type"] == "code":
                lab_page.run_cell(index)
        said = lab_page.run_code(
            f'from dataflow.course import hand_in, join\njoin("http://127.0.0.1:{room.port}", "{room.code}", name="Ada")'
        )
        assert "as Ada: 0 answers sent" in lab_page.output_text(said)

        choice = lab_page.output(first)
        choice.locator(".df-predict").wait_for()
        choice.get_by_label("it has none: the call is an error").click()
        choice.get_by_role("button", name="Check", exact=True).click()
        choice.locator('.df-predict[data-state="wrong"]').wait_for()
        nodes = lab_page.output(marks)
        wait_drawn(nodes, 6)
        node(nodes, "useless").click()
        node(nodes, "mul_op").click()
        nodes.get_by_role("button", name="Check", exact=True).click()
        nodes.locator('.df-predict[data-state="wrong"]').wait_for()

        page = context.new_page()
        page.goto(f"http://127.0.0.1:{room.port}/teacher#token={room.teacher}")
        page.get_by_label("Lesson").select_option(label="2 · Sessions: run, fetch, prune")
        page.get_by_text("1 of 1 have answered").wait_for()
        assert page.inner_text("#title") == "What is the name of the second tensor?"
        counts = page.locator("#bars .number").all_inner_texts()
        assert counts == ["0 · 0 %", "0 · 0 %", "1 · 100 %"]
        page.get_by_role("button", name="Question 2").click()
        page.locator("#heat .df-tag", has_text="1 of 1").first.wait_for()
        marked = page.locator("#heat .df-node", has=page.locator(".df-tag", has_text="1 of 1"))
        assert set(marked.locator("title").all_text_contents()) == {"useless", "mul_op"}
        at_rest(page)
        page.screenshot(path=screenshot_folder() / "class_lesson02.png", full_page=True)

        lab_page.command("docmanager:save")
        handed = lab_page.run_code("hand_in()")
        assert "Handed in: 02_sessions.ipynb" in lab_page.output_text(handed)
        page.get_by_text("1 joined · 1 notebooks").wait_for()
    finally:
        room.stop()
        context.close()

"""Explorers in a browser: every control by mouse and keyboard, a kernel that is busy or gone, two on
a page, narrow and wide, light and dark; and in JupyterLab, where the graph opens from within.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from playwright.sync_api import TimeoutError

import dataflow_widgets
from tests.browser.axe import serious_findings
from tests.browser.kernel_page import KernelPage, without_threads
from tests.browser.lab_page import screenshot_folder
from tests.browser.patience import eventually, next_frame
from tests.browser.test_every_widget import LESSONS, MAX_PICTURE_BYTES, size_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

    from tests.browser.jupyter_server import JupyterServer
    from tests.browser.lab_page import LabPage

pytestmark = pytest.mark.browser

NAMES = (
    "OptimizerExplorer",
    "BoundaryExplorer",
    "ConvolutionExplorer",
    "GradientFlowExplorer",
    "AttentionExplorer",
    "RooflineExplorer",
    "StalenessExplorer",
    "PipelineExplorer",
)
# The numbers that a panel of the page has drawn.
_DATA = """([kind, path]) => {
  const panel = document.querySelector(`.df-panel-${kind}`).panel;
  const value = path.reduce((at, key) => at[key], panel.spec);
  return value.data ? [...value.data] : value;
}"""


# What JupyterLab says of the outputs of cells.
_JUPYTERLAB = """() => {
  const style = document.createElement("style");
  style.textContent = `main dl, main dt, main dd { display: block; }
    main dl { width: 100%; overflow: hidden; } main dt { font-weight: bold; float: left; width: 20%; }
    main dd { float: left; width: 80%; margin: 0; }`;
  document.head.prepend(style);
}"""

# Nothing is wider than the page, and no text smaller than 11 px.
_FITS = """(width) => document.documentElement.clientWidth <= width
  && document.documentElement.scrollWidth <= width
  && [...document.querySelectorAll(".df-explorer text")].every((text) =>
    !text.getBoundingClientRect().height
    || parseFloat(getComputedStyle(text).fontSize) * Math.hypot(text.getCTM().a, text.getCTM().b) >= 10.9)"""


@pytest.fixture
def kernel_page(chromium: Browser, monkeypatch: pytest.MonkeyPatch) -> Iterator[KernelPage]:
    without_threads(monkeypatch)
    page = KernelPage(chromium)
    yield page
    assert page.failures() == [] and page.outside == []
    page.close()


def show(page: KernelPage, explorer: Any) -> Locator:
    page.show_widget(explorer)
    shown = page.page.locator(".df-explorer").last
    page.page.locator(".df-explorer[data-frames]").last.wait_for()
    return shown


def frames(shown: Locator) -> int:
    return int(shown.get_attribute("data-frames") or 0)


def wait_for(page: KernelPage, condition: Callable[[], bool], patience_seconds: float = 60) -> None:
    """Until ``condition()`` holds; messages of the page are answered meanwhile."""
    for _ in range(int(patience_seconds / 0.05)):
        if condition():
            return
        page.page.wait_for_timeout(50)
    raise TimeoutError("it never came about")


def wait_for_value(page: KernelPage, explorer: Any, name: str, value: Any) -> None:
    """Until the kernel has taken the value."""
    wait_for(page, lambda: bool(explorer.values[name] == value))


def rest(shown: Locator) -> None:
    """Until the page waits for no answer of the kernel: it says whether it does when it next draws."""
    next_frame(shown.page)
    shown.page.wait_for_function("(el) => el.dataset.waits === 'false'", arg=shown.element_handle())


@pytest.mark.parametrize("name", NAMES)
def test_every_control_goes_from_end_to_end(kernel_page: KernelPage, name: str) -> None:
    """Sliders are dragged to the one end, and brought to the other by a key."""
    explorer = getattr(dataflow_widgets, name)()
    shown = show(kernel_page, explorer)
    mouse, keyboard = kernel_page.page.mouse, kernel_page.page.keyboard
    for spec in explorer.form["controls"]:
        control = shown.get_by_label(spec["label"], exact=True)
        if spec["form"] == "slider":
            control.scroll_into_view_if_needed()
            box = control.bounding_box()
            assert box
            middle = box["y"] + box["height"] / 2
            mouse.move(box["x"] + 2, middle)
            mouse.down()
            mouse.move(box["x"] + box["width"] + 20, middle, steps=6)
            mouse.up()
            wait_for_value(kernel_page, explorer, spec["name"], pytest.approx(spec["max"]))
            keyboard.press("Home")
            wait_for_value(kernel_page, explorer, spec["name"], pytest.approx(spec["min"]))
        elif spec["form"] == "choice":
            control.select_option(spec["options"][-1])
            wait_for_value(kernel_page, explorer, spec["name"], spec["options"][-1])
        elif spec["form"] == "toggles":
            shown.get_by_label(spec["options"][-1], exact=True).check()
            wait_for_value(kernel_page, explorer, spec["name"], spec["options"][-1])
        else:
            control.check()
            wait_for_value(kernel_page, explorer, spec["name"], True)
    shown.get_by_role("button", name="Reset").click()
    for spec in explorer.form["controls"]:
        wait_for_value(kernel_page, explorer, spec["name"], explorer.form["defaults"][spec["name"]])
    explorer.close()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dark", [False, True])
def test_each_is_accessible_and_fits(
    chromium: Browser, monkeypatch: pytest.MonkeyPatch, name: str, dark: bool
) -> None:
    without_threads(monkeypatch)
    page = KernelPage(chromium, dark=dark)
    explorer = getattr(dataflow_widgets, name)()
    shown = show(page, explorer)
    for width in (360, 620, 1280, 1700):
        page.page.set_viewport_size({"width": width, "height": 900})
        try:
            page.page.wait_for_function(_FITS, arg=width)
        except TimeoutError:
            raise AssertionError(f"content or texts do not fit at {width} px") from None
    assert serious_findings(page.page, ".df-explorer") == []
    page.page.set_viewport_size({"width": 1100, "height": 900})
    page.page.wait_for_function(_FITS, arg=1100)
    picture = f"{type(explorer).__module__.rpartition('.')[2]}_{'dark' if dark else 'light'}.png"
    folder = screenshot_folder() / "explorers"
    folder.mkdir(parents=True, exist_ok=True)
    shown.screenshot(path=folder / picture)
    assert page.failures() == []
    explorer.close()
    page.close()


def test_in_a_narrow_page_controls_stand_beside_each_other(
    chromium: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_threads(monkeypatch)
    page = KernelPage(chromium)
    explorer = dataflow_widgets.BoundaryExplorer()
    shown = show(page, explorer)
    for width, num_columns in ((1280, 1), (560, 2), (300, 1)):
        page.page.set_viewport_size({"width": width, "height": 900})
        lefts = "(all) => new Set(all.map((e) => Math.round(e.getBoundingClientRect().left))).size"
        controls = shown.locator(".df-control")
        eventually(page.page, functools.partial(controls.evaluate_all, lefts), num_columns)
    assert page.failures() == []
    explorer.close()
    page.close()


def test_the_start_is_dragged_and_moved_by_keys(kernel_page: KernelPage) -> None:
    explorer = dataflow_widgets.OptimizerExplorer()
    shown = show(kernel_page, explorer)
    knob = shown.locator(".df-knob")
    box = knob.bounding_box()
    assert box
    mouse = kernel_page.page.mouse
    mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    mouse.down()
    mouse.move(box["x"] + box["width"] / 2 + 100, box["y"] + box["height"] / 2 + 20, steps=5)
    mouse.up()
    wait_for(kernel_page, lambda: explorer.values["start"][0] > -3)
    rest(shown)
    x, y = explorer.values["start"]
    assert y < 2
    knob.focus()
    kernel_page.page.keyboard.press("ArrowRight")
    wait_for_value(kernel_page, explorer, "start", [pytest.approx(x + 12 / 40), pytest.approx(y)])
    assert knob.evaluate("(el) => el === document.activeElement"), "the focus stays on the handle"

    def is_drawn() -> bool:
        drawn = kernel_page.page.evaluate(_DATA, ["heat", ["paths", "SGD", 0]])
        return np.allclose(drawn, explorer.paths[:, 0, 0], rtol=1e-6)

    wait_for(kernel_page, is_drawn)
    explorer.close()


def test_a_convolution_by_hand(kernel_page: KernelPage) -> None:
    explorer = dataflow_widgets.ConvolutionExplorer()
    shown = show(kernel_page, explorer)
    shown.locator(".df-image-window").focus()
    kernel_page.page.keyboard.press("ArrowDown")
    wait_for_value(kernel_page, explorer, "window", [4, 3])
    cell = shown.get_by_label("Kernel, row 2, column 2")
    cell.fill("5")
    wait_for_value(kernel_page, explorer, "preset", "your own")
    assert explorer.values["kernel"][1][1] == 5
    drawn = kernel_page.page.evaluate(_DATA, ["images", ["values"]])
    np.testing.assert_allclose(drawn, explorer.measured()["image"].ravel())
    deep = shown.locator(".df-panel-images").nth(2).locator("canvas")
    deep.scroll_into_view_if_needed()
    box = deep.bounding_box()
    assert box
    kernel_page.page.mouse.click(box["x"] + box["width"] * 0.95, box["y"] + box["height"] * 0.95)
    wait_for_value(kernel_page, explorer, "unit", [0, 9, 9])
    explorer.close()


def test_it_plays_pauses_and_steps(kernel_page: KernelPage) -> None:
    explorer = dataflow_widgets.BoundaryExplorer()
    shown = show(kernel_page, explorer)
    shown.get_by_role("button", name="Play").click()
    wait_for(kernel_page, lambda: int(shown.get_attribute("data-tick") or 0) >= 3)
    shown.get_by_role("button", name="Pause").click()
    rest(shown)
    tick = int(shown.get_attribute("data-tick") or 0)
    shown.get_by_role("button", name="One step").click()
    kernel_page.page.locator(f'.df-explorer[data-tick="{tick + 1}"]').wait_for()
    drawn = kernel_page.page.evaluate(_DATA, ["heat", ["values"]])
    np.testing.assert_allclose(drawn, explorer.boundary().ravel(), atol=1e-6)
    kernel_page.page.locator(".df-status", has_text="of the test points right").wait_for()
    explorer.close()


def test_what_nobody_sees_does_not_play(kernel_page: KernelPage) -> None:
    explorer = dataflow_widgets.BoundaryExplorer()
    shown = show(kernel_page, explorer)
    shown.get_by_role("button", name="Play").click()
    wait_for(kernel_page, lambda: int(shown.get_attribute("data-tick") or 0) >= 2)
    kernel_page.page.evaluate("document.getElementById('root').style.marginTop = '4000px'")
    before = -1
    for _ in range(40):  # until it has noticed
        kernel_page.page.wait_for_timeout(500)
        if frames(shown) == before:
            break
        before = frames(shown)
    else:
        raise AssertionError("it plays on, out of sight")
    kernel_page.page.evaluate("document.getElementById('root').style.marginTop = '0'")
    wait_for(kernel_page, lambda: frames(shown) > before)
    explorer.close()


def test_attention_of_one_word_is_clicked(kernel_page: KernelPage) -> None:
    explorer = dataflow_widgets.AttentionExplorer()
    shown = show(kernel_page, explorer)
    shown.get_by_role("button", name="animal", exact=True).click()
    wait_for_value(kernel_page, explorer, "word", 1)
    rows = np.reshape(kernel_page.page.evaluate(_DATA, ["tokens", ["weights"]]), [4, -1, 11])
    np.testing.assert_allclose(rows.sum(axis=2), 1, rtol=1e-5)
    explorer.close()


def test_a_challenge_is_found(kernel_page: KernelPage) -> None:
    explorer = dataflow_widgets.PipelineExplorer()
    shown = show(kernel_page, explorer)
    item = shown.locator(".df-explorer-challenges li").first
    item.get_by_role("button").click()
    kernel_page.page.locator('.df-explorer-challenges li[data-state="wrong"]').wait_for()
    slider = shown.get_by_label("micro-batches")
    slider.focus()
    kernel_page.page.keyboard.press("End")
    wait_for_value(kernel_page, explorer, "batches", 16)
    item.get_by_role("button").click()
    kernel_page.page.locator('.df-explorer-challenges li[data-state="right"]').wait_for()
    assert "Found. The bubble is 15.8%" in (item.text_content() or "")
    explorer.close()


def test_the_code_is_shown(kernel_page: KernelPage) -> None:
    explorer = dataflow_widgets.StalenessExplorer(workers=7)
    shown = show(kernel_page, explorer)
    shown.get_by_role("button", name="Show the code").click()
    code = shown.locator(".df-explorer-code pre")
    code.wait_for()
    assert "StalenessExplorer(workers=7)" in (code.text_content() or "")
    explorer.close()


# A control of each that is quick to record, and moves something by itself.
MOVED = {
    "OptimizerExplorer": "momentum",
    "BoundaryExplorer": "regularization (L2)",
    "ConvolutionExplorer": "dilation",
    "GradientFlowExplorer": "learning rate",
    "AttentionExplorer": "sharpness of the softmax",
    "RooflineExplorer": "peak, times this machine's",
    "StalenessExplorer": "noise of a mini-batch",
    "PipelineExplorer": "time between stages",
}


@pytest.mark.parametrize("name", NAMES)
def test_two_on_a_page_do_not_meet(kernel_page: KernelPage, name: str) -> None:
    first, second = (getattr(dataflow_widgets, name)() for _ in range(2))
    show(kernel_page, first)
    before = dict(first.values)
    kernel_page.show_widget(second)
    kernel_page.page.wait_for_function(
        "() => document.querySelectorAll('.df-explorer[data-frames]').length === 2"
    )
    kernel_page.page.locator(".df-explorer").nth(1).get_by_label(MOVED[name], exact=True).focus()
    kernel_page.page.keyboard.press("End")
    (spec,) = (s for s in second.form["controls"] if s["label"] == MOVED[name])
    wait_for_value(kernel_page, second, spec["name"], pytest.approx(spec["max"]))
    assert first.values == before
    drawn = kernel_page.page.evaluate(
        "[...document.querySelectorAll('.df-explorer')].map((el) =>"
        " el.querySelectorAll('.df-explorer-panel').length)"
    )
    assert drawn[0] == drawn[1] > 1
    first.close()
    second.close()


@pytest.mark.parametrize("name", NAMES)
def test_a_busy_kernel_is_replaced_by_the_recording_and_comes_back(
    kernel_page: KernelPage, name: str
) -> None:
    explorer = getattr(dataflow_widgets, name)()
    explorer.record(positions=2, ticks=2)
    shown = show(kernel_page, explorer)
    kernel_page.page.evaluate("models[0].busy = true")
    before = frames(shown)
    slider = shown.get_by_label(MOVED[name], exact=True)
    slider.focus()
    kernel_page.page.keyboard.press("End")
    note = shown.locator(".df-note", has_text="The kernel does not answer")
    note.wait_for()
    assert frames(shown) > before
    kernel_page.page.evaluate("models[0].busy = false")
    slider.focus()
    kernel_page.page.keyboard.press("Home")
    (spec,) = (s for s in explorer.form["controls"] if s["label"] == MOVED[name])
    wait_for_value(kernel_page, explorer, spec["name"], pytest.approx(spec["min"]))
    note.wait_for(state="detached")
    explorer.close()


@pytest.mark.parametrize("name", NAMES)
def test_reopened_without_a_kernel_it_moves_by_its_recording(chromium: Browser, name: str) -> None:
    explorer = getattr(dataflow_widgets, name)()
    explorer.record(positions=2, ticks=2)
    explorer._keep_picture()
    page = KernelPage(chromium)
    page._widget = explorer
    state = page._state()
    explorer.close()
    page.page.evaluate("window.makeModel = makeModel = ((make) => (state, kernel) => {"
                       " const model = make(state, kernel); model.busy = true; return model; })"
                       "(makeModel)")  # fmt: skip
    page.show(state | {"payload": {}})
    shown = page.page.locator(".df-explorer[data-frames]")
    shown.wait_for()
    before = frames(shown)
    shown.get_by_label(MOVED[name], exact=True).focus()
    page.page.keyboard.press("End")
    wait_for(page, lambda: frames(shown) > before)
    assert "recorded states" in (shown.locator(".df-note").text_content() or "")
    assert page.failures() == []
    page.close()


def test_two_turns_are_in_flight_and_an_older_answer_sets_no_control_back(
    kernel_page: KernelPage,
) -> None:
    explorer = dataflow_widgets.StalenessExplorer()
    shown = show(kernel_page, explorer)
    rest(shown)
    page = kernel_page.page
    page.evaluate("models[0].underway = []; sent.length = 0")
    slider = shown.get_by_label("learning rate", exact=True)
    slider.focus()
    turns = "sent.filter((m) => m.kind === 'turn')"
    for count in (1, 2):
        page.keyboard.press("PageUp")
        page.wait_for_function(f"() => {turns}.length === {count}")
        page.wait_for_function(f"() => models[0].underway.length === {count}")
    page.keyboard.press("End")
    page.wait_for_timeout(200)  # long enough for a third one
    assert page.evaluate(f"{turns}.map((m) => m.steps)") == [0, 0]
    at_end = slider.input_value()
    before = frames(shown)
    page.evaluate("models[0].underway.shift()()")
    wait_for(kernel_page, lambda: frames(shown) == before + 1)
    assert slider.input_value() == at_end, "the first answer knows nothing of the third value"
    page.wait_for_function(f"() => {turns}.length === 3")
    page.wait_for_function("() => models[0].underway.length === 2")
    assert shown.get_attribute("data-waits") == "true"
    page.evaluate(
        "{ const all = models[0].underway.splice(0); all.forEach((arrive) => arrive()); }"
    )
    rest(shown)
    assert slider.input_value() == at_end
    assert explorer.values["rate"] == 3.0
    explorer.close()


def test_a_frame_changes_only_what_differs(kernel_page: KernelPage) -> None:
    """What stays as it is stays the same element: the page need not lay it out again."""
    explorer = dataflow_widgets.StalenessExplorer()
    shown = show(kernel_page, explorer)
    rest(shown)
    page = kernel_page.page
    page.evaluate("""() => {
      window.kept = [...document.querySelectorAll(".df-explorer-panel text, .df-explorer-panel path")];
      window.curve = document.querySelector(".df-explorer-panel .df-panel-line").getAttribute("d");
    }""")
    before = frames(shown)
    shown.get_by_label("learning rate", exact=True).focus()
    page.keyboard.press("End")
    wait_for_value(kernel_page, explorer, "rate", 3.0)
    wait_for(kernel_page, lambda: frames(shown) > before)
    assert (
        page.evaluate(
            """() => kept.filter((element) => element.isConnected).length / kept.length"""
        )
        > 0.8
    )
    assert page.evaluate(
        "curve !== document.querySelector('.df-explorer-panel .df-panel-line').getAttribute('d')"
    )
    explorer.close()


def test_with_reduced_motion_it_plays_slowly(
    chromium: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_threads(monkeypatch)
    page = KernelPage(chromium)
    page.page.emulate_media(reduced_motion="reduce")
    explorer = dataflow_widgets.OptimizerExplorer()
    shown = show(page, explorer)
    shown.get_by_role("button", name="Play").click()
    rate = page.page.evaluate("""async () => {
      const shown = document.querySelector(".df-explorer");
      const [start, before] = [performance.now(), Number(shown.dataset.frames)];
      while (Number(shown.dataset.frames) < before + 4) await new Promise((resolve) => setTimeout(resolve, 10));
      return (Number(shown.dataset.frames) - before) / (performance.now() - start) * 1000;
    }""")
    assert 0 < rate < 5  # one in 0.3 s
    explorer.close()
    page.close()


LAB = """from dataflow_widgets import OptimizerExplorer
explorer = OptimizerExplorer(rate=0.03)
explorer"""


def test_in_jupyterlab_the_graph_opens_and_a_control_moves_the_picture(
    lab_page: LabPage, jupyter_server: JupyterServer
) -> None:
    lab_page.open_notebook(jupyter_server.write_notebook("explorer.ipynb", [LAB]))
    lab_page.run_all_cells()
    shown = lab_page.output(0).locator(".df-explorer[data-frames]")
    shown.wait_for()
    shown.get_by_label("momentum", exact=True).focus()
    lab_page.page.keyboard.press("End")
    rest(shown)
    lab_page.run_code("assert explorer.values['momentum'] == 0.99, explorer.values")
    lab_page.run_code(
        "explorer.controls['rate'].value = 0.5; assert explorer.values['rate'] == 0.5"
    )
    lab_page.assert_no_cell_failed()
    shown.get_by_role("button", name="Show the graph").click()
    lab_page.output(0).locator(".df-explorer-more .df-graph-view .df-node").first.wait_for()
    lab_page.output(0).locator(".df-explorer-more .df-stepper").wait_for()
    lab_page.screenshot("explorer_graph", shown)
    before = frames(shown)
    shown.get_by_role("button", name="Play").first.click()
    lab_page.page.wait_for_function(
        f"() => Number(document.querySelector('.df-explorer').dataset.frames) > {before + 5}"
    )


def test_the_page_on_explorers_shows_each_in_both_themes() -> None:
    text = (LESSONS / "explorers.md").read_text(encoding="utf-8")
    pictures = dict(re.findall(r"!\[([^\]]+)\]\((images/explorers/[^)]+)\)", text))
    homes = {dataflow_widgets._HOMES[name].rpartition(".")[2] for name in NAMES}
    shown = {Path(target).name for target in pictures.values()}
    assert shown == {f"{home}_{theme}.png" for home in homes for theme in ("light", "dark")}
    for name in shown:
        path = LESSONS / "images" / "explorers" / name
        assert path.stat().st_size <= MAX_PICTURE_BYTES, name
        size_of(path)
    assert all(f"`{name}`" in text for name in NAMES)


def test_the_explorer_of_the_page_works(kernel_page: KernelPage) -> None:
    text = (LESSONS / "explorers.md").read_text(encoding="utf-8")
    code = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[-1]
    assert len(code.splitlines()) <= 50
    names: dict[str, Any] = {}
    exec(code.replace("\nDecay(rate=1.2)", "\nexplorer = Decay(rate=1.2)"), names)
    explorer = names["explorer"]
    shown = show(kernel_page, explorer)
    drawn = kernel_page.page.evaluate(_DATA, ["plot", ["lines", "w", 1]])
    np.testing.assert_allclose(drawn, (-0.2) ** np.arange(21), atol=1e-6)
    slider = shown.get_by_label("rate", exact=True)
    slider.fill("1")
    wait_for_value(kernel_page, explorer, "rate", 1.0)
    shown.get_by_role("button", name="Check").click()
    kernel_page.page.locator('.df-explorer-challenges li[data-state="right"]').wait_for()
    explorer.close()


def test_numbers_stand_under_their_names_in_jupyterlab_too(kernel_page: KernelPage) -> None:
    kernel_page.page.evaluate(_JUPYTERLAB)
    explorer = dataflow_widgets.PipelineExplorer()
    shown = show(kernel_page, explorer)
    for pair in shown.locator(".df-numbers > div").all():
        name, number = pair.locator("dt").bounding_box(), pair.locator("dd").bounding_box()
        assert name and number
        assert name["y"] + name["height"] <= number["y"] + 1
        assert abs(name["x"] - number["x"]) < 1
    explorer.close()


def test_before_the_first_step_a_curve_is_a_point(kernel_page: KernelPage) -> None:
    explorer = dataflow_widgets.GradientFlowExplorer()
    show(kernel_page, explorer)
    loss = kernel_page.page.locator(".df-panel-plot", has_text="Loss")
    assert loss.locator("g > .df-panel-dots").bounding_box()
    explorer.close()

"""ClusterPanel in a real JupyterLab, on a real Ray: launch, disturb, train, and stop a cluster."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.browser.axe import serious_findings
from tests.browser.lab_page import kept_states
from tests.browser.patience import at_rest, eventually, width_of_image

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Locator

    from tests.browser.jupyter_server import JupyterServer
    from tests.browser.lab_page import LabPage

pytestmark = [pytest.mark.browser, pytest.mark.cluster, pytest.mark.timeout(600)]

PANEL = """import dataflow as tf
from dataflow_widgets import ClusterPanel
panel = ClusterPanel()
panel"""


@pytest.fixture
def panel(lab_page: LabPage, jupyter_server: JupyterServer) -> Iterator[Locator]:
    """A panel without a cluster; whatever is launched is stopped."""
    lab_page.page.set_viewport_size({"width": 1400, "height": 1500})
    lab_page.open_notebook(jupyter_server.write_notebook("panel.ipynb", [PANEL]))
    lab_page.run_all_cells()
    widget = lab_page.output(0).locator(".df-cluster-panel")
    widget.locator(".df-cluster-form").wait_for()
    yield widget
    lab_page.run_code("tf.cluster.shutdown()")


def until(lab_page: LabPage, task: str, state: str, seconds: float = 60) -> None:
    lab_page.wait_for(
        f"() => document.querySelector('.df-cluster-table tr[data-task=\"{task}\"]')"
        f"?.dataset.state === '{state}'",
        timeout_seconds=seconds,
    )


def launch(lab_page: LabPage, widget: Locator) -> None:
    widget.get_by_role("button", name="Launch").click()
    widget.locator(".df-cluster-pending").wait_for()
    assert "launching 1 ps and 2 workers" in widget.locator(".df-cluster-pending").text_content()
    # What it does is told meanwhile, with seconds.
    doing = widget.locator(".df-cluster-pending")
    doing.get_by_text(re.compile(r"\d\.\d s: (Starting|Using the) Ray")).wait_for()
    doing.get_by_text(re.compile(r"\d\.\d s: Starting 3 tasks\.")).wait_for()
    assert doing.get_by_role("button", name="Cancel").is_visible()
    for task in ("ps:0", "worker:0", "worker:1"):
        until(lab_page, task, "running", 240)


@pytest.mark.slow
def test_a_cluster_is_launched_disturbed_trained_and_stopped(
    lab_page: LabPage, panel: Locator
) -> None:
    lab_page.screenshot("cluster_panel_empty", panel)
    launch(lab_page, panel)
    assert panel.locator(".df-cluster-table tbody tr[data-task]").count() == 3
    lab_page.run_code("assert panel.cluster.tasks == list(panel.cluster.targets), panel.cluster")
    # The demo trains on both workers; the mode is switched while it runs.
    panel.get_by_role("button", name="Train a demo").click()
    step = "Number(document.querySelector('.df-cluster-training')?.dataset.step)"
    lab_page.wait_for(f"() => {step} > 10")
    panel.locator(".df-cv-part").nth(10).wait_for()
    panel.get_by_role("button", name="worker:1", exact=True).click()
    panel.get_by_role("region", name="log of worker:1").get_by_text("loss").wait_for()
    panel.get_by_label("Slow down worker:1").select_option("0.2")
    lab_page.wait_for(
        "() => document.querySelector('tr[data-task=\"worker:1\"]').dataset.delay === '0.2'"
    )
    at = lab_page.page.evaluate(step)
    lab_page.wait_for(f"() => {step} > {at} + 10")
    for theme in ("Light", "Dark"):
        lab_page.set_theme(f"JupyterLab {theme}")
        at_rest(lab_page.page)
        lab_page.screenshot(f"cluster_panel_{theme.lower()}", panel)
        assert serious_findings(lab_page.page, ".df-cluster-panel") == []
    panel.get_by_label("synchronous", exact=True).check()
    lab_page.wait_for(
        "() => document.querySelector('.df-cluster-training').dataset.mode === 'synchronous'"
    )
    at = lab_page.page.evaluate(step)
    lab_page.wait_for(f"() => {step} > {at} + 10")
    # Paused: to the others it is slow, and a synchronous step waits for it.
    panel.get_by_role("button", name="Pause worker:1").click()
    until(lab_page, "worker:1", "paused")
    panel.locator(".df-cluster-notices", has_text="worker:1 is paused").wait_for()
    panel.get_by_role("button", name="Continue worker:1").first.click()
    until(lab_page, "worker:1", "running")
    at = lab_page.page.evaluate(step)
    lab_page.wait_for(f"() => {step} > {at} + 5")
    # Killed: it is said, it is started again, and it joins the training again.
    pid = panel.locator('tr[data-task="worker:1"]').get_attribute("data-pid")
    panel.get_by_role("button", name="Kill worker:1").click()
    panel.get_by_text("worker:1 died").first.wait_for()
    lab_page.screenshot("cluster_panel_died", panel)
    lab_page.wait_for(
        "() => { const row = document.querySelector('tr[data-task=\"worker:1\"]').dataset;"
        f" return row.state === 'running' && row.pid !== '{pid}'; }}",
        timeout_seconds=60,
    )
    panel.locator(".df-cluster-events", has_text="worker:1 died").wait_for(state="attached")
    at = lab_page.page.evaluate(step)
    lab_page.wait_for(f"() => {step} > {at} + 5")
    panel.get_by_role("button", name="Stop cluster").click()
    panel.locator(".df-cluster-form").wait_for()
    lab_page.wait_for(
        "() => document.querySelector('.df-cluster-panel').dataset.state === 'stopped'"
    )
    panel.locator(".df-cluster-notices", has_text="Launch starts a new one").wait_for()
    # The training ended with it: nothing of it can be pressed, and that its tasks are gone is no failure.
    training = panel.locator(".df-cluster-training")
    training.get_by_text("ended with its cluster").wait_for()
    assert not training.get_by_role("button", name="training").is_visible()
    assert training.get_by_label("synchronous", exact=True).is_disabled()
    assert "UnavailableError" not in training.inner_text()
    # Another one is canceled: the form is back, and says so.
    panel.get_by_role("button", name="Launch").click()
    panel.get_by_role("button", name="Cancel").click()
    panel.locator(
        ".df-status", has_text="The launch was canceled; nothing of it is left"
    ).wait_for()
    assert panel.locator(".df-cluster-form").is_visible()
    assert not panel.locator(".df-cluster-pending").is_visible()
    lab_page.assert_no_cell_failed()


@pytest.mark.slow
def test_keyboard_alone(lab_page: LabPage, panel: Locator) -> None:
    keyboard = lab_page.page.keyboard
    panel.get_by_label("parameter servers").focus()
    keyboard.press("Tab")
    keyboard.type("1")
    keyboard.press("Enter")  # in a field of the form: Launch
    until(lab_page, "worker:0", "running", 90)
    status = panel.locator(".df-status")

    def reach(name: str) -> None:
        for _ in range(60):
            label = "document.activeElement?.getAttribute('aria-label')"
            text = "document.activeElement?.textContent?.trim()"
            if name in (lab_page.page.evaluate(label), lab_page.page.evaluate(text)):
                return
            keyboard.press("Tab")
        raise AssertionError(f"Tab does not reach {name!r}")

    reach("Pause worker:0")
    keyboard.press("Enter")
    until(lab_page, "worker:0", "paused")
    lab_page.wait_for(
        "() => /worker:0 is paused/.test(document.querySelector('.df-status').textContent)"
    )
    assert status.get_attribute("aria-live") == "polite"
    reach("Continue worker:0")
    keyboard.press("Space")
    until(lab_page, "worker:0", "running")
    reach("Slow down worker:0: seconds longer a step")
    keyboard.press("ArrowDown")
    lab_page.wait_for(
        "() => Number(document.querySelector('tr[data-task=\"worker:0\"]').dataset.delay) > 0"
    )
    # A button that cannot be pressed now says why, and keeps the focus.
    keyboard.press("Shift+Tab")
    assert lab_page.page.evaluate("document.activeElement.textContent") == "Pause"
    reach("Kill worker:0")
    keyboard.press("Enter")
    lab_page.wait_for("() => document.querySelector('.df-cluster-eventbox li')")
    count = len(lab_page.cells())
    keyboard.press("d")
    keyboard.press("d")
    assert len(lab_page.cells()) == count
    quiet = panel.evaluate(
        "(w) => [...w.querySelectorAll('button, input, select, summary, [tabindex=\"0\"]')]"
        ".filter((e) => e.dataset.lmSuppressShortcuts !== 'true').map((e) => e.outerHTML)"
    )
    assert quiet == []
    # The form opened while a cluster runs, and a nonsense number.
    panel.get_by_role("button", name="New cluster…").focus()
    keyboard.press("Enter")
    panel.get_by_label("workers", exact=True).fill("")
    keyboard.press("Enter")
    panel.locator(".df-failure").get_by_text("The number of workers is from 0 to 64").wait_for()
    panel.get_by_role("button", name="Stop cluster").focus()
    keyboard.press("Enter")
    lab_page.wait_for(
        "() => document.querySelector('.df-cluster-panel').dataset.state === 'stopped'"
    )


SERVERS = """import socket
import numpy as np
def address():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{s.getsockname()[1]}"
spec = {"ps": [address()], "worker": [address()]}
servers = [tf.train.Server(spec, job, 0) for job in spec]
with tf.device("/job:ps/task:0"):
    w = tf.Variable(np.ones((300, 300), np.float32), name="w")
with tf.device("/job:worker/task:0"):
    y = tf.reduce_sum(tf.matmul(w, w), name="y")
sess = tf.Session(servers[1].target)
sess.run(w.initializer)
servers[0].service.load.delay_seconds = 0.0"""


@pytest.fixture
def made_in_code(lab_page: LabPage, panel: Locator) -> Locator:
    """A cluster of plain servers in the kernel: nothing to launch."""
    lab_page.run_code(SERVERS)
    until(lab_page, "worker:0", "running", 30)
    return panel


def test_clusters_made_in_code_appear_and_their_runs_are_drawn(
    lab_page: LabPage, made_in_code: Locator
) -> None:
    widget = made_in_code
    lab_page.run_code("for _ in range(20): sess.run(y)")
    widget.locator(".df-cv-part").first.wait_for()
    widget.locator(".df-cluster-graph-words", has_text="1 value travels").wait_for()
    widget.locator(".df-cv-ps", has_text="ps:0").wait_for()
    widget.locator(".df-cv-ps .df-cv-part text").get_by_text("w", exact=True).wait_for()
    widget.get_by_text("What travels, as a list").click()
    widget.locator(".df-cluster-transfers", has_text="352 KB").wait_for()
    lab_page.screenshot("cluster_panel_in_code", widget)
    # What cannot be done is said in the widget: these servers live in the kernel itself.
    widget.get_by_role("button", name="Kill worker:0").click()
    widget.locator(".df-failure").get_by_text("lives in this very process").wait_for()
    # While a cell keeps the kernel busy the figures go on.
    lab_page.run_code("import time; servers[1].service.load.delay_seconds = 0.25; time.sleep(2)")
    lab_page.wait_for(
        "() => document.querySelector('tr[data-task=\"worker:0\"]').dataset.delay === '0.25'"
    )
    lab_page.run_code("[server.stop() for server in servers]")
    lab_page.wait_for("() => document.querySelectorAll('tr[data-state=\"running\"]').length === 0")
    widget.locator(".df-cluster-notices").get_by_text("No task of this cluster answers").wait_for()
    lab_page.screenshot("cluster_panel_ended", widget)
    widget.get_by_role("button", name="Clear away").click()
    lab_page.wait_for(
        "() => document.querySelector('.df-cluster-panel').dataset.state === 'stopped'"
    )


def test_hostile_names_and_four_hundred_percent(lab_page: LabPage, made_in_code: Locator) -> None:
    widget = made_in_code
    lab_page.run_code(
        "evil = '<img src=x onerror=window.hacked=1>'\n"
        "import dataflow_widgets.cluster_panel as module\n"
        "module.log_lines = lambda *_: [evil] * 3\n"
        "class Mine:\n"
        "    cluster = panel.cluster\n"
        "    def status(self):\n"
        "        return dict(name=evil, state='running', mode=evil, modes=[evil], num_backups=1,"
        " global_step=1, loss=None, workers=[], errors={evil: evil}, trouble=evil)\n"
        "    start = stop = switch = None\n"
        "panel.follow(Mine())\n"
        "from dataflow.cluster import Event\n"
        "panel.cluster.events.append(Event(1.0, evil, 'died', evil))\n"
        "panel.title = evil\n"
    )
    widget.get_by_role("button", name="worker:0", exact=True).click()
    widget.locator(".df-cluster-log").get_by_text("<img").wait_for()
    widget.locator(".df-cluster-training h4").get_by_text("<img").wait_for()
    lab_page.page.wait_for_timeout(800)
    assert widget.locator("img").count() == 0
    assert lab_page.page.evaluate("window.hacked") is None
    # 1280 px at 400 % is 320 CSS px: nothing is cut off at the side.
    widget.evaluate("(w) => { w.style.width = '320px'; }")
    wide = (
        "(w) => [...w.querySelectorAll('*')].filter((e) => !e.closest('.df-wide, svg, .df-scroller, thead')"
        " && getComputedStyle(e).position !== 'absolute'"
        " && e.getClientRects().length"
        " && e.getBoundingClientRect().right > w.getBoundingClientRect().right + 1)"
        ".map((e) => e.outerHTML.slice(0, 100))"
    )
    eventually(lab_page.page, lambda: widget.evaluate(wide), [])
    lab_page.screenshot("cluster_panel_narrow", widget)
    lab_page.page.emulate_media(reduced_motion="reduce")
    assert (
        widget.locator(".df-cluster-pending").evaluate(
            "(e) => { e.hidden = false; return getComputedStyle(e, '::before').animationName; }"
        )
        == "none"
    )


def test_looked_at_only_while_in_sight(lab_page: LabPage, made_in_code: Locator) -> None:
    lab_page.run_code("assert panel._follower.thread is not None")
    lab_page.run_code(
        "from IPython.display import HTML\nHTML('<div style=\"height:4000px\"></div>')"
    )
    lab_page.page.evaluate(
        "document.querySelectorAll('.jp-Cell')[document.querySelectorAll('.jp-Cell').length - 1]"
        ".scrollIntoView({block: 'end'})"
    )
    lab_page.run_until("panel._num_open == 0 and panel._follower.thread is None")


def test_reopened_without_a_kernel(
    lab_page: LabPage, made_in_code: Locator, jupyter_server: JupyterServer
) -> None:
    assert made_in_code.count() == 1
    # The page sends its picture once it has been quiet for a moment.
    lab_page.wait_until_kept(0)
    lab_page.command("docmanager:save")
    saved = json.loads((jupyter_server.folder / "panel.ipynb").read_text(encoding="utf-8"))
    output = saved["cells"][0]["outputs"][0]["data"]
    assert "data:image/svg+xml" in "".join(output["text/html"])
    kept = json.dumps(output) + json.dumps(kept_states(saved))
    assert len(kept) < 60_000
    lab_page.open_notebook("panel.ipynb", reload=True)  # a new kernel knows nothing of this widget
    image = lab_page.output(0).locator("img:visible").first
    image.wait_for()
    assert width_of_image(image) > 300
    lab_page.run_code("import dataflow as tf")  # for the end of the test

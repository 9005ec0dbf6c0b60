"""ClusterView in a page: played by mouse and keys, and a task that is hurt."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import dataflow as tf
from dataflow.cluster.management.processes import is_running
from dataflow.ops.collective import all_reduce
from dataflow_widgets import ClusterView
from dataflow_widgets.cluster_view.demo import digits_training
from tests.browser.axe import serious_findings
from tests.browser.bare_page import BarePage
from tests.browser.lab_page import screenshot_folder
from tests.browser.live_page import LivePage
from tests.open_files import open_files
from tests.widgets.fake_cluster import FakeCluster

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
PATIENCE_MS = 60_000


def shown(browser: Browser, view: ClusterView, **options: Any) -> BarePage:
    page = BarePage(browser, **options)
    traits = ("kind", "title", "height", "picture", "words", "failure")
    payload = json.loads(json.dumps(view._payload()))
    page.show({name: getattr(view, name) for name in traits} | {"marks": {}, "payload": payload})
    page.page.locator(".df-cluster-view[data-drawn]").wait_for(timeout=PATIENCE_MS)
    return page


@pytest.mark.parametrize("dark", [False, True])
def test_a_simulation_is_played_by_mouse_and_keys(chromium: Browser, dark: bool) -> None:
    view = ClusterView(
        tf.cluster.simulate(3, 1, steps=6, record=True, transfer_seconds=0.05, seed=1)
    )
    page = shown(chromium, view, dark=dark)
    root = page.page.locator(".df-cluster-view")
    assert root.locator(".df-cv-card").count() == 5
    assert root.locator(".df-cv-place").count() == 4
    page.page.get_by_role("button", name="One moment forward").click()
    root.locator(".df-cv-dot").first.wait_for(timeout=PATIENCE_MS)
    assert "parameters" in root.locator(".df-cv-telling").inner_text()
    # A machine has the focus: its keys play, and move to others.
    root.locator(".df-cv-card").first.focus()
    page.page.keyboard.press("n")
    page.page.locator('.df-cluster-view[data-moment="2"]').wait_for(timeout=PATIENCE_MS)
    page.page.keyboard.press("p")
    page.page.locator('.df-cluster-view[data-moment="1"]').wait_for(timeout=PATIENCE_MS)
    page.page.keyboard.press("ArrowDown")
    assert page.page.evaluate("document.activeElement.getAttribute('aria-label')").startswith(
        "worker:"
    )
    # A worker that has sent its gradient waits, and its place at the barrier is filled.
    for _ in range(200):
        if root.locator(".df-cv-there").count():
            break
        page.page.keyboard.press("n")
    assert root.locator(".df-cv-there").count()
    assert "at the barrier" in root.locator(".df-status").inner_text()
    assert serious_findings(page.page, ".df-cluster-view") == []
    assert page.failures() == [] and page.outside == []
    page.close()


def test_a_task_is_hurt_by_mouse_and_keys_and_the_page_says_so(chromium: Browser) -> None:
    cluster = FakeCluster()
    view = ClusterView(cluster)
    page = shown(chromium, view)
    root = page.page.locator(".df-cluster-view")

    def tell() -> None:
        page.page.evaluate(
            "(s) => models.at(-1).custom(s, [])", json.loads(json.dumps(view._state()))
        )

    tell()
    root.locator('.df-cv-card[data-state="running"]').first.wait_for(timeout=PATIENCE_MS)
    card = root.locator(".df-cv-card").nth(2)
    card.click()
    root.get_by_role("button", name="Pause").click()
    wanted = "() => sent.some((m) => m.act?.do === 'pause' && m.act.task === 'worker:0')"
    page.page.wait_for_function(wanted, timeout=PATIENCE_MS)
    root.get_by_label("how slow worker:0 is").select_option("0.5")
    wanted = "() => sent.some((m) => m.act?.do === 'slow_down' && m.act.seconds === 0.5)"
    page.page.wait_for_function(wanted, timeout=PATIENCE_MS)
    card.focus()
    page.page.keyboard.press("k")
    wanted = "() => sent.some((m) => m.act?.do === 'kill' && m.act.task === 'worker:0')"
    page.page.wait_for_function(wanted, timeout=PATIENCE_MS)
    cluster.die("/job:worker/task:0", "killed by signal 9")
    tell()
    root.locator('.df-cv-card[data-state="dead"]').wait_for(timeout=PATIENCE_MS)
    assert root.locator(".df-cv-cut").count() >= 1
    line = root.locator(".df-cv-news li")
    assert "worker:0 died (killed by signal 9)" in line.inner_text()
    tell()
    assert line.count() == 1, "said once, and it stays"
    line.get_by_role("button", name="Dismiss").click()
    dismissed = page.page.evaluate("() => sent.findLast((m) => m.kind === 'dismiss')")
    view._receive(view, dismissed, [])
    tell()
    assert line.count() == 0
    assert root.get_by_role("button", name="Kill").is_disabled()
    assert root.get_by_role("button", name="Restart").is_enabled()
    assert page.failures() == [] and page.outside == []
    page.close()


STEP = "() => Number(document.querySelector('.df-cluster-view')?.dataset.step)"


def line_with(text: str) -> str:
    lines = "[...document.querySelectorAll('.df-cv-news li')]"
    return f"() => {lines}.some((line) => line.textContent.includes({json.dumps(text)}))"


def state_is(task: str, state: str) -> str:
    card = f"[...document.querySelectorAll('.df-cv-card')].find((c) => c.ariaLabel.startsWith('{task},'))"
    return f"() => {card}?.dataset.state === '{state}'"


@pytest.mark.usefixtures("no_gpus")
def test_a_real_cluster_is_watched_hurt_and_changed_by_mouse_and_keys(chromium: Browser) -> None:
    before = open_files()
    cluster = tf.cluster.launch(ps=1, workers=2, backend="threads", logs=False)
    view = ClusterView(cluster, auto_restart=False)
    page = LivePage(chromium)
    try:
        hurt(page, view, cluster)
        assert serious_findings(page.page, ".df-cluster-view") == []
        assert page.failures() == [] and page.outside == [] and view.failure == ""
    finally:
        page.close()
        view.close()
        cluster.stop()
    deadline = time.monotonic() + 60
    while left := left_behind(before):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def left_behind(before: list[str]) -> list[str]:
    """Threads of a cluster in this process, and shared memory and open files more than before."""
    threads = [thread.name for thread in threading.enumerate()]
    left = [n for n in threads if n.startswith(("accept", "link to", "dataflow cluster view"))]
    now = open_files()
    memory = [[f for f in files if f.startswith("/memfd:")] for files in (before, now)]
    # One may be left: the lazily made one of the process's first link.
    if len(memory[1]) > len(memory[0]) or len(now) > len(before) + 1:
        left += [f"{file}: {more} more" for file, more in (Counter(now) - Counter(before)).items()]
    return left


def hurt(page: LivePage, view: ClusterView, cluster: tf.cluster.Cluster) -> None:
    page.show_widget(view)
    root, keyboard = page.page.locator(".df-cluster-view"), page.page.keyboard
    page.until(
        "() => [...document.querySelectorAll('button')].some((b) => b.textContent === 'Train a demo')"
    )
    root.get_by_role("button", name="Train a demo").click()
    page.until(f"() => ({STEP})() > 5")
    page.until("() => Number(document.querySelector('.df-cv-live').dataset.dots) > 0")
    page.until(
        "() => /weights|gradients|biases/.test(document.querySelector('.df-cv-telling').textContent)"
    )
    # By mouse: a task is slow, then late, then cut off and linked again.
    root.get_by_role("button", name="worker:1,").click()
    root.get_by_label("how slow worker:1 is").select_option("0.5")
    page.until(line_with("worker:1 takes 0.5 s longer a step. Its gradients become stale"))
    page.until("() => document.querySelectorAll('.df-cv-lag rect').length > 2", "it falls behind")
    root.get_by_label("how slow worker:1 is").select_option("0")
    page.until(line_with("worker:1 is quick again"))
    root.get_by_label("how late messages of worker:1 are").select_option("0.2")
    page.until(line_with("from and to worker:1 arrives 0.2 s later"))
    page.until("() => document.querySelector('.df-cv-late')")
    root.get_by_role("button", name="Cut link").click()
    page.until(line_with("The link of worker:1 is cut"))
    page.until("() => document.querySelector('.df-cv-cut')")
    assert cluster.status()[2]["is_cut"]
    root.get_by_role("button", name="Mend link").click()
    page.until(line_with("The link of worker:1 is whole"))
    root.get_by_role("button", name="Pause").click()
    page.until(state_is("worker:1", "paused"))
    page.until(line_with("worker:1 is paused"))
    root.get_by_role("button", name="Continue").click()
    page.until(state_is("worker:1", "running"))
    # The training: another mode, batch, number of workers; each said in a line.
    root.get_by_label("mode of the training").select_option("synchronous")
    page.until("() => document.querySelectorAll('.df-cv-place').length === 2")
    page.until(line_with("synchronous. The workers began anew, with the variables as they were"))
    batch = root.get_by_label("examples of each worker a step")
    batch.fill("50")
    batch.press("Enter")
    page.until(line_with("synchronous, 50 examples a step. The workers began anew"))
    workers = root.get_by_label("number of workers")
    workers.fill("3")
    workers.press("Enter")
    page.until(state_is("worker:2", "running"))
    page.until(line_with("The data is dealt anew"))
    root.get_by_label("mode of the training").select_option("backup workers")
    page.until(line_with("backup workers. The workers began anew"))
    backups = root.get_by_label("number of backup workers")
    backups.fill("2")
    backups.press("Enter")
    page.until(lambda: cluster_training(cluster).num_backups == 2)
    at = page.page.evaluate(STEP)
    page.until(f"() => ({STEP})() > {at} + 3", "the training goes on")
    # By keys: the same, and a task that dies stays dead until it is started again.
    root.get_by_role("button", name="worker:0,").focus()
    for key, text in [
        ("s", "worker:0 takes 0.05 s longer a step"),
        ("l", "from and to worker:0 arrives 0.05 s later"),
        ("c", "The link of worker:0 is cut"),
        ("c", "The link of worker:0 is whole"),
        ("p", "worker:0 is paused"),
        ("p", "worker:0 goes on"),
    ]:
        keyboard.press(key)
        page.until(line_with(text))
    keyboard.press("ArrowRight")
    keyboard.press("k")
    page.until(state_is("worker:1", "dead"))
    page.until(line_with("It stays dead until Restart"))
    keyboard.press("r")
    page.until(state_is("worker:1", "running"))
    page.until(line_with("worker:1 was started again and joins the training"))
    keyboard.press("ArrowUp")
    keyboard.press("k")
    page.until(state_is("ps:0", "dead"))
    page.until(line_with("its variables are gone, and the workers cannot step"))
    keyboard.press("Enter")
    root.get_by_role("button", name="Restart").click()
    page.until(state_is("ps:0", "running"))
    page.until(line_with("the training puts its variables back"))
    root.get_by_role("button", name="Dismiss").first.click()
    page.until(
        "() => { document.querySelectorAll('.df-cv-news button').forEach((b) => b.click());"
        " return !document.querySelector('.df-cv-news li'); }"
    )
    root.get_by_label("start again what dies").check()
    page.until(lambda: cluster.auto_restart)
    root.get_by_role("button", name="Stop training").click()
    page.until(lambda: cluster_training(cluster).state == "stopped")
    page.until(lambda: not cluster_training(cluster).status()["workers"])


def cluster_training(cluster: tf.cluster.Cluster) -> tf.cluster.Training:
    (training,) = tf.cluster.trainings(cluster)
    return training


@pytest.mark.cluster
@pytest.mark.slow
@pytest.mark.usefixtures("no_gpus")
def test_a_real_process_is_killed_with_a_key(chromium: Browser) -> None:
    shared = set(os.listdir("/dev/shm"))
    with tf.cluster.launch(ps=1, workers=2, logs=False, restart=False) as cluster:
        training = digits_training(cluster).start()
        view = ClusterView(cluster)
        page = LivePage(chromium)
        page.show_widget(view)
        page.until(f"() => ({STEP})() > 5")
        page.until("() => Number(document.querySelector('.df-cv-live').dataset.dots) > 0")
        pids = [row["pid"] for row in cluster.status()]
        page.page.get_by_role("button", name="worker:1,").focus()
        page.page.keyboard.press("c")
        page.until(line_with("The link of worker:1 is cut"))
        page.page.keyboard.press("c")
        page.until(line_with("The link of worker:1 is whole"))
        page.page.keyboard.press("k")
        page.until(state_is("worker:1", "dead"))
        page.until(line_with("the other workers go on"))
        at = page.page.evaluate(STEP)
        page.until(f"() => ({STEP})() > {at} + 5", "the other worker goes on")
        page.page.keyboard.press("r")
        page.until(state_is("worker:1", "running"))
        assert cluster.pid("worker:1") != pids[2] and not is_running(pids[2])
        pids.append(cluster.pid("worker:1"))
        training.stop()
        page.close()
        view.close()
    tf.cluster.shutdown()
    deadline = time.monotonic() + 60
    while any(map(is_running, pids)) or set(os.listdir("/dev/shm")) - shared:
        assert time.monotonic() < deadline, (pids, set(os.listdir("/dev/shm")) - shared)
        time.sleep(0.05)


def test_the_picture_fits_900_pixels_and_a_narrow_page(chromium: Browser) -> None:
    spec = {"ps": ["localhost:1"], "worker": [f"localhost:{i}" for i in range(2, 10)]}
    page = shown(chromium, ClusterView(tf.train.ClusterSpec(spec)))
    box = page.page.locator(".df-cluster-view").bounding_box()
    assert box is not None and box["height"] <= 900
    page.page.set_viewport_size({"width": 560, "height": 800})
    # Its words stay as large as can be read: it is scrolled, the page is not, and begins with the server.
    places = page.page.evaluate(
        """() => { const svg = document.querySelector(".df-cv-svg"), b = svg.getBoundingClientRect();
          const text = svg.querySelector(".df-detail"), k = b.width / svg.viewBox.baseVal.width;
          const server = svg.querySelector(".df-cv-ps").getBoundingClientRect();
          return { size: k * parseFloat(getComputedStyle(text).fontSize), server: server.right,
            page: document.documentElement.scrollWidth, scrolled: svg.parentElement.scrollWidth }; }"""
    )
    assert places["size"] >= 8.5 and places["server"] <= 560
    assert places["page"] <= 560 < places["scrolled"]
    page.close()


@pytest.mark.usefixtures("no_gpus")
@pytest.mark.parametrize("dark", [False, True])
def test_a_ring_of_workers_is_drawn_with_its_chunks_and_bytes(
    chromium: Browser, dark: bool
) -> None:
    with tf.cluster.launch(ps=1, workers=4, backend="threads", logs=False) as cluster:
        training = digits_training(cluster, mode="all-reduce")
        training.start()
        view = ClusterView(cluster)
        page = LivePage(chromium, dark=dark)
        page.show_widget(view)
        try:
            page.until("() => document.querySelectorAll('.df-cv-arrow').length === 4")
            page.until(f"() => ({STEP})() > 5")
            page.until("() => Number(document.querySelector('.df-cv-live').dataset.dots) > 0")
            page.until(
                "() => /chunk [1-4] of 4, (sum of|reduced)/.test("
                "document.querySelector('.df-cv-telling').textContent)"
            )
            page.until(
                "() => /measured: .*, 1\\.[4-9]. of it/.test("
                "document.querySelector('.df-cv-middle').textContent)"
            )
            page.page.screenshot(path=str(screenshot_folder() / f"ring_{dark}.png"))
            middle = page.page.locator(".df-cv-middle").text_content() or ""
            assert "2(n−1)/n = 1.50" in middle
            assert serious_findings(page.page, ".df-cluster-view") == []
            assert "optimizer's slots: 2.5 KB a worker" in middle
            assert training.slot_bytes() == (2600, 2600)
            training.switch("ZeRO")
            page.until(
                "() => /slots: 652 B a worker of 2.5 KB/.test("
                "document.querySelector('.df-cv-middle').textContent)"
            )
            page.until(f"() => ({STEP})() > {page.page.evaluate(STEP)} + 5")
            page.page.screenshot(path=str(screenshot_folder() / f"zero_{dark}.png"))
            assert training.slot_bytes() == (652, 2600)
            training.switch("asynchronous")
            page.until("() => !document.querySelector('.df-cv-arrow')")
            assert page.failures() == [] and view.failure == ""
        finally:
            page.close()
            view.close()
            training.stop()


@pytest.mark.parametrize("dark", [False, True])
def test_a_recorded_ring_is_played(chromium: Browser, dark: bool) -> None:
    """Chunks travel around the ring as moments go by, and its middle says what was sent."""
    recording = tf.cluster.Recording()
    with tf.cluster.launch(ps=0, workers=5, backend="threads", logs=False) as cluster:

        def work(index: int) -> None:
            task = f"/job:worker/task:{index}"
            graph = tf.Graph()
            with graph.as_default(), tf.device(task):
                mean = all_reduce(tf.ones([30_000]), 5, 5, 1, "Add", "Div")
                with tf.Session(cluster.targets[task], graph=graph) as session:
                    for _ in range(3):
                        recording.run(session, mean)

        threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    page = shown(chromium, ClusterView(recording), dark=dark)
    root = page.page.locator(".df-cluster-view")
    assert root.locator(".df-cv-arrow").count() == 5
    assert "1.60 of it" in (root.locator(".df-cv-middle").text_content() or "")
    forward = page.page.get_by_role("button", name="One moment forward")
    for _ in range(200):
        if root.locator(".df-cv-dot").count() > 1:
            break
        forward.click()
    assert "chunk" in root.locator(".df-cv-telling").inner_text()
    page.page.screenshot(path=str(screenshot_folder() / f"ring_played_{dark}.png"))
    assert serious_findings(page.page, ".df-cluster-view") == []
    assert page.failures() == [] and page.outside == []
    page.close()

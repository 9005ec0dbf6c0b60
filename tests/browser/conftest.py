"""Fixtures for tests in a real browser.

    @pytest.mark.browser
    def test_output(lab_page, jupyter_server):
        lab_page.open_notebook(jupyter_server.write_notebook("a.ipynb", ["6 * 7"]))
        lab_page.run_all_cells()
        assert lab_page.output_text(0) == "42"

A test that leaves loopback, or whose page throws, fails when it ends. When one fails, what its page
and the server said is a section of its report. In CI one that waited in vain is run once more, and the
summary lists it (`RERUN`): that is a fault of the test or of the product, to be found.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest

from dataflow.cli.browser import find_browser
from tests.browser.bare_page import BarePage
from tests.browser.jupyter_server import JupyterServer
from tests.browser.lab_page import LabPage, screenshot_folder
from tests.browser.patience import PATIENCE_SECONDS, new_context
from tests.conftest import IN_CI

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Playwright's own list, which this switch replaces, and the pages of three popups of the address bar:
# each window would load them, for 1.5 s of processor time.
_WITHOUT = (
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup", "AimEnabled"),
    *("AvoidCorsURLLoaderRestartOnRedirect", "AvoidUnnecessaryBeforeUnloadCheckSync"),
    *("DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades"),
    *("LensOverlay", "MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints"),
    *("PaintHolding", "PreconnectToSearch", "TcpPortRandomizationWin"),
    "ThirdPartyStoragePartitioning",
)
CHROMIUM_FLAGS = [
    f"--disable-features={','.join(_WITHOUT)}",
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    # Nothing else is found. (To intercept every request instead would take a tenth of the time of
    # opening JupyterLab, and the page's cache with it.)
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if IN_CI:
        for item in items:
            if item.get_closest_marker("browser"):
                item.add_marker(pytest.mark.flaky(reruns=1, only_rerun=["TimeoutError"]))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    fixtures = getattr(item, "funcargs", {})
    page = fixtures.get("lab_page")
    if report.when == "call" and report.failed and page is not None:
        page.failed = True
        try:
            report.sections.append(("the page", page.report()))
        except Exception as error:  # A page that has gone must not hide the failure.
            report.sections.append(("the page", f"gone: {error}"))
    return report


@pytest.fixture(scope="session")
def jupyter_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterServer]:
    """One JupyterLab for the whole session, on a copy of the lessons."""
    server = JupyterServer(tmp_path_factory.mktemp("jupyter"))
    server.start()
    yield server
    server.stop()


# Not for the whole session: while Playwright's synchronous interface is open, the main thread
# has a running event loop, and asyncio.run fails in every other test of this process.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Headless Chromium."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE_SECONDS * 1000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_browser(), args=CHROMIUM_FLAGS, headless=True
        )
        yield browser
        browser.close()


def _new_page(chromium: Browser, server: JupyterServer) -> LabPage:
    server.reset_settings()
    context = new_context(chromium)
    return LabPage(context.new_page(), server, screenshot_folder())


def _assert_nothing_went_wrong(page: LabPage) -> None:
    assert page.outside_requests == [], "requests that leave the machine"
    assert page.page_errors == [], "uncaught exceptions in the page"


@pytest.fixture(scope="module")
def _kept_pages(chromium: Browser) -> Iterator[list[LabPage]]:
    pages: list[LabPage] = []
    yield pages
    for page in pages:
        page.page.context.close()


@pytest.fixture
def lab_page(
    chromium: Browser, jupyter_server: JupyterServer, _kept_pages: list[LabPage]
) -> Iterator[LabPage]:
    """A page of the running JupyterLab: light, 1280 x 900, without a kernel. The tests of a module
    share it, since loading JupyterLab takes seconds; after a failure the next one gets a new page.
    """
    if not _kept_pages:
        _kept_pages.append(_new_page(chromium, jupyter_server))
    page = _kept_pages[0]
    page.reset()
    yield page
    jupyter_server.delete_sessions()
    if page.failed or page.page_errors or page.outside_requests:
        _kept_pages.clear()
        page.page.context.close()
    _assert_nothing_went_wrong(page)


@pytest.fixture
def bare(chromium: Browser) -> Iterator[BarePage]:
    """A page for widgets without Jupyter, from which no request leaves."""
    page = BarePage(chromium)
    yield page
    assert page.outside == [], "requests that leave the page"
    page.close()

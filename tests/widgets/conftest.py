"""What tests of the widgets need of the process that others used before them."""

from __future__ import annotations

import pytest

from dataflow_widgets import live


@pytest.fixture(autouse=True, scope="module")
def views_of_others_are_gone() -> None:
    """A view that a test of another folder has left follows the runs of this process."""
    for view in list(live._views):
        live.forget(view)

"""What tests of the widgets need of the process that others used before them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import dataflow as tf
from dataflow.runtime import events
from dataflow_widgets import GraphView, Stepper, live
from dataflow_widgets.base import Delivery


@pytest.fixture(autouse=True, scope="module")
def views_of_others_are_gone() -> None:
    """A view that a test of another folder has left follows the runs of this process."""
    for view in list(live._views):
        live.forget(view)


@pytest.fixture
def own_views() -> Iterator[None]:
    """An empty graph for a test, whose views are closed behind it."""
    tf.reset_default_graph()
    Delivery.begun = True
    yield
    for view in list(live._views):
        view.close()
    assert events.listeners == [], "a closed view still listens to runs"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """Every custom message that a widget sends."""
    messages: list[tuple[Any, Any]] = []
    monkeypatch.setattr(
        GraphView, "send", lambda self, content, buffers=None: messages.append((content, buffers))
    )
    monkeypatch.setattr(
        Stepper, "send", lambda self, content, buffers=None: messages.append((content, buffers))
    )
    return messages

"""What a notebook shows is asked of a renderer, which the engine knows nothing of."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import dataflow as tf
from dataflow import notebook, providers


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a renderer of the test's own was asked to show."""
    asked: list[Any] = []

    def render(obj: Any, include: Any, exclude: Any) -> Any:
        asked.append(obj)
        return {"text/plain": "shown"}

    monkeypatch.setitem(providers._providers, "renderer", None)  # put back afterwards
    providers.provide(renderer=render)
    return asked


def test_what_is_displayed_goes_to_the_renderer_that_was_set(rendered: list[Any]) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tensor = tf.constant(1.0) + 2.0
        shown = [graph, tensor, tensor.op, session, session.explain(tensor)]
        for obj in shown:
            assert obj._repr_mimebundle_() == {"text/plain": "shown"}
    assert [id(obj) for obj in rendered] == [id(obj) for obj in shown]


def test_the_widgets_are_the_renderer_and_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert providers.provided("renderer") is notebook.render
    monkeypatch.setitem(sys.modules, "dataflow_widgets.display", None)
    with tf.Graph().as_default():
        assert tf.constant(1.0)._repr_mimebundle_() is None

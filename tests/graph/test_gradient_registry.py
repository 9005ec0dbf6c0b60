"""`ops._gradient_registry`: asked, replaced and restored, as programs that change gradients do."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

import dataflow as tf
from dataflow.python.framework import ops

registry: Any = ops._gradient_registry  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    before = copy.copy(registry._registry)
    assert type(before) is dict
    yield
    registry._registry = before
    assert dict(registry._registry) == before


def gradient(make: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([-1.0, 2.0])
        (found,) = tf.gradients(make(x), x)
        return None if found is None else session.run(found).tolist()


def test_a_name_is_registered_once_by_who_asks_first() -> None:
    for _ in range(2):
        if "Guided" not in registry._registry:

            @ops.RegisterGradient("Guided")
            def guided(op: Any, grad: Any) -> Any:
                return tf.nn.relu(grad) * 7.0

    def overridden(x: Any) -> Any:
        with tf.get_default_graph().gradient_override_map({"Relu": "Guided"}):
            return tf.nn.relu(x)

    assert gradient(overridden) == [7.0, 7.0]
    assert gradient(tf.nn.relu) == [0.0, 1.0]
    assert registry.lookup("Guided") is guided and "Guided" in registry.list()
    with pytest.raises(KeyError, match="two gradients with the name 'Guided'"):
        registry.register(guided, "Guided")


def test_what_is_known_and_what_is_not() -> None:
    assert registry.lookup("Relu") is registry._registry["Relu"]["type"] is not None
    assert registry._registry["ArgMax"] == {"type": None, "location": None}
    assert "Relu" in registry.list() and len(registry._registry) == len(registry.list())
    with pytest.raises(LookupError, match="no entry for: Nothing"):
        registry.lookup("Nothing")


def test_an_entry_is_replaced_taken_out_and_put_back() -> None:
    before = copy.copy(registry._registry)
    registry._registry["Relu"] = {"type": lambda op, grad: grad * 3.0, "location": None}
    registry._registry["Assign"] = {"type": lambda op, grad: (tf.zeros_like(grad), grad)}
    assert gradient(tf.nn.relu) == [3.0, 3.0]
    registry._registry["Relu"] = {"type": None}
    assert gradient(tf.nn.relu) is None
    del registry._registry["Relu"]
    with pytest.raises(LookupError, match="No gradient defined"):
        gradient(tf.nn.relu)
    registry._registry = before
    assert gradient(tf.nn.relu) == [0.0, 1.0]
    assert registry.lookup("Assign") is None

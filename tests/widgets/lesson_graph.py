"""The graph of lesson 2 in the engine, and what a view marks of it."""

from __future__ import annotations

from typing import Any

import dataflow as tf


def lesson() -> dict[str, Any]:
    x, y = tf.constant(2, name="x"), tf.constant(3, name="y")
    add_op = tf.add(x, y, name="add_op")
    mul_op = tf.multiply(x, y, name="mul_op")
    useless = tf.multiply(x, add_op, name="useless")
    pow_op = tf.pow(add_op, mul_op, name="pow_op")
    return {"x": x, "add_op": add_op, "mul_op": mul_op, "useless": useless, "pow_op": pow_op}


def names(view: Any, key: str) -> set[str]:
    return {view._nodes[i]["name"] for i in view.marks[key]}

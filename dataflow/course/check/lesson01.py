"""Checks of lesson 1: nodes, edges, names, shapes."""

from __future__ import annotations

from typing import Any

import dataflow.compat.v1 as tf
from dataflow.course.exercise import begun, exercise, expect, expect_type
from dataflow.course.variants import drawn
from dataflow.graph.graph import Graph


@exercise(
    "Write one line for each letter: two constants, one addition, two multiplications.",
    "A constant for b and one for c. Then each letter reads letters that you have made "
    "already: d reads b and c.",
    lambda v: (
        f'tf.constant({v.b}, name="b"), tf.add(b, c, name="d") and so on, all inside the with block.'
    ),
)
def ex1(graph: Graph) -> str:
    """The graph of d = b + c, e = c * 2, a = d * e."""
    expect_type(isinstance(graph, tf.Graph), f"graph is {type(graph).__name__}, needed a tf.Graph")
    v = drawn("lesson01.ex1")
    ops = {op.name: op for op in graph.get_operations()}
    begun(
        ops,
        "The graph has no node yet. A Python number is none, and neither is what is made outside the with block.",
    )
    missing = [name for name in "bcdea" if name not in ops]
    expect(not missing, f"no node is called {', '.join(missing)}; there are {', '.join(ops)}")
    with tf.Session(graph=graph) as session:
        first = session.run({name: f"{name}:0" for name in "bca"})
        expect(
            (first["b"], first["c"]) == (float(v.b), float(v.c)),
            f"b is {first['b']} and c is {first['c']}, needed {v.b} and {v.c}",
        )
        # Other numbers: a graph that only happens to give 6 is found out.
        other = session.run({name: f"{name}:0" for name in "dea"}, {"b:0": 5.0, "c:0": 4.0})
    expect(other["d"] == 9.0, f"with b = 5 and c = 4, d is {other['d']}, needed b + c = 9")
    expect(other["e"] == 8.0, f"with c = 4, e is {other['e']}, needed c * 2 = 8")
    expect(other["a"] == 72.0, f"with b = 5 and c = 4, a is {other['a']}, needed d * e = 72")
    return (
        f"Right: {len(ops)} nodes, and a is {first['a']}. Fed with b = 5 and c = 4 the same graph "
        "gives 72."
    )


@exercise(
    "Two scopes stand before the operation's own name. After what is an operation called that was "
    "given no name?",
    "Two scopes stand in front, the outer one first. The operation itself was given no name, "
    "so it is called after its type.",
    "Scopes are joined by slashes; a tensor's name ends with a colon and the number of the output.",
)
def ex2(name: Any) -> str:
    """The name of an addition inside two scopes."""
    v = drawn("lesson01.ex2")
    with tf.Graph().as_default(), tf.name_scope(v.outer), tf.name_scope(v.inner):
        real = tf.add(1, 2).name
    expect_type(isinstance(name, str), f"a name is a string, got {type(name).__name__}")
    expect(
        name != real.partition(":")[0],
        f"{name!r} is the name of the operation. Which of its outputs is z?",
    )
    expect(
        name.lower() != real.lower() or name == real,
        f"nearly: {name!r} has a small letter where the type of the operation has a capital one",
    )
    expect(name == real, f"z is not called {name!r}")
    return f"Right: the graph says {real!r}."


@exercise(
    lambda v: f"tf.zeros([{v.rows}, {v.inner}]) is a matrix of that shape.",
    lambda v: (
        f"The inner lengths must agree: {v.rows} rows of {v.inner}, times {v.inner} rows of {v.columns}. "
        "The graph works the shape out when the product is made."
    ),
    "tf.matmul(first, second) is the product; assign it to product, and print it.",
)
def ex3(product: Any) -> str:
    """The product of a [5, 3] and a [3, 7] matrix, unrun."""
    expect_type(
        isinstance(product, tf.Tensor),
        f"product is {type(product).__name__}, needed a tensor: let the graph work out the shape",
    )
    shapes = [
        str(t.shape) if t.shape.ndims is None else t.shape.as_list() for t in product.op.inputs
    ]
    known = all(t.shape.is_fully_defined() for t in product.op.inputs)
    expect(known, f"the factors have shapes {shapes}, so the graph cannot know that of the product")
    expect(product.op.type == "MatMul", f"product is made by {product.op.type}, needed MatMul")
    v = drawn("lesson01.ex3")
    needed = [[v.rows, v.inner], [v.inner, v.columns]]
    expect(
        shapes == needed, f"the factors have shapes {shapes}, needed {needed[0]} and {needed[1]}"
    )
    return (
        f"Right: {product.shape}. The inner {v.inner} is summed over, the outer {v.rows} and "
        f"{v.columns} remain."
    )


@exercise(
    lambda v: f"Which three whole numbers greater than 1 have the product {v.elements}?",
    "The number of elements is the product of the lengths. And zeros are floats unless you "
    "say which dtype.",
    lambda v: f"tf.zeros([...], dtype=tf.int32) with three lengths whose product is {v.elements}.",
)
def ex4(block: Any) -> str:
    """A whole-numbered tensor of rank 3 with 24 elements."""
    expect_type(isinstance(block, tf.Tensor), f"block is {type(block).__name__}, needed a tensor")
    shape = block.shape
    expect(shape.ndims == 3, f"the rank is {shape.ndims} (shape {shape}), needed 3")
    num = drawn("lesson01.ex4").elements
    expect(
        shape.is_fully_defined(), f"{shape} leaves a length open, so nobody can count the elements"
    )
    expect(
        shape.num_elements() == num, f"{shape} has {shape.num_elements()} elements, needed {num}"
    )
    expect(1 not in shape.as_list(), f"{shape} has an axis of length 1")
    expect(block.dtype.is_integer, f"the dtype is {block.dtype.name}, needed whole numbers")
    return f"Right: {shape} of {block.dtype.name}."

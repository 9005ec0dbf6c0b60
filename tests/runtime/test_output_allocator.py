"""Results made in memory that an allocator has: the same results, there or elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.loader import all_kernels
from dataflow.runtime.codegen import Generator
from dataflow.runtime.fetches import FetchPlan
from dataflow.runtime.output_allocator import num_bytes
from dataflow.runtime.plan import Plan
from tests.samples import all_samples
from tests.samples.base import Sample

A = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


pytestmark = pytest.mark.usefixtures("graph")


class Memory:
    """An allocator that remembers what it gave out."""

    def __init__(self, *, has_room: bool = True) -> None:
        self.allocated: list[np.ndarray] = []
        self._has_room = has_room

    def allocate(self, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray | None:
        if not self._has_room:
            return None
        self.allocated.append(np.zeros(shape, dtype))
        self.allocated[-1].fill(7)
        return self.allocated[-1]

    def holds(self, value: Any) -> bool:
        return any(value is array for array in self.allocated)


def function_with_allocator(session: Any, fetches: list[Any], feeds: list[Any]) -> Any:
    """The function of the feeds and an allocator that computes the fetches."""
    plan = Plan(session, FetchPlan(session.graph, fetches, session), feeds)
    generator = Generator(
        plan.ops,
        plan.fetches.tensors,
        feeds,
        plan.bind_kernel,
        plan.bind_variable,
        preallocated=[t.dims is not None and None not in t.dims for t in plan.fetches.tensors],
    )
    return generator.generate().function


def both(fetches: list[Any], feeds: dict[Any, Any]) -> tuple[Any, Memory]:
    """What is computed with an allocator, which is given as well; it is what is computed without."""
    memory = Memory()
    with tf.Session() as session, np.errstate(all="ignore"):
        session.run(tf.global_variables_initializer())
        function = function_with_allocator(session, fetches, list(feeds))
        plain = [np.array(value) for value in function(*feeds.values(), None)]
        full = function(*feeds.values(), Memory(has_room=False))
        results = function(*feeds.values(), memory)
        for want, first, second in zip(plain, full, results, strict=True):
            np.testing.assert_array_equal(first, want)
            np.testing.assert_array_equal(second, want)
            assert np.asarray(second).dtype == want.dtype
    return results, memory


#: What becomes of x, [3, n], and y, [n].
WRITTEN = {
    "Neg": lambda x, y: -x,
    "Exp": lambda x, y: tf.exp(x),
    "Maximum": lambda x, y: tf.maximum(x, 0.5),
    "+": lambda x, y: x + x,
    "-": lambda x, y: x - y,
    "*": lambda x, y: 2.0 * x,
    "/": lambda x, y: y / x,
    "Gather": lambda x, y: tf.gather(x, np.arange(4).reshape(2, 2) % 3),
    "along another axis": lambda x, y: tf.gather(x, [0, 1, 1], axis=1),
}
OWN = {
    "broadcast both ways": lambda x, y: x[:, :1] * y,
    "a view": lambda x, y: tf.reshape(x, [-1]),
    "a sum": lambda x, y: tf.reduce_sum(x, 0),
}


@pytest.mark.parametrize("size", [4, 30_000])
@pytest.mark.parametrize("name", [*WRITTEN, *OWN])
def test_results_in_lent_memory(name: str, size: int) -> None:
    x = tf.placeholder(tf.float32, [3, size])
    y = tf.placeholder(tf.float32, [size])
    result = (WRITTEN | OWN)[name](x, y)
    value = np.resize(A + 0.1, (3, size))
    kept = value.copy()
    (got,), memory = both([result], {x: value, y: value[1] - 0.3})
    assert memory.holds(got) == (name in WRITTEN)
    np.testing.assert_array_equal(value, kept)


@pytest.mark.parametrize("size", [4, 600])
def test_products(size: int) -> None:
    x = tf.placeholder(tf.float32, [3, size])
    y = tf.placeholder(tf.float32, [3, size])
    fetches = [tf.matmul(x, y, a, b) for a, b in ((True, False), (False, True))]
    value = np.resize(A, (3, size))
    got, memory = both(fetches, {x: value, y: value[::-1]})
    assert memory.holds(got[0]) == (size == 600)


def test_only_what_is_asked_for_lies_there() -> None:
    x = tf.placeholder(tf.float32, [3, 4])
    inner = tf.exp(x)
    got, memory = both([tf.sin(inner), inner * 2.0], {x: A})
    assert all(memory.holds(value) for value in got)
    assert len(memory.allocated) == 2


def test_a_variable_is_copied_as_it_is_read() -> None:
    v = tf.get_variable("v", initializer=A)
    memory = Memory()
    with tf.Session() as session:
        session.run(v.initializer)
        variable = session.resources.variable("", "v", tf.float32)
        function = function_with_allocator(session, [v.value()], [])
        (got,) = function(memory)
        np.testing.assert_array_equal(got, A)
        assert memory.holds(got)
        before = variable.array.__array_interface__["data"][0]
        assert variable.exclusive().__array_interface__["data"][0] == before, "nobody else has it"
        assert function(None)[0] is variable.array


def test_a_result_of_another_shape_than_the_graph_says() -> None:
    v = tf.get_variable("v", initializer=A)
    other = tf.assign(v, np.ones((2, 3), np.float32), validate_shape=False)
    fetches = [v.value(), -v, v + v, tf.gather(v, [0, 1, 1])]
    memory = Memory()
    with tf.Session() as session:
        session.run(v.initializer)
        function = function_with_allocator(session, fetches, [])
        session.run(other)
        for value, shape in zip(function(memory), [(2, 3), (2, 3), (2, 3), (3, 3)], strict=True):
            assert value.shape == shape
            assert not memory.holds(value)


def test_an_error_names_its_node() -> None:
    x = tf.placeholder(tf.float32, [3, 4])
    rows = tf.placeholder(tf.int32, [2])
    with tf.Session() as session:
        function = function_with_allocator(session, [tf.gather(x, rows)], [x, rows])
        with pytest.raises(ValueError, match="is not in"):
            function(A, np.array([0, 3], np.int32), Memory())


TAKES_OUT = {op for (op, device), found in all_kernels().items() if found.takes_out}
SAMPLES = [s for s in all_samples() if s.op in TAKES_OUT]


@pytest.mark.parametrize("sample", SAMPLES, ids=[s.id for s in SAMPLES])
def test_kernels_that_take_out_give_the_same(sample: Sample) -> None:
    feeds = {tf.placeholder_with_default(i, np.shape(i)): np.asarray(i) for i in sample.inputs}
    outputs = sample.build(tf, *feeds)
    outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    both([t for t in outputs if t.dtype.kind in "iufc"], feeds)


def test_there_is_a_sample_of_each() -> None:
    assert len(TAKES_OUT) > 10
    assert {s.op for s in SAMPLES} >= TAKES_OUT - {"Gather"}


@pytest.mark.parametrize(
    ("dtype", "shape", "size"),
    [
        (tf.float32, [3, 4], 48),
        (tf.complex128, [2], 32),
        (tf.uint8, [], 1),
        (tf.int16, [5, 0, 2], 0),
        (tf.float32, [None, 4], 0),
        (tf.float32, None, 0),
        (tf.string, [2], 0),
        (tf.bool, [2], 0),
        (tf.bfloat16, [2], 0),
    ],
)
def test_the_size_of_a_value(dtype: Any, shape: Any, size: int) -> None:
    assert num_bytes(tf.placeholder(dtype, shape)) == size

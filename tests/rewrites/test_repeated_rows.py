"""Sums over repeated rows on a GPU: where they are replaced, and where that would be seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.xp import pretend_gpus
from tests.rewrites.rewritten import rewritten

ON_CPU = tf.ConfigProto(device_count={"GPU": 0})
ROWS = np.array([1, 5, 1, 6], np.int32)
START = np.linspace(-1, 1, 21, dtype=np.float32).reshape(7, 3)


@pytest.fixture(autouse=True)
def one_gpu() -> Iterator[None]:
    with pretend_gpus(1):
        yield


def parts() -> Any:
    """A table, the distinct of the fed rows, and the sum of the fed values of each."""
    table = tf.get_variable("table", initializer=START)
    which = tf.placeholder(tf.int32, [None], name="which")
    values = tf.placeholder(tf.float32, [None, 3], name="values")
    distinct, positions = tf.unique(which)
    sums = tf.unsorted_segment_sum(values, positions, tf.shape(distinct)[0])
    return table, distinct, positions, sums


def step_of(build: Callable[..., list[Any]], config: Any) -> tuple[list[Any], Any, bool]:
    """What a step fetches, the table after it, and whether the sum was replaced."""
    with tf.Graph().as_default() as graph:
        table, *others = parts()
        fetches = build(table, *others)
        feeds = {
            graph.get_tensor_by_name("which:0"): ROWS,
            graph.get_tensor_by_name("values:0"): np.ones((4, 3), np.float32),
        }
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            plan = rewritten(session, fetches, list(feeds))
            got = plan.run(list(feeds.values()))
            fired = any(hit.rule == "repeated_rows" for hit in plan.journal)
            return got, session.run(table), fired


def momentum(table: Any, distinct: Any, sums: Any) -> Any:
    """An update by rows as optimizers make it, which can skip rows."""
    return tf.scatter_sub(table, distinct, sums * 0.5)


def twice(table: Any, distinct: Any, positions: Any, sums: Any) -> list[Any]:
    return [momentum(table, distinct, sums).op]


def rows_are_fetched(table: Any, distinct: Any, positions: Any, sums: Any) -> list[Any]:
    return [momentum(table, distinct, sums).op, distinct]


def sums_are_fetched(table: Any, distinct: Any, positions: Any, sums: Any) -> list[Any]:
    return [momentum(table, distinct, sums).op, sums]


def length_is_fetched(table: Any, distinct: Any, positions: Any, sums: Any) -> list[Any]:
    return [momentum(table, distinct, sums).op, tf.size(distinct)]


def sums_are_used_elsewhere(table: Any, distinct: Any, positions: Any, sums: Any) -> list[Any]:
    return [momentum(table, distinct, sums).op, tf.reduce_sum(tf.square(sums))]


def positions_are_used(table: Any, distinct: Any, positions: Any, sums: Any) -> list[Any]:
    return [momentum(table, distinct, sums).op, positions + 1]


def scaled_by_another_row(table: Any, distinct: Any, positions: Any, sums: Any) -> list[Any]:
    other = tf.constant(np.arange(9, dtype=np.float32).reshape(3, 3))
    return [momentum(table, distinct, sums * other).op]


def scaled_by_a_column_of_each(table: Any, distinct: Any, positions: Any, sums: Any) -> list[Any]:
    """Three columns, as many as there are different rows."""
    columns = tf.gather(tf.constant(START.T), distinct, axis=1)
    return [momentum(table, distinct, sums * columns).op]


def scaled_by_a_last_axis(table: Any, distinct: Any, positions: Any, sums: Any) -> list[Any]:
    columns = tf.gather(tf.constant(START.T), distinct, axis=-1)
    return [momentum(table, distinct, sums * columns).op]


def other_rows_change(table: Any, distinct: Any, positions: Any, sums: Any) -> list[Any]:
    return [momentum(table, tf.constant([0, 2, 4]), sums).op]


def by_the_number_of_rows(table: Any, distinct: Any, positions: Any, sums: Any) -> list[Any]:
    count = tf.cast(tf.size(distinct), tf.float32)
    return [momentum(table, distinct, sums / count).op]


def waited_for(table: Any, distinct: Any, positions: Any, sums: Any) -> list[Any]:
    with tf.control_dependencies([distinct]):
        late = tf.identity(table[0])
    return [momentum(table, distinct, sums).op, late]


def another_update_waits(table: Any, distinct: Any, positions: Any, sums: Any) -> list[Any]:
    with tf.control_dependencies([momentum(table, distinct, sums)]):
        later = tf.identity(tf.get_default_graph().get_tensor_by_name("values:0")) * 2.0
    more = tf.unsorted_segment_sum(later, positions, tf.shape(distinct)[0])
    return [momentum(table, distinct, more).op]


def another_update_follows_a_loop(
    table: Any, distinct: Any, positions: Any, sums: Any
) -> list[Any]:
    with tf.control_dependencies([momentum(table, distinct, sums)]):
        start = tf.constant(1.0)
    _, other, later = tf.while_loop(
        lambda i, x, y: i < 2,
        lambda i, x, y: (i + 1, x * 2, y + 1),
        [0, start, tf.get_default_graph().get_tensor_by_name("values:0")],
    )
    more = tf.unsorted_segment_sum(later, positions, tf.shape(distinct)[0])
    return [momentum(table, distinct, more).op, other]


def values() -> Any:
    return tf.get_default_graph().get_tensor_by_name("values:0")


def as_many_sums_as_said(table: Any, distinct: Any, positions: Any, sums: Any) -> list[Any]:
    three = tf.unsorted_segment_sum(values(), positions, tf.placeholder_with_default(3, []))
    return [momentum(table, distinct, three).op]


def the_size_of_something_else(table: Any, distinct: Any, positions: Any, sums: Any) -> list[Any]:
    three = tf.unsorted_segment_sum(values(), positions, tf.shape(values())[1])
    return [momentum(table, distinct, three).op]


def change_of_another() -> Any:
    other = tf.get_variable("other", initializer=0.0)
    with tf.control_dependencies([other.initializer]):
        return other, tf.assign_add(other, 1.0)


def sums_wait(table: Any, distinct: Any, positions: Any, sums: Any) -> list[Any]:
    other, change = change_of_another()
    number = tf.size(distinct)
    with tf.control_dependencies([change]):
        late = tf.unsorted_segment_sum(values(), positions, number)
    with tf.control_dependencies([late]):
        return [momentum(table, distinct, late).op, tf.identity(other)]


def number_waits(table: Any, distinct: Any, positions: Any, sums: Any) -> list[Any]:
    other, change = change_of_another()
    with tf.control_dependencies([change]):
        number = tf.size(distinct)
    late = tf.unsorted_segment_sum(values(), positions, number)
    return [momentum(table, distinct, late).op, other]


def shape_waits(table: Any, distinct: Any, positions: Any, sums: Any) -> list[Any]:
    other, change = change_of_another()
    with tf.control_dependencies([change]):
        shape = tf.shape(distinct)
    late = tf.unsorted_segment_sum(values(), positions, shape[0])
    return [momentum(table, distinct, late).op, other]


def largest_of_each(table: Any, distinct: Any, positions: Any, sums: Any) -> list[Any]:
    largest = tf.unsorted_segment_max(values(), positions, tf.size(distinct))
    return [momentum(table, distinct, largest).op]


def rows_by_which_others_are_read(
    table: Any, distinct: Any, positions: Any, sums: Any
) -> list[Any]:
    seen = tf.gather(tf.constant(START), distinct, axis=0)
    return [momentum(table, distinct, sums).op, tf.reduce_sum(seen)]


def one_of_two_by_other_rows(table: Any, distinct: Any, positions: Any, sums: Any) -> list[Any]:
    return [momentum(table, distinct, sums).op, momentum(table, [0, 2, 4], sums).op]


@pytest.mark.parametrize(
    "build",
    [
        as_many_sums_as_said,
        the_size_of_something_else,
        sums_wait,
        number_waits,
        shape_waits,
        largest_of_each,
        rows_by_which_others_are_read,
        one_of_two_by_other_rows,
        rows_are_fetched,
        sums_are_fetched,
        length_is_fetched,
        sums_are_used_elsewhere,
        positions_are_used,
        scaled_by_another_row,
        scaled_by_a_column_of_each,
        scaled_by_a_last_axis,
        other_rows_change,
        by_the_number_of_rows,
        waited_for,
        another_update_waits,
        another_update_follows_a_loop,
    ],
)
def test_what_would_be_seen_is_left_alone(build: Callable[..., list[Any]]) -> None:
    got, table, fired = step_of(build, None)
    want, wanted_table, _ = step_of(build, ON_CPU)
    assert not fired
    np.testing.assert_allclose(table, wanted_table, rtol=1e-6)
    for a, b in zip(got, want, strict=True):
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-6)


def by_size(table: Any, distinct: Any, positions: Any, sums: Any) -> list[Any]:
    by = tf.unsorted_segment_sum(values(), positions, tf.size(distinct))
    return [momentum(table, distinct, by).op]


def scaled(table: Any, distinct: Any, positions: Any, sums: Any) -> list[Any]:
    return [momentum(table, distinct, tf.identity(tf.square(sums)) / 3.0).op]


def of_two_tables(table: Any, distinct: Any, positions: Any, sums: Any) -> list[Any]:
    slot = tf.get_variable("slot", initializer=START)
    with tf.control_dependencies([slot.initializer]):
        changed = tf.scatter_add(slot, distinct, sums)
    return [momentum(table, distinct, sums).op, changed.op]


@pytest.mark.parametrize("build", [twice, by_size, scaled, of_two_tables])
def test_an_update_by_the_sums_alone_needs_no_distinct_rows(
    build: Callable[..., list[Any]],
) -> None:
    _, table, fired = step_of(build, None)
    _, wanted, fired_on_cpu = step_of(build, ON_CPU)
    assert fired and not fired_on_cpu
    np.testing.assert_allclose(table, wanted, rtol=1e-6)

"""`tf.contrib.graph_editor`: parts of graphs copied, replaced and rewired."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf

ge = tf.contrib.graph_editor


pytestmark = pytest.mark.usefixtures("session")


def names(ops: Any) -> set[str]:
    return {op.name for op in ops}


def diamond() -> tuple[Any, ...]:
    a = tf.constant(3.0, name="a")
    with tf.name_scope("middle"):
        b = tf.multiply(a, 2.0, name="b")
        c = tf.add(a, 1.0, name="c")
    return a, b, c, tf.multiply(b, c, name="d")


def test_a_target_with_other_inputs(session: Any) -> None:
    a, b, _c, d = diamond()
    other = ge.graph_replace(d, {a: tf.constant(1.0)})
    found = ge.graph_replace({"d": d, "list": [b, a * 10.0]}, {b: tf.constant(100.0)})
    assert session.run(other) == 4.0 and session.run(d) == 24.0
    assert other.op.name == "d_1" and other.op.inputs[0].op.name == "middle/b_1"
    assert session.run(found) == {"d": 400.0, "list": [6.0, 30.0]}
    with pytest.raises(ValueError, match="not connected"):
        ge.graph_replace(b, {d: tf.constant(1.0)})


def test_a_step_unrolled_through_the_update(session: Any) -> None:
    """As programs of unrolled GANs do: the loss after a step, as a function of the weights before."""
    w = tf.Variable(2.0, name="w")
    loss = (w - 5.0) ** 2
    after = w - 0.1 * tf.gradients(loss, w)[0]
    unrolled = ge.graph_replace(loss, {w.value(): after})
    (grad,) = tf.gradients(unrolled, w)
    session.run(tf.global_variables_initializer())
    np.testing.assert_allclose(session.run([after, unrolled]), [2.6, 2.4**2], rtol=1e-6)
    np.testing.assert_allclose(session.run(grad), 2 * (2.6 - 5) * 0.8, rtol=1e-5)


def test_a_loop_is_copied_whole(session: Any) -> None:
    a = tf.constant(3.0)
    _, power = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * a), [0, 1.0])
    assert session.run([power, ge.graph_replace(power, {a: tf.constant(2.0)})]) == [27.0, 8.0]


def test_walks_and_filters() -> None:
    a, b, _c, d = diamond()
    assert names(ge.get_backward_walk_ops(b)) == {"a", "middle/b", "middle/b/y"}
    assert names(ge.get_backward_walk_ops(d.op, inclusive=False, stop_at_ts=[b])) == {
        *("a", "middle/c", "middle/c/y")
    }
    assert names(ge.get_forward_walk_ops(a.op)) == {"a", "middle/b", "middle/c", "d"}
    assert names(ge.get_forward_walk_ops(b)) == {"d"}
    assert names(ge.get_forward_walk_ops(a, within_ops_fn=lambda op: op.name != "d")) == {
        *("middle/b", "middle/c")
    }
    assert names(ge.get_walks_intersection_ops(b.op, d.op)) == {"middle/b", "d"}
    graph = tf.get_default_graph()
    assert len(ge.select_ops("^middle/b", graph=graph)) == 2
    assert [t.name for t in ge.filter_ts_from_regex(graph, "d:0$")] == ["d:0"]
    assert set(ge.get_name_scope_ops(graph, "middle")) == set(ge.sgv_scope("middle", graph).ops)
    assert len(ge.get_tensors(graph)) == 6 and ge.get_consuming_ops(b) == [d.op]
    with pytest.raises(ValueError, match="keyword argument 'graph'"):
        ge.select_ops("middle")


def test_views_and_copies(session: Any) -> None:
    a, b, c, d = diamond()
    view = ge.sgv_scope("middle", tf.get_default_graph())
    assert view.inputs == [a] and set(view.outputs) == {b, c} and view.consumers() == [d.op]
    copied, info = ge.copy_with_input_replacements(view, {a: tf.constant(10.0)}, dst_scope="twin")
    assert session.run([info.transformed(b), info.transformed(c)]) == [20.0, 11.0]
    assert info.transformed(b).op.name == "twin/middle/b" and info.transformed(d) is None
    assert info.original(info.transformed(b.op)) is b.op and len(copied.ops) == len(view.ops)
    same, info = ge.copy(view)
    assert session.run(info.transformed(b)) == 6.0 and info.transformed(b).op.name == "middle/b_1"
    assert same.inputs == [a]

    elsewhere = tf.Graph()
    _, info = ge.copy(view, elsewhere)
    with tf.Session(graph=elsewhere) as other:
        assert other.run(info.transformed(b), {"geph__a_0:0": 7.0}) == 14.0
    with pytest.raises(ValueError, match="is not in the other graph"):
        ge.copy_with_input_replacements(view, {}, tf.Graph())


def test_edges_are_moved(session: Any) -> None:
    a, b, c, d = diamond()
    e = tf.constant(100.0)
    assert ge.reroute_ts(e, b, can_modify=[c.op]) == 0
    assert ge.reroute_ts([e], [a], cannot_modify=[b.op]) == 1
    assert session.run([b, c, d]) == [6.0, 101.0, 606.0]
    assert ge.swap_ts(a, e) == 2
    assert session.run([b, c]) == [200.0, 4.0]
    with pytest.raises(ValueError, match="Dtypes"):
        ge.reroute_ts(tf.constant(1), a)
    with pytest.raises(ValueError, match=r"Shapes .* are not compatible"):
        ge.reroute_ts(tf.constant([1.0]), a)


def test_recomputation_as_memory_savers_do_it(session: Any) -> None:
    x = tf.constant([1.0, 2.0])
    first = tf.square(x, name="first")
    middle = tf.exp(first * 0.1, name="middle_out")
    loss = tf.reduce_sum(middle * first)
    stopped = tf.stop_gradient(first)
    ops = ge.get_backward_walk_ops([middle.op], stop_at_ts=[first, x])
    copied, info = ge.copy_with_input_replacements(ge.sgv(ops), {})
    ge.reroute_ts([stopped], [first], can_modify=copied.ops)
    wanted, again = session.run([middle, info._transformed_ops[middle.op].outputs[0]])
    np.testing.assert_array_equal(wanted, again)
    assert session.run(tf.gradients(loss, x)[0]).shape == (2,)
    assert stopped in ge.sgv(copied.ops).inputs


def test_placeholders() -> None:
    t = tf.constant([1.0], name="s/t")
    assert ge.make_placeholder_from_tensor(t).name == "geph__t_0:0"
    assert ge.ph(tf.int32, [2], scope="z").name == "z/geph:0"

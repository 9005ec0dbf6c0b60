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
    assert ge.make_placeholder_from_tensor(t).name == "s/geph__t_0:0"
    assert ge.util.placeholder_name(t, scope="") == "geph__t_0"
    assert ge.util.placeholder_name(ge.make_placeholder_from_tensor(t)) == "s/geph__t_0_1"
    assert ge.util.placeholder_name(scope="a") == "a/geph"
    with pytest.raises(TypeError, match="Expected a tensor"):
        ge.util.placeholder_name(t.op)
    assert ge.ph(tf.int32, [2], scope="z").name == "z/geph:0"


def test_inputs_and_outputs_of_a_view_are_chosen() -> None:
    a, b, c, d = diamond()
    view = ge.sgv(b.op, c.op, d.op)
    names = [t.name for t in view.inputs]
    assert names == ["a:0", "middle/b/y:0", "middle/c/y:0"] and view.outputs == [d]
    chosen = view.remap([a], [0, d])
    assert chosen.inputs == [a] and chosen.outputs == [d, d] and len(view.inputs) == 3
    assert chosen.remap_outputs_make_unique().outputs == [d]
    assert ge.sgv(a.op).remap_outputs_to_consumers().outputs == [a, a]
    assert chosen.remap_default().inputs == view.inputs
    assert chosen.input_index(a) == 0 and chosen.output_index(d) == 0
    with pytest.raises(ValueError, match="none of"):
        view.remap_inputs([d])
    with pytest.raises(ValueError, match="no tensor 3"):
        view.remap_inputs([3])
    with pytest.raises(ValueError, match="an input once"):
        view.remap_inputs([0, 0])
    e = tf.negative(b, name="e")
    whole = ge.sgv(tf.get_default_graph())
    assert set(whole.outputs) == {d, e}
    used = whole.remap_outputs([e]).remove_unused_ops()
    assert {op.name for op in used.ops} == {"a", "middle/b", "middle/b/y", "e"}


def test_what_surrounds_operations() -> None:
    a, b, c, d = diamond()
    with tf.control_dependencies([b.op]):
        e = tf.negative(c, name="e")
    outputs = ge.ControlOutputs(tf.get_default_graph())
    assert set(outputs.get_all()) == {b.op} and outputs.update().get(b.op) == [e.op]
    assert set(ge.get_ops_ios(b.op)) == {a.op, b.op.inputs[1].op, d.op}
    assert e.op in ge.get_ops_ios(b.op, control_ios=outputs)
    assert ge.get_ops_ios(e.op, control_inputs=True) == [c.op, b.op]
    entering, leaving, staying = ge.compute_boundary_ts([b.op, d.op])
    assert entering == [a, b.op.inputs[1], c] and leaving == [d] and staying == [b]
    assert ge.compute_boundary_ts([a.op, b.op])[1:] == ([a, b], [a])
    ops, ts = ge.select_ops_and_ts("^middle/", "(?#ts)^d", graph=tf.get_default_graph())
    assert len(ops) == 4 and ts == [d]
    assert ge.can_be_regex("a") and not ge.can_be_regex(a)
    with pytest.raises(ValueError, match="string or a regex"):
        ge.make_regex(3)
    with pytest.raises(ValueError, match="stands for"):
        ge.check_cios(True, None, outputs)


def test_views_are_exchanged(session: Any) -> None:
    a, b, c, _d = diamond()
    x, y = tf.constant(10.0), tf.constant(20.0)
    ge.swap_ios(ge.sgv(x.op).remap_outputs([0, 0]), ge.sgv(b.op, c.op).remap([], [0, 1]))
    assert session.run(_d) == 100.0  # both ways of d read x
    first, second = ge.reroute_outputs(ge.sgv(y.op), ge.sgv(x.op))
    assert session.run(_d) == 400.0 and first.outputs == [y] and second.outputs == [x]
    ge.swap_inputs([x], ge.sgv(b.op).remap_inputs([a]))
    assert session.run([b, c]) == [20.0, 4.0]
    with pytest.raises(ValueError, match="2 graphs"), tf.Graph().as_default():
        ge.swap_inputs(ge.sgv(b.op), ge.sgv(tf.constant(1.0).op))


def test_parts_are_cut_off_connected_and_passed_by(session: Any) -> None:
    a, b, c, d = diamond()
    with tf.control_dependencies([b.op]):
        e = tf.negative(c, name="e")
    x, y = tf.constant(1.0), tf.constant(2.0)
    ge.connect(ge.sgv(x.op, y.op), ge.sgv(c.op).remap_inputs([0, 1]))
    assert session.run([c, d]) == [3.0, 18.0]
    view, inputs = ge.bypass(ge.sgv(c.op).remap_inputs([0]))
    assert session.run(d) == 6.0 and view.inputs == inputs
    assert session.run(c, {inputs[0]: 5.0}) == 7.0
    view, inputs, outputs = ge.detach(
        ge.sgv(b.op).remap_inputs([0]), control_ios=ge.ControlOutputs(a.graph)
    )
    assert [t.op.name for t in (*inputs, *outputs)] == ["geph__a_0", "middle/geph__b_0"]
    assert session.run(d, {outputs[0]: 7.0}) == 7.0 and session.run(b, {inputs[0]: 4.0}) == 8.0
    assert e.op.control_inputs == [] and view.inputs == inputs


def test_lists_that_can_only_be_read() -> None:
    numbers = ge.util.ListView([0, 1])
    assert len(numbers) == 2 and numbers[1] == 1 and numbers + [2] == [0, 1, 2] and 1 in numbers
    with pytest.raises(TypeError):
        numbers[0] = 3  # type: ignore[index]
    assert ge.util.is_iterable(numbers) and not ge.util.is_iterable(tf.constant([1]))
    t = tf.constant(1)
    assert ge.util.make_list_of_t([t, t.op], ignore_ops=True) == [t]
    assert ge.util.make_list_of_op([t, t.op], ignore_ts=True) == [t.op]
    assert ge.get_unique_graph([t, t.op]) is t.graph and ge.check_graphs(t, t.op) is None
    with pytest.raises(ValueError, match="empty"):
        ge.get_unique_graph([])
    assert ge.util.scope_dirname("a/b") == "a/" and ge.util.scope_basename("a/b") == "b"

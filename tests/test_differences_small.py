"""What programs for TensorFlow 1 met last: gated sparse gradients, unknown ranks, handles, hosts."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf

pytestmark = pytest.mark.usefixtures("graph")


@pytest.mark.parametrize("gate", [0, 1, 2])
def test_a_step_through_rows_of_a_sum_with_a_bias(gate):
    w, b = tf.Variable([[1.0, 2.0], [3.0, 4.0]]), tf.Variable([1.0, -1.0])
    rows = tf.gather(w * 2.0 + b, [0, 0])
    optimizer = tf.train.GradientDescentOptimizer(0.5)
    step = optimizer.minimize(tf.reduce_sum(rows), gate_gradients=gate)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        np.testing.assert_allclose(session.run(w), [[-1.0, 0.0], [3.0, 4.0]])
        np.testing.assert_allclose(session.run(b), [0.0, -2.0])


def test_gather_nd_in_batches_by_indices_of_unknown_rank():
    params = np.arange(12.0).reshape(2, 3, 2)
    indices = tf.placeholder(tf.int32)
    found = tf.gather_nd(params, indices, batch_dims=1)
    with tf.Session() as session:
        assert session.run(found, {indices: [[2], [1]]}).tolist() == [[4.0, 5.0], [8.0, 9.0]]
        pairs = session.run(found, {indices: [[[0, 1]], [[2, 0]]]})
        assert pairs.tolist() == [[1.0], [10.0]]


def test_a_handle_is_fed_as_its_value():
    x = tf.placeholder(tf.float32, [2])
    with tf.Session() as session:
        handle = session.run(tf.get_session_handle(tf.constant([1.0, 2.0])))
        assert session.run(x * 3.0, {x: handle}).tolist() == [3.0, 6.0]


def test_hosts_without_ports_are_addresses_of_a_spec_but_not_of_a_server():
    spec = tf.train.ClusterSpec({"ps": ["a"], "worker": ["b", "c:3"]})
    assert spec.as_dict() == {"ps": ["a"], "worker": ["b", "c:3"]}
    with pytest.raises(ValueError, match="it must be 'host:port'"):
        tf.train.ClusterSpec({"ps": ["a:b"]})
    with pytest.raises(ValueError, match="it must be 'host:port'"):
        tf.train.Server(spec, "ps", 0)


def test_equal_by_identity_is_no_check():
    assert tf.assert_equal(1, 1).type == "NoOp"
    x = tf.constant(1)
    assert tf.assert_equal(x, x).type == "NoOp"
    assert tf.assert_equal(x, tf.constant(1)).type == "Assert"


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="more than the 2 elements"):
        tf.batch_to_space(tf.ones([4, 1, 1, 1]), [[3, 0], [0, 0]], 2)
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="not the handle"),
    ):
        session.partial_run("nothing", tf.constant(1))
    with pytest.raises(ValueError, match="a dict is compared with a dict only"):
        tf.test.TestCase().assertAllClose({"a": 1.0}, [1.0])


def test_a_session_is_not_entered_twice():
    with tf.Graph().as_default(), tf.Session() as sess:
        with pytest.raises(RuntimeError, match="not re-entrant"), sess:
            pass
        assert sess.run(tf.constant(1)) == 1  # the outer block goes on


def test_scopes_of_variables_and_of_names_are_counted_apart():
    with tf.Graph().as_default():
        template = tf.make_template("shared", lambda x: x * tf.get_variable("w", []))
        assert [template(1.0).name, template(1.0).name] == ["shared/mul:0", "shared_1/mul:0"]
        with tf.variable_scope(None, "shared") as scope:
            assert tf.constant(1, name="c").name == "shared_2/c:0"
        assert scope.name == "shared_1"


def test_a_getter_may_keep_a_cell_from_training():
    def untrained(getter, *args, **kwargs):
        return getter(*args, **{**kwargs, "trainable": False})

    with tf.Graph().as_default():
        with tf.variable_scope("untrained", custom_getter=untrained):
            cell = tf.nn.rnn_cell.GRUCell(2)
            cell(tf.ones([1, 2]), tf.zeros([1, 2]))
        assert cell.trainable_variables == tf.trainable_variables() == []
        assert cell.non_trainable_variables == cell.variables == tf.global_variables()

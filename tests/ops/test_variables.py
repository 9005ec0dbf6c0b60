"""Variables and variable scopes: names, sharing, initial values, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def test_nodes_of_a_variable() -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    names = [op.name for op in tf.get_default_graph().get_operations()]
    assert names == ["v/initial_value", "v", "v/Assign", "v/read"]
    assert v.name == "v:0"
    assert v.dtype == tf.float32.as_ref
    assert v.shape.as_list() == [2]
    assert v.initializer.name == "v/Assign"
    assert v.value().name == "v/read:0"


def test_the_slides_variables() -> None:
    my_variable = tf.get_variable("my_variable", [1, 2, 3])
    ints = tf.get_variable(
        "my_int_variable", [1, 2, 3], dtype=tf.int32, initializer=tf.zeros_initializer
    )
    v = tf.get_variable("v", shape=(), initializer=tf.zeros_initializer())
    w = v + 1
    assert isinstance(w, tf.Tensor)
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        assert s.run(my_variable).shape == (1, 2, 3)
        assert s.run(ints).dtype == np.int32
        assert s.run(w) == 1


def test_the_initial_value_gives_the_dtype() -> None:
    assert tf.get_variable("a", initializer=0).dtype.base_dtype == tf.int32
    assert tf.get_variable("b", initializer=0.5).dtype.base_dtype == tf.float32
    assert tf.get_variable("c", initializer=np.float64(1)).dtype.base_dtype == tf.float64
    assert (
        tf.get_variable("d", [2], initializer=tf.zeros_initializer()).dtype.base_dtype == tf.float32
    )
    with pytest.raises(ValueError, match="int32.*float32.*don't match"):
        tf.get_variable("e", initializer=0, dtype=tf.float32)


def test_scopes_and_reuse() -> None:
    with tf.variable_scope("outer"):
        with tf.variable_scope("inner") as inner:
            a = tf.get_variable("w", [2])
            node = tf.constant(1, name="c")
        with tf.variable_scope(inner, reuse=True):
            assert tf.get_variable("w", [2]) is a
        with tf.variable_scope("inner", reuse=tf.AUTO_REUSE):
            assert tf.get_variable("w", [2]) is a
            b = tf.get_variable("new", [1])
    assert a.name == "outer/inner/w:0"
    assert node.name == "outer/inner/c:0"
    assert b.name == "outer/inner/new:0"
    assert tf.get_variable_scope().name == ""


def test_what_sharing_refuses() -> None:
    tf.get_variable("w", [2])
    with pytest.raises(ValueError, match=r"w already exists.*reuse=True.*test_variables.py"):
        tf.get_variable("w", [2])
    with tf.variable_scope("", reuse=True):
        with pytest.raises(ValueError, match="specified shape \\(3,\\) and found shape \\(2,\\)"):
            tf.get_variable("w", [3])
        with pytest.raises(ValueError, match="specified dtype int32"):
            tf.get_variable("w", [2], dtype=tf.int32)
        with pytest.raises(ValueError, match="does not exist"):
            tf.get_variable("nothing", [2])
    with pytest.raises(ValueError, match="fully defined"):
        tf.get_variable("x", [None, 2])


def test_default_names_of_scopes_are_unique() -> None:
    names = []
    for _ in range(2):
        with tf.variable_scope(None, default_name="layer"):
            names.append(tf.get_variable("w", [1]).name)
    assert names == ["layer/w:0", "layer_1/w:0"]


def test_defaults_of_a_scope() -> None:
    with tf.variable_scope(
        "s",
        initializer=tf.constant_initializer(3.0),
        regularizer=lambda v: tf.reduce_sum(v),
        dtype=tf.float64,
    ):
        v = tf.get_variable("v", [2])
    (loss,) = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    with tf.Session() as s:
        s.run(v.initializer)
        assert s.run(loss) == 6
        assert v.dtype.base_dtype == tf.float64


def test_custom_getters() -> None:
    seen = []

    def getter(inner, name, *args, **kwargs):
        seen.append(name)
        return inner(name, *args, **kwargs) * 2

    with tf.variable_scope("s", custom_getter=getter):
        v = tf.get_variable("v", [1], initializer=tf.ones_initializer())
    assert seen == ["s/v"]
    assert v.op.type == "Mul"


def test_variables_of_variables() -> None:
    a = tf.Variable(2.0)
    b = tf.Variable(a.initialized_value() * 10)
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        assert s.run(b) == 20


def test_an_initial_value_from_a_function_is_outside_loops() -> None:
    def body(i):
        v = tf.get_variable("inside", [], initializer=tf.ones_initializer())
        return i + tf.cast(v, tf.int32)

    out = tf.while_loop(lambda i: i < 5, body, [0])
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        assert s.run(out) == 5


def test_partitions() -> None:
    v = tf.get_variable("p", [5, 2], partitioner=tf.fixed_size_partitioner(2))
    assert [(p.op.name, p.shape.as_list()) for p in v] == [
        ("p/part_0", [3, 2]),
        ("p/part_1", [2, 2]),
    ]
    whole = tf.convert_to_tensor(v)
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        parts, together = s.run([list(v), whole])
    np.testing.assert_array_equal(np.concatenate(parts), together)
    with pytest.raises(ValueError, match="one axis"):
        tf.get_variable("q", [4, 4], partitioner=lambda shape, dtype: [2, 2])


def test_partitioners() -> None:
    assert tf.fixed_size_partitioner(3)(shape=tf.TensorShape([10, 4]), dtype=tf.float32) == [3, 1]
    by_size = tf.variable_axis_size_partitioner(max_shard_bytes=64)
    assert by_size(shape=tf.TensorShape([10, 4]), dtype=tf.float32) == [3, 1]
    smallest = tf.min_max_variable_partitioner(max_partitions=5, min_slice_size=64)
    assert smallest(shape=tf.TensorShape([10, 4]), dtype=tf.float32) == [3, 1]


def test_load_and_uninitialized() -> None:
    v = tf.Variable([0.0, 0.0], name="v")
    missing = tf.report_uninitialized_variables()
    with tf.Session() as s:
        assert s.run(missing).tolist() == [b"v"]
        v.load([1.0, 2.0], s)
        assert s.run(missing).tolist() == []
        assert v.eval(s).tolist() == [1, 2]


def test_assignments_check_shapes() -> None:
    v = tf.Variable([0.0, 0.0])
    with pytest.raises(ValueError, match=r"\[2\].*\[3\]"):
        v.assign([1.0, 2.0, 3.0])
    x = tf.placeholder(tf.float32)
    free = tf.assign(v, x, validate_shape=False)
    with tf.Session() as s:
        s.run(v.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="shape"):
            s.run(v.assign(x), {x: [1.0, 2.0, 3.0]})
        assert s.run(v).tolist() == [0, 0]
        assert s.run(free, {x: [1.0, 2.0, 3.0]}).tolist() == [1, 2, 3]


def test_updates_leave_earlier_reads_alone() -> None:
    v = tf.Variable(np.zeros(4, np.float32))
    before = tf.identity(v)
    with tf.control_dependencies([before]):
        add = v.assign_add(tf.ones([4]))
    with tf.control_dependencies([add]):
        after = v.read_value()
    with tf.Session() as s:
        s.run(v.initializer)
        kept = s.run(v)
        a, b = s.run([before, after])
        assert a.tolist() == [0] * 4
        assert b.tolist() == [1] * 4
        assert kept.tolist() == [0] * 4


def test_needs_an_initial_value() -> None:
    with pytest.raises(ValueError, match="initial_value must be specified"):
        tf.Variable()
    with pytest.raises(ValueError, match="must have a shape"):
        tf.Variable(tf.placeholder(tf.float32))
    with pytest.raises(TypeError, match="not iterable"):
        iter(tf.Variable(1.0))


def test_creators_make_the_variables_of_a_graph() -> None:
    """The innermost first; get_variable and layers ask them too; a failure leaves none behind."""
    asked = []

    def frozen(next_creator, **kwargs):
        asked.append(kwargs["name"])
        return next_creator(**{**kwargs, "trainable": False})

    with tf.Graph().as_default():
        with pytest.raises(RuntimeError), tf.variable_creator_scope(frozen):
            tf.Variable(1.0, name="a")
            tf.layers.dense(tf.zeros([1, 2]), 1, name="d")
            raise RuntimeError
        tf.Variable(2.0, name="b")
        assert asked == ["a", "d/kernel", "d/bias"]
        assert [v.op.name for v in tf.trainable_variables()] == ["b"]


def test_replication_is_kept_and_checked() -> None:
    with tf.Graph().as_default():
        v = tf.get_variable(
            "v",
            [1],
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.MEAN,
        )
        assert not v.trainable
        assert v.aggregation is tf.VariableAggregation.MEAN
        on_read = tf.VariableSynchronization.ON_READ
        assert tf.Variable(1.0, trainable=True, synchronization=on_read).trainable
        with pytest.raises(ValueError, match="only for non-trainable"):
            tf.get_variable("w", [1], trainable=True, synchronization=on_read)
        with pytest.raises(ValueError, match="Invalid variable aggregation mode: sum"):
            tf.Variable(1.0, aggregation="sum")


def test_a_slice_is_assigned_by_the_function_too() -> None:
    v = tf.Variable([1.0, 2.0, 3.0])
    part, first = tf.assign(v[1:3], [5.0, 6.0]), tf.assign(v[0], 9.0)
    with tf.Session() as sess:
        sess.run(v.initializer)
        sess.run(part)
        sess.run(first)
        assert sess.run(v).tolist() == [9.0, 5.0, 6.0]


def test_text_starts_empty() -> None:
    v = tf.get_variable("text", [2], tf.string)
    with tf.Session() as sess:
        sess.run(v.initializer)
        assert sess.run(v).tolist() == [b"", b""]


@pytest.mark.parametrize(
    ("method", "row"),
    [
        ("scatter_mul", [2.0, 6.0]),
        ("scatter_div", [0.5, 2.0 / 3.0]),
        ("scatter_min", [1.0, 2.0]),
        ("scatter_max", [2.0, 3.0]),
    ],
)
def test_rows_are_scattered_by_methods(method, row) -> None:
    v = tf.get_variable("v", initializer=[[1.0, 2.0], [7.0, 7.0]])
    rows = tf.IndexedSlices(tf.constant([[2.0, 3.0]]), tf.constant([0]))
    with tf.Session() as sess:
        is_initialized = v.is_initialized()
        assert not sess.run(is_initialized)
        sess.run(v.initializer)
        assert sess.run(is_initialized)
        sess.run(getattr(v, method)(rows))
        np.testing.assert_allclose(sess.run(v), [row, [7.0, 7.0]])
        assert sess.run(v.gather_nd([[1, 0]])).tolist() == [7.0]
        assert sess.run(v.sparse_read([1])).tolist() == [[7.0, 7.0]]


def test_partitioned_variables_are_shared_without_the_partitioner() -> None:
    two = tf.fixed_size_partitioner(2)
    with tf.variable_scope("a", partitioner=two):
        assert tf.get_variable("scalar", []).name == "a/scalar:0"
        v = tf.get_variable("v", [5, 3])
    assert v.as_tensor().name == "a/v:0"
    with tf.variable_scope("a", reuse=True):
        assert tf.get_variable("v") is v
        with pytest.raises(ValueError, match=r"specified shape \(4, 3\)"):
            tf.get_variable("v", [4, 3])
        with pytest.raises(ValueError, match="specified dtype int32"):
            tf.get_variable("v", [5, 3], tf.int32)
        with pytest.raises(ValueError, match=r"specified partitions \[3, 1\]"):
            tf.get_variable("v", [5, 3], partitioner=tf.fixed_size_partitioner(3))
        with pytest.raises(ValueError, match="does not exist"):
            tf.get_variable("w", [5, 3], partitioner=two)
    with pytest.raises(ValueError, match="partitioned version of the variable was found"):
        tf.get_variable("a/v", [5, 3])
    tf.get_variable("whole", [4])
    with pytest.raises(ValueError, match="an unpartitioned version"):
        tf.get_variable("whole", [4], partitioner=two)


@pytest.mark.parametrize("partitioner", [3, lambda shape, dtype: 2, lambda shape, dtype: [0]])
def test_what_is_no_partitioner_is_refused(partitioner) -> None:
    with pytest.raises(ValueError, match="artitioner"):
        tf.get_variable("v", [4], partitioner=partitioner)


def test_create_partitioned_variables() -> None:
    parts = tf.create_partitioned_variables([3, 4], [1, 2], tf.constant_initializer(2.0), name="p")
    assert [(v.name, v.shape.as_list()) for v in parts] == [
        ("p/part_0:0", [3, 2]),
        ("p/part_1:0", [3, 2]),
    ]
    with pytest.raises(ValueError, match="one axis only"):
        tf.create_partitioned_variables([4, 4], [2, 2], tf.zeros_initializer())
    with pytest.raises(ValueError, match="same length"):
        tf.create_partitioned_variables([4, 4], [2], tf.zeros_initializer())


def test_custom_getters_are_told_what_holds() -> None:
    given = {}

    def getter(make, *args, **kwargs):
        given.update(kwargs)
        return make(*args, **kwargs)

    with tf.variable_scope("a", custom_getter=getter):
        tf.get_variable("v", [])
    assert given["trainable"] is True
    assert given["synchronization"] is tf.VariableSynchronization.AUTO
    assert given["aggregation"] is tf.VariableAggregation.NONE


def test_an_initializer_may_need_the_partition() -> None:
    asked = []

    def ones(shape: list[int], dtype: tf.DType, partition_info: object) -> tf.Tensor:
        asked.append((shape, partition_info))
        return tf.ones(shape, dtype)

    with tf.Graph().as_default():
        tf.get_variable("w", [2, 3], initializer=ones)
    assert asked == [([2, 3], None)]


def test_a_counter_of_64_bits_wraps_and_leaves_what_was_read() -> None:
    count = tf.Variable(np.int64(2**63 - 2))
    step = tf.assign_add(count, 1)
    with tf.Session() as session:
        session.run(count.initializer)
        read = [session.run(count)]
        for _ in range(2):
            session.run(step)
            read.append(session.run(count))
    assert read == [2**63 - 2, 2**63 - 1, -(2**63)]
    assert all(type(value) is np.int64 for value in read)


def test_nothing_is_assigned_to_an_empty_slice() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        for use_resource in (False, True):
            v = tf.Variable(tf.zeros([2, 3]), use_resource=use_resource)
            session.run(v.initializer)
            assert session.run(v[8:10, 8:10].assign([[]])).tolist() == [[0.0] * 3] * 2
            with pytest.raises(
                tf.errors.InvalidArgumentError, match="is assigned a value of shape"
            ):
                session.run(v[8:10].assign([[1.0] * 3]))


@pytest.mark.parametrize("dtype", [tf.string, tf.float32])
def test_a_variable_without_elements_needs_no_initializer(dtype: tf.DType) -> None:
    """As TensorFlow's, which count as initialized: what collects the words of an evaluation relies on it."""
    v = tf.Variable([], dtype=dtype, collections=[], trainable=False)
    later = tf.placeholder(dtype, [2])
    more = tf.assign(v, tf.concat([v, later], 0), validate_shape=False)
    value = ["a", "b"] if dtype == tf.string else [1.0, 2.0]
    for _ in range(2):
        with tf.Session() as session:
            assert session.run(tf.is_variable_initialized(v))
            assert session.run(v).shape == (0,)
            session.run(more, {later: value})
            assert session.run(more, {later: value}).shape == (4,)


@pytest.mark.parametrize("arguments", [{"use_resource": True}, {"validate_shape": False}])
def test_one_by_handle_or_of_any_shape_needs_one(arguments: dict[str, bool]) -> None:
    v = tf.Variable(tf.zeros([0, 3]), **arguments)
    with tf.Session() as session:
        assert not session.run(tf.is_variable_initialized(v))
        with pytest.raises(tf.errors.FailedPreconditionError, match="initialize"):
            session.run(tf.identity(v))

"""Graphs: names, scopes, control edges, devices, collections, looking things up."""

from __future__ import annotations

import re
import threading

import numpy as np
import pytest

import dataflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def test_the_slides_first_graph() -> None:
    a = tf.add(3, 5)
    assert str(a) == 'Tensor("Add:0", shape=(), dtype=int32)'
    assert [t.name for t in a.op.inputs] == ["Add/x:0", "Add/y:0"]
    assert tf.Session().run(a) == 8


def test_names_are_unique_whatever_their_case() -> None:
    names = [tf.constant(0, name=n).op.name for n in ("a", "a", "A", "a_1")]
    assert names[0] == "a"
    assert names[1] == "a_1"
    assert len({n.lower() for n in names}) == 4


def test_name_scopes() -> None:
    with tf.name_scope("outer") as outer:
        assert outer == "outer/"
        with tf.name_scope("inner"):
            assert tf.constant(1, name="c").name == "outer/inner/c:0"
        with tf.name_scope("inner"):
            assert tf.constant(1, name="c").name == "outer/inner_1/c:0"
        with tf.name_scope(None):
            assert tf.constant(1, name="c").name == "c:0"
    with tf.name_scope("outer"):
        assert tf.constant(1, name="c").name == "outer_1/c:0"
    with tf.name_scope(outer):
        assert tf.constant(1, name="d").name == "outer/d:0"


def test_names_that_are_not_names() -> None:
    with pytest.raises(ValueError, match="not a valid"):
        tf.constant(1, name="a b")
    with pytest.raises(ValueError, match="not a valid"):
        tf.constant(1, name="_hidden")


def test_default_graphs_nest(graph: tf.Graph) -> None:
    other = tf.Graph()
    with other.as_default():
        assert tf.get_default_graph() is other
        c = tf.constant(1)
    assert c.graph is other
    assert tf.get_default_graph() is graph
    with pytest.raises(AssertionError, match="nested"):
        tf.reset_default_graph()


def test_inputs_choose_their_graph(graph: tf.Graph) -> None:
    other = tf.Graph()
    with other.as_default():
        c = tf.constant(1)
    assert tf.add(c, 1).graph is other


def test_graphs_do_not_mix() -> None:
    with tf.Graph().as_default():
        a = tf.constant(1)
    b = tf.constant(2)
    with pytest.raises(ValueError, match="another graph") as e:
        tf.add(a, b)
    assert "'Const:0' at " in str(e.value) and "tf.reset_default_graph()" in str(e.value)
    (here,) = set(re.findall(r"test_graph\.py, line \d+", str(e.value).partition(" and ")[0]))
    assert here != re.findall(r"test_graph\.py, line \d+", str(e.value))[-1]


def test_a_layer_of_the_graph_before_is_named_by_its_variable() -> None:
    with tf.Graph().as_default():
        model = tf.keras.Sequential([tf.keras.layers.Dense(3, input_shape=(4,), name="mine")])
    x = tf.placeholder(tf.float32, [None, 4])
    with pytest.raises(ValueError, match=r"Built: 'mine/kernel:0' at .* makes its layer or model"):
        model(x)


def test_a_dtype_that_an_op_does_not_take_is_marked_and_has_its_cast() -> None:
    logits = tf.placeholder(tf.float32, [None, 10])
    labels = tf.placeholder(tf.float32, [None], name="labels")
    with pytest.raises(TypeError, match=r"Convert it with tf.cast\(t, tf.int32\)") as e:
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    assert [one.tensor for one in e.value.failed_node.inputs if one.is_wrong] == ["labels:0"]
    with pytest.raises(TypeError) as e:
        tf.exp(tf.constant("text"))
    assert "tf.cast" not in str(e.value), "a text is no number"


def test_control_dependencies(graph: tf.Graph) -> None:
    a, b = tf.constant(1, name="a"), tf.constant(2, name="b")
    with tf.control_dependencies([a]):
        c = tf.constant(3)
        d = tf.add(c, 1, name="d")
        with tf.control_dependencies([b]):
            e = tf.constant(5)
        with tf.control_dependencies(None):
            f = tf.constant(6)
    assert c.op.control_inputs == [a.op]
    assert d.op.control_inputs == []  # it waits for c already, which waits for a
    assert set(e.op.control_inputs) == {a.op, b.op}
    assert f.op.control_inputs == []


def test_devices_merge_from_outside_in() -> None:
    with tf.device("/job:worker/task:7"):
        with tf.device("/gpu:0"):
            a = tf.constant(1)
        with tf.device(None):
            b = tf.constant(1)
        with tf.device(lambda op: "/job:ps/task:1" if op.type == "Const" else "/cpu:0"):
            c = tf.constant(1)
    assert a.device == "/job:worker/task:7/device:GPU:0"
    assert b.device == ""
    assert c.device == "/job:ps/task:1"
    with pytest.raises(ValueError, match="nonsense"), tf.device("/nonsense"):
        pass


def test_collections() -> None:
    tf.add_to_collection("mine", 1)
    tf.get_collection_ref("mine").append(2)
    items = tf.get_collection("mine")
    items.append(3)
    assert tf.get_collection("mine") == [1, 2]
    w = tf.Variable(0.0, name="layer/w")
    tf.Variable(0.0, name="other/w")
    assert tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="layer") == [w]


def test_nodes_that_share_attributes_change_them_alone(graph: tf.Graph) -> None:
    with graph.as_default():
        x = tf.placeholder(tf.float32, [2])
        first, second = tf.tanh(x), tf.tanh(x)
        third = tf.tanh(tf.placeholder(tf.float64, [2]))
        with graph.colocate_with(x.op):
            fourth = tf.tanh(x)
    assert first.op.attrs is second.op.attrs
    first.op._set_attr("_mine", 1)
    assert second.op.attrs == {"T": tf.float32}
    assert third.op.attrs == {"T": tf.float64}
    assert third.dtype is tf.float64
    assert fourth.op.get_attr("_class") == [f"loc:@{x.op.name}".encode()]
    assert "_class" not in second.op.attrs


def test_finalized_graphs_take_no_nodes(graph: tf.Graph) -> None:
    a = tf.constant(1)
    graph.finalize()
    with pytest.raises(RuntimeError, match="finalized"):
        tf.constant(2)
    assert tf.Session().run(a) == 1


def test_looking_up(graph: tf.Graph) -> None:
    a = tf.constant(1, name="alpha")
    assert graph.get_tensor_by_name("alpha:0") is a
    assert graph.get_operation_by_name("alpha") is a.op
    with pytest.raises(KeyError, match="Did you mean 'alpha'"):
        graph.get_operation_by_name("alpah")
    with pytest.raises(KeyError, match="only has 1 outputs"):
        graph.get_tensor_by_name("alpha:1")
    with pytest.raises(ValueError, match='"alpha:0"'):
        graph.get_tensor_by_name("alpha")


def test_a_node_knows_where_it_was_built() -> None:
    a = tf.constant(1)
    assert a.op.built_at.startswith(("tests/graph/test_graph.py, line", __file__))
    assert a.op.traceback[-1].name == "test_a_node_knows_where_it_was_built"


def test_shape_mistakes_are_reported_when_the_node_is_made() -> None:
    x = tf.placeholder(tf.float32, [100, 784], name="x")
    w = tf.zeros([785, 10], name="w")
    with pytest.raises(ValueError, match="100, 784") as caught:
        tf.matmul(x, w, name="logits")
    text = str(caught.value)
    assert isinstance(caught.value, tf.errors.InvalidArgumentError)
    for part in ("MatMul 'logits'", "[785, 10]", "'x:0'", "'w:0'", "built at", "test_graph.py"):
        assert part in text
    before = tf.get_default_graph().version
    with pytest.raises(ValueError):
        tf.matmul(x, w)
    assert tf.get_default_graph().version == before  # nothing half-made


def test_dtype_mistakes_are_reported_when_the_node_is_made() -> None:
    with pytest.raises(TypeError, match="float32 that does not match type int32") as caught:
        tf.add(tf.constant(1), tf.constant(1.0))
    assert "tf.cast" in str(caught.value)


def test_tensors_are_not_numbers() -> None:
    a = tf.constant([1, 2])
    with pytest.raises(TypeError, match="tf.cond"):
        if a:
            pass
    with pytest.raises(TypeError, match="unstack"):
        list(a)
    with pytest.raises(TypeError, match=r"tf.shape"):
        len(a)


def test_set_shape() -> None:
    x = tf.placeholder(tf.float32)
    assert str(x.shape) == "<unknown>"
    x.set_shape([None, 3])
    assert x.shape.as_list() == [None, 3]
    with pytest.raises(ValueError, match="contradicts"):
        x.set_shape([None, 4])


def test_missing_names_are_explained() -> None:
    with pytest.raises(AttributeError, match="Did you mean tf.matmul"):
        tf.matmull


def test_scopes_are_those_of_a_thread() -> None:
    entered, done = threading.Event(), threading.Event()
    names = []

    def work(graph: tf.Graph) -> None:
        with graph.as_default(), tf.name_scope("foo"), tf.variable_scope("bar"):
            entered.set()
            done.wait(30)
            names.append(tf.constant(1.0, name="inside").name)
            names.append(tf.get_variable("v", []).name)

    with tf.Graph().as_default() as graph:
        thread = threading.Thread(target=work, args=(graph,))
        thread.start()
        entered.wait(30)
        names += [tf.constant(2.0, name="outside").name, tf.get_variable("w", []).name]
        done.set()
        thread.join()
    assert names == ["outside:0", "w:0", "foo/bar/inside:0", "bar/v:0"]


def test_inner_colocation_decides_on_the_device_and_outer_groups_are_kept(graph: tf.Graph) -> None:
    """TensorFlow's groups and devices, as tests/oracle/programs/colocation.py asks it."""
    with tf.device("/cpu:0"):
        a = tf.constant(1.0, name="a")
    with tf.device("/cpu:1"):
        b = tf.constant(1.0, name="b")
    with graph.colocate_with(b), graph.colocate_with(a):
        both = tf.constant(1.0)
        with graph.colocate_with(b, ignore_existing=True):
            alone = tf.constant(1.0)
    assert both.op.colocation_groups() == [b"loc:@a", b"loc:@b"]
    assert both.device == a.device
    assert alone.op.colocation_groups() == [b"loc:@b"]
    assert alone.device == b.device


def test_a_variable_is_initialized_where_it_is(graph: tf.Graph) -> None:
    with tf.device(tf.train.replica_device_setter(ps_tasks=2)):
        v = tf.Variable([1.0], name="v")
        w = tf.get_variable("w", [2])
    assert [x.initializer.device for x in (v, w)] == ["/job:ps/task:0", "/job:ps/task:1"]
    assert v.initializer.colocation_groups() == [b"loc:@v"]


def test_a_sum_of_gradients_is_colocated_with_the_first(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [2, 2])
    y = tf.matmul(x, x, name="product") + 1
    (total,) = tf.gradients(y, x, colocate_gradients_with_ops=True)
    assert total.op.type == "AddN"
    assert total.op.colocation_groups() == [b"loc:@product"]


def test_ops_on_a_variable_stand_where_it_is(graph: tf.Graph) -> None:
    """Every node with a reference input; tests/oracle/programs/colocation_of_state.py has them all."""
    with tf.device("/job:ps/task:0"):
        v = tf.Variable([1.0, 2.0], name="v")
    with tf.device(tf.train.replica_device_setter(ps_tasks=2)):
        changes = [v.assign_add([1.0, 1.0]), tf.scatter_update(v, [0], [2.0]), v[:1].assign([3.0])]
        after = tf.identity(changes[0])
    assert [(c.op.device, c.op.colocation_groups()) for c in changes] == [
        ("/job:ps/task:0", [b"loc:@v"])
    ] * 3
    assert after.device == "/job:worker"


def test_initializers_are_in_the_group_of_their_variable(graph: tf.Graph) -> None:
    with tf.device("/cpu:1"):
        w = tf.get_variable("w", [2], initializer=tf.zeros_initializer())
    assert w.initial_value.op.get_attr("_class") == w.op.get_attr("_class") == [b"loc:@w"]
    assert w.initial_value.op.device == ""


def test_gradients_are_summed_on_each_device_first(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [2])
    total = tf.constant(0.0)
    for i in (0, 0, 1, 1):
        with tf.device(f"/cpu:{i}"):
            total += tf.nn.l2_loss(x)
    (gradient,) = tf.gradients(total, x, colocate_gradients_with_ops=True)
    assert [t.op.type for t in gradient.op.inputs] == ["AddN", "AddN"]
    assert sorted(t.device for t in gradient.op.inputs) == ["/device:CPU:0", "/device:CPU:1"]
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        assert session.run(gradient, {x: [1.0, 2.0]}).tolist() == [4.0, 8.0]


def test_devices_around_colocate_with_do_not_reach_into_it(graph: tf.Graph) -> None:
    a = tf.constant(1.0)
    with tf.device("/cpu:1"), graph.colocate_with(a):
        assert tf.constant(1.0).device == ""
        with tf.device("/cpu:2"):
            assert tf.constant(1.0).device == "/device:CPU:2"
    with pytest.raises(ValueError, match="ignore_existing=True"), graph.colocate_with(None):
        pass


def _crossed(first, second):
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)


def _in_a_thread(function):
    """Each thread has stacks of its own: what a wrong order leaves behind ends with it."""
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # tf.device's
def test_scopes_left_in_the_wrong_order_are_errors():
    """As in TensorFlow: what the outer block restores would be undone by the inner one."""
    found = []

    def cross(first, second):
        with tf.Graph().as_default():
            try:
                _crossed(first, second)
            except RuntimeError as error:
                found.append(str(error).split(":")[0])

    def both():
        cross(tf.device("/cpu:0"), tf.device("/cpu:1"))
        cross(tf.variable_scope("a"), tf.variable_scope("b"))

    _in_a_thread(both)
    assert found == [
        "Exiting device scope without proper scope nesting",
        "Improper nesting of variable_scope",
    ]


def test_sessions_left_in_the_wrong_order_are_errors():
    found = []

    def here():
        one, two = tf.Session(), tf.Session()
        try:
            _crossed(one.as_default(), two.as_default())
        except AssertionError as error:
            found.append(str(error))
        interactive = tf.InteractiveSession()
        three = tf.Session()
        with three.as_default():
            interactive.close()
            found.append(tf.get_default_session() is three)

    _in_a_thread(here)
    assert found[0].startswith("Nesting violated for default stack")
    assert found[1:] == [True]


def test_a_scope_that_was_left_too_early_can_be_left_in_its_turn():
    with tf.Graph().as_default(), tf.variable_scope("a"):
        inner = tf.variable_scope("b")
        inner.__enter__()
        with tf.variable_scope("c"):
            with pytest.raises(RuntimeError, match="Improper nesting of variable_scope"):
                inner.__exit__(None, None, None)
            assert tf.get_variable_scope().name == "a/b/c"
        inner.__exit__(None, None, None)
        assert tf.get_variable_scope().name == "a"
    with pytest.raises(TypeError, match="auxiliary_name_scope must be `True` or `False`"):
        tf.variable_scope("a", auxiliary_name_scope="no")
    with (
        tf.Graph().as_default(),
        tf.variable_scope("a", custom_getter=3),
        pytest.raises(ValueError, match="custom_getter which is not callable: 3"),
    ):
        tf.get_variable("v", [1])


def test_scopes_of_slashes_and_names_that_are_none():
    with tf.Graph().as_default(), tf.name_scope("foo"):
        for name, scope in (("/", "/"), ("//", "//"), ("a//b/c", "foo/a//b/c/"), ("", "")):
            with tf.name_scope(name) as entered:
                assert entered == scope
        with pytest.raises(
            TypeError, match="default_name for name_scope must be a string, got list"
        ):
            tf.name_scope("a", [tf.constant(1)])
        tf.constant(1, name="c")
        with pytest.raises(ValueError, match="looks like a tensor name, but is not one"):
            tf.get_default_graph().as_graph_element("foo/c:0:1")


def test_attributes_given_as_messages():
    shape = tf.AttrValue(shape=tf.TensorShape([2]).as_proto())
    graph = tf.Graph()
    made = graph.create_op(
        "Placeholder",
        [],
        [tf.float32],
        attrs={"dtype": tf.AttrValue(type=tf.float32.as_datatype_enum), "shape": shape},
    )
    assert made.outputs[0].dtype == tf.float32
    assert made.outputs[0].shape.as_list() == [2]
    made._set_attr("_mark", tf.AttrValue(s=b"x"))
    assert made.get_attr("_mark") == b"x"
    assert made.node_def.attr["_mark"].s == b"x"


def test_conversions_are_registered_for_types():
    for wrong in (3, (), ("a",)):
        with pytest.raises(TypeError, match="base_type must be a type or a tuple of types"):
            tf.register_tensor_conversion_function(wrong, lambda value: value)
    assert tf.convert_to_tensor(1).dtype == tf.int32


def _built_in_threads(graph, block):
    """A node of each of three threads that are in their blocks at the same time."""
    made = [None] * 3
    barrier = threading.Barrier(3, timeout=30)

    def build(i):
        with block(i):
            barrier.wait()
            with graph.as_default():
                made[i] = tf.constant(1.0, name=f"made{i}").op
            barrier.wait()

    threads = [threading.Thread(target=build, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return made


def test_threads_have_scopes_of_their_own_after_the_switch():
    graph = tf.Graph()
    with graph.as_default():
        leaders = [tf.constant(1.0, name=f"leader{i}").op for i in range(3)]
    with graph.device("/job:ps"):
        graph.switch_to_thread_local()
        graph.switch_to_thread_local()
        inherited = _built_in_threads(graph, lambda i: graph.name_scope(f"n{i}"))
    assert [op.device for op in inherited] == ["/job:ps"] * 3
    assert [op.name for op in inherited] == ["n0/made0", "n1/made1", "n2/made2"]
    devices = _built_in_threads(graph, lambda i: graph.device(f"/replica:{i}"))
    assert [op.device for op in devices] == [f"/job:ps/replica:{i}" for i in range(3)]
    waiting = _built_in_threads(graph, lambda i: graph.control_dependencies([leaders[i]]))
    assert [op.control_inputs for op in waiting] == [[leader] for leader in leaders]
    placed = _built_in_threads(graph, lambda i: graph.colocate_with(leaders[i]))
    assert [op.colocation_groups() for op in placed] == [
        [f"loc:@leader{i}".encode()] for i in range(3)
    ]
    with graph.as_default():
        assert tf.constant(1.0).op.device == ""  # the block of this thread was left
        assert isinstance(graph, tf.Graph)
        with tf.Session() as sess:
            assert sess.run(tf.constant(2.0) + 1.0) == 3.0


def test_tensors_in_a_list_are_cast_where_the_first_is_of_another_dtype_than_wanted():
    whole, part = tf.constant(3), tf.constant(2.5)
    with tf.Session() as sess:
        packed = tf.convert_to_tensor([[whole, 1.5], [part, 2]], tf.float32)
        np.testing.assert_array_equal(sess.run(packed), [[3.0, 1.5], [2.5, 2.0]])
        np.testing.assert_array_equal(sess.run(tf.add(part, [whole, whole])), [5.5, 5.5])
    with pytest.raises(TypeError, match="Cast them"):
        tf.convert_to_tensor([part, whole], tf.float32)
    with pytest.raises(TypeError, match="Cast them"):
        tf.convert_to_tensor([whole, part])


def test_an_op_def_has_the_name_of_its_type() -> None:
    """K-FAC of Baselines asks each operation for ``op.op_def.name``, Tensorpack for ``is_stateful``."""
    with tf.Graph().as_default():
        product = tf.matmul(tf.ones([2, 2]), tf.ones([2, 2]))
        queue = tf.FIFOQueue(1, tf.float32)
    assert product.op.op_def.name == product.op.type == "MatMul"
    assert not product.op.op_def.is_stateful
    assert queue.queue_ref.op.op_def.is_stateful


def test_a_tensor_proto_is_a_value_as_in_tensorflow():
    """Converters of graphs hand on ``node.attr["value"].tensor``; it says its own dtype."""
    block = tf.make_tensor_proto([2, 2], dtype=tf.int32)
    with tf.Graph().as_default(), tf.Session() as sess:
        assert sess.run(tf.constant(block)).tolist() == [2, 2]
        assert tf.constant(block, tf.float32).dtype == tf.int32
        spread = tf.batch_to_space_nd(tf.ones([4, 1, 1, 1]), block, [[0, 0], [0, 0]])
        assert sess.run(spread).shape == (1, 2, 2, 1)
        assert sess.run(tf.convert_to_tensor(tf.make_tensor_proto(3.5)) + 1.0) == 4.5

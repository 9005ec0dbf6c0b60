"""Sessions: fetches, feeds, pruning, errors that leave the session usable."""

from __future__ import annotations

import collections
import inspect
import threading
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.xp import pretend_gpus

pytestmark = pytest.mark.usefixtures("graph")


def test_a_fed_value_without_its_batch_dimension_is_refused_with_advice() -> None:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    anything = tf.placeholder(tf.float32, name="anything")
    with tf.Session() as s:
        with pytest.raises(ValueError, match=r"shape \(3,\) for Tensor 'x:0'.*\n.*batch dimension"):
            s.run(x, {x: [1.0, 2.0, 3.0]})
        with pytest.raises(ValueError, match=r"shape \(1, 2\) for Tensor 'x:0'") as e:
            s.run(x, {x: [[1.0, 2.0]]})
        assert "batch dimension" not in str(e.value)
        assert s.run(anything, {anything: [1.0]}).tolist() == [1.0]


def test_fetches_nest() -> None:
    a, b = tf.constant(1, name="a"), tf.constant([2.0, 3.0], name="b")
    op = tf.group(a, b)
    pair = collections.namedtuple("pair", "x y")
    with tf.Session() as s:
        result = s.run({"list": [a, (b, "a:0")], "pair": pair(a, op), "none": op})
        assert result["list"][0] == 1
        assert result["list"][1][1] == 1
        assert isinstance(result["list"][1], tuple)
        np.testing.assert_array_equal(result["list"][1][0], [2, 3])
        assert result["pair"] == pair(1, None)
        assert result["none"] is None
        assert s.run([]) == []
        ordered = s.run(collections.OrderedDict([("z", a), ("y", a)]))
        assert list(ordered) == ["z", "y"]
        assert isinstance(ordered, collections.OrderedDict)


def test_scalars_are_numpy_scalars_and_arrays_are_the_callers() -> None:
    a = tf.constant(1.5)
    c = tf.constant([1.0, 2.0])
    v = tf.Variable([1.0, 2.0])
    with tf.Session() as s:
        s.run(v.initializer)
        assert type(s.run(a)) is np.float32
        for tensor in (c, v, v + 0.0, tf.identity(v), tf.reshape(v, [1, 2])):
            value = s.run(tensor)
            value += 100  # must not reach the graph or the variable
            assert s.run(v).tolist() == [1, 2]
            assert s.run(c).tolist() == [1, 2]


def test_feeds_are_not_kept() -> None:
    x = tf.placeholder(tf.float32, [2])
    v = tf.Variable([0.0, 0.0])
    with tf.Session() as s:
        fed = np.array([1.0, 2.0], np.float32)
        s.run(v.assign(x), {x: fed})
        fed[:] = 9
        assert s.run(v).tolist() == [1, 2]
        computed = s.run(tf.identity(x), {x: fed})
        computed[:] = 0
        assert fed.tolist() == [9, 9]


def test_what_is_fed_and_fetched_comes_back_as_it_was_fed() -> None:
    x = tf.placeholder(tf.float32)
    text = tf.placeholder(tf.string)
    y = x * 2.0
    with tf.Session() as s:
        fed = np.array([1.0, 2.0], np.float32)
        got, doubled = s.run([x, y], {x: fed})
        assert got is fed
        assert doubled.tolist() == [2, 4]
        assert s.make_callable({"fed": x}, [x])(fed)["fed"] is fed
        assert s.run(y, {y: fed}) is fed
        other = s.run(x, {x: np.array([1.0, 2.0])})
        assert other.dtype == np.float32
        number = s.run(x, {x: 3.0})
        assert isinstance(number, np.ndarray)
        assert number.shape == ()
        assert s.run(text, {text: "a"})[()] == "a"
        assert s.run(text, {text: ["a", b"b"]}).tolist() == ["a", b"b"]
        with pytest.raises(tf.errors.InvalidArgumentError, match="both fed and fetched"):
            s.partial_run_setup([x, y], [x])


def test_the_slides_placeholders() -> None:
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    z = x + y
    with tf.Session() as s:
        assert s.run(z, feed_dict={x: 3, y: 4.5}) == 7.5
        np.testing.assert_array_equal(s.run(z, {x: [1, 3], y: [2, 4]}), [3, 7])


def test_any_tensor_can_be_fed() -> None:
    a = tf.constant(2)
    b = tf.add(a, 1)
    c = tf.multiply(b, 10)
    with tf.Session() as s:
        assert s.run(c, {b: 7}) == 70
        assert s.run(c, {"Add:0": 8}) == 80
        assert s.run(c) == 30


def test_pruning() -> None:
    x, y = tf.constant(2, name="x"), tf.constant(3, name="y")
    add_op = tf.add(x, y, name="add_op")
    mul_op = tf.multiply(x, y, name="mul_op")
    tf.multiply(x, add_op, name="useless")
    pow_op = tf.pow(add_op, mul_op, name="pow_op")
    with tf.Session() as s:
        assert s.run(pow_op) == 15625
        assert s.needed(pow_op) == {"x", "y", "add_op", "mul_op", "pow_op"}
        assert s.needed(pow_op, {add_op: 1}) == {"x", "y", "mul_op", "pow_op"}


def test_pruned_nodes_do_not_run() -> None:
    calls = []
    seen = tf.py_func(lambda: calls.append(1) or np.float32(1), [], tf.float32)
    other = tf.constant(1)
    with tf.Session() as s:
        s.run(other)
        assert not calls
        s.run([seen, other])
        assert calls == [1]


def test_a_partial_run_changes_a_variable_once() -> None:
    a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    v = tf.Variable(1.0)
    changed = tf.assign_add(v, a)
    twice = changed * 2.0
    with tf.control_dependencies([changed.op]):
        behind = a * b
    with tf.Session() as s:
        s.run(v.initializer)
        handle = s.partial_run_setup([changed, twice, behind], [a, b])
        assert s.partial_run(handle, changed, {a: 1.0}) == 2.0
        assert s.partial_run(handle, twice) == 4.0
        assert s.partial_run(handle, behind, {b: 3.0}) == 3.0
        assert s.run(v) == 2.0


def test_partial_runs_of_loops_and_branches() -> None:
    a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    looped = tf.while_loop(lambda i: i < 10.0, lambda i: i + 2.0, [a])
    taken = tf.cond(looped > 0.0, lambda: looped + 1.0, lambda: looped - 1.0)
    with tf.Session() as s:
        handle = s.partial_run_setup([looped, taken, taken * b], [a, b])
        assert s.partial_run(handle, looped, {a: 1.0}) == 11.0
        assert s.partial_run(handle, taken) == 12.0
        assert s.partial_run(handle, "mul:0", {b: 2.0}) == 24.0


def test_a_partial_run_computes_a_branch_again_for_what_it_is_asked_later() -> None:
    a = tf.placeholder(tf.float32, [])

    def branch() -> Any:
        shared = tf.square(a)
        return shared + 1.0, shared * 2.0

    more, twice = tf.cond(a > 0.0, branch, lambda: (a, a))
    with tf.Session() as s:
        handle = s.partial_run_setup([more, twice], [a])
        assert s.partial_run(handle, more, {a: 3.0}) == 10.0
        assert s.partial_run(handle, twice) == 18.0


def test_a_partial_run_is_set_up_with_any_nesting() -> None:
    sparse, one = tf.sparse_placeholder(tf.float32), tf.placeholder(tf.float32, [], name="one")
    total = tf.sparse_reduce_sum(sparse)
    with tf.Session() as s:
        handle = s.partial_run_setup({"total": total, "more": (total + one,)}, {sparse, one})
        value = tf.SparseTensorValue([[0, 1]], [3.0], [2, 2])
        assert s.partial_run(handle, {"t": total}, {sparse: value}) == {"t": 3.0}
        assert s.partial_run(handle, "add:0", {one: 2.0}) == 5.0
        assert s.partial_run(s.partial_run_setup("add:0", "one:0"), [], {"one:0": 1.0}) == []
        with pytest.raises(TypeError, match="Operation"):
            s.partial_run_setup(total, one.op)


def test_a_step_that_fails_ends_a_partial_run() -> None:
    a, b = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    with tf.Session() as s:
        handle = s.partial_run_setup(a + b, [a, b])
        with pytest.raises(ValueError, match="Cannot feed"):  # before it begins
            s.partial_run(handle, "add:0", {a: 1.0, b: [1.0]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="broadcast"):
            s.partial_run(handle, "add:0", {a: [1.0, 2.0], b: [1.0, 2.0, 3.0]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="has failed"):
            s.partial_run(handle, "add:0")


def test_a_partial_run_belongs_to_its_session_while_that_is_open() -> None:
    a = tf.placeholder(tf.float32, [])
    b = a + 1.0
    with tf.Session() as s, tf.Session() as other:
        handle = s.partial_run_setup([b], [a])
        with pytest.raises(tf.errors.InvalidArgumentError, match="another session"):
            other.partial_run(handle, b, {a: 1.0})
        assert s.partial_run(handle, b, {a: 1.0}) == 2.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="'add:0' was fetched already"):
            s.partial_run(handle, b)
    with pytest.raises(RuntimeError, match="closed Session"):
        s.partial_run(handle, b)
    with pytest.raises(RuntimeError, match="closed Session"):
        s.partial_run_setup([b], [a])


def test_an_unfed_placeholder() -> None:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = x * 2.0
    with tf.Session() as s:
        with pytest.raises(tf.errors.InvalidArgumentError, match="placeholder tensor 'x'") as e:
            s.run(y)
        assert "feed_dict" in str(e.value)
        assert "test_session.py" in str(e.value)
        assert e.value.op is x.op
        assert s.run(y, {x: [[1, 2, 3]]}).tolist() == [[2, 4, 6]]


def test_what_to_feed_is_said_in_python() -> None:
    with tf.name_scope("enc"):
        x = tf.placeholder(tf.float32, [], name="x")
    with tf.Session() as s:
        with pytest.raises(tf.errors.InvalidArgumentError) as e:
            s.run(x + 1.0)
        assert "feed_dict={'enc/x:0': value}" in str(e.value)
        assert s.run(x + 1.0, {"enc/x:0": 2.0}) == 3.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="feed_dict={y: value}"):
            s.run(tf.exp(tf.placeholder(tf.float32, [], name="y")))


def test_an_uninitialized_variable() -> None:
    v = tf.Variable(1.0, name="v")
    with tf.Session() as s:
        with pytest.raises(
            tf.errors.FailedPreconditionError, match="uninitialized value v"
        ) as error:
            s.run(v + 1.0)
        assert "built at" in str(error.value) and "test_session.py" in str(error.value)
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
            s.run(v)
        s.run(tf.global_variables_initializer())
        assert s.run(v + 1.0) == 2


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([1.0, 2.0, 3.0], "shape \\(3,\\)"),
        ([[1.0, 2.0]], "shape \\(1, 2\\)"),
        ("text", "Cannot feed"),
        ([[1.0], [1.0, 2.0, 3.0]], "Cannot feed"),
    ],
)
def test_feeds_of_the_wrong_kind(value, words) -> None:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    with tf.Session() as s:
        with pytest.raises(ValueError, match=words) as e:
            s.run(x + 1.0, {x: value})
        assert "'x:0'" in str(e.value)
        assert s.run(x + 1.0, {x: [[0, 0, 0]]}).tolist() == [[1, 1, 1]]


def test_feeding_a_tensor_is_explained() -> None:
    x = tf.placeholder(tf.float32)
    with tf.Session() as s, pytest.raises(TypeError, match="cannot be a tf.Tensor"):
        s.run(x + 1.0, {x: tf.constant(1.0)})


def test_fetches_and_feeds_from_elsewhere() -> None:
    with tf.Graph().as_default():
        other = tf.placeholder(tf.float32)
    a = tf.constant(1)
    with tf.Session() as s:
        with pytest.raises(ValueError, match="not an element of this graph"):
            s.run(other)
        with pytest.raises(TypeError, match="not an element of this graph"):
            s.run(a, {other: 1.0})
        with pytest.raises(ValueError, match="does not exist"):
            s.run("nothing:0")
        with pytest.raises(TypeError, match="invalid type"):
            s.run(None)
        with pytest.raises(TypeError, match="invalid type"):
            s.run(3)
        assert s.run(a) == 1


@pytest.mark.parametrize("num_gpus", [0, 1])
def test_errors_in_kernels_name_the_node(num_gpus: int) -> None:
    with pretend_gpus(num_gpus):  # the learner's node, and not the copy of its value
        _fail_in_a_product()


def _fail_in_a_product() -> None:
    x = tf.placeholder(tf.float32, [None, None], name="x")
    w = tf.zeros([4, 2], name="w")
    y = tf.matmul(x, w, name="product")
    with tf.Session() as s:
        with pytest.raises(tf.errors.InvalidArgumentError) as e:
            s.run(y, {x: np.zeros((2, 3))})
        text = str(e.value)
        for part in ("MatMul 'product'", "'x:0'", "(2, 3)", "(4, 2)", "test_session.py"):
            assert part in text, text
        assert e.value.op is y.op
        assert s.run(y, {x: np.zeros((2, 4))}).shape == (2, 2)


def test_closed_sessions() -> None:
    a = tf.constant(1)
    s = tf.Session()
    assert s.run(a) == 1
    s.close()
    with pytest.raises(RuntimeError, match="closed"):
        s.run(a)
    s.close()


def test_an_empty_graph() -> None:
    with tf.Session() as s, pytest.raises((RuntimeError, ValueError, KeyError)):
        s.run("a:0")


def test_eval_and_default_sessions() -> None:
    a = tf.constant(4)
    with pytest.raises(ValueError, match="no default session"):
        a.eval()
    with tf.Session() as s:
        assert a.eval() == 4
        assert tf.get_default_session() is s
    assert tf.get_default_session() is None
    s = tf.Session()
    with s.as_default():
        assert a.eval() == 4
    assert s.run(a) == 4
    assert a.eval(session=s) == 4


def test_interactive_sessions() -> None:
    s = tf.InteractiveSession()
    try:
        m = tf.matmul(
            tf.constant([6.2, 12.0, 5.9], shape=[1, 3]), tf.constant([9.3, 1.7, 8.8], shape=[3, 1])
        )
        assert str(m) == 'Tensor("MatMul:0", shape=(1, 1), dtype=float32)'
        np.testing.assert_allclose(m.eval(), [[129.98]], rtol=1e-5)
    finally:
        s.close()
    assert tf.get_default_session() is None


def test_a_session_of_another_graph() -> None:
    with tf.Graph().as_default():
        tf.constant(1)
        s = tf.Session()
    with pytest.raises(ValueError, match="another graph"):
        tf.constant(1).eval(session=s)


def test_sessions_take_graphs_targets_and_configs() -> None:
    with pytest.raises(TypeError, match="graph must be"):
        tf.Session(graph=3)
    with pytest.raises(TypeError, match="config must be"):
        tf.Session(config={"a": 1})
    with pytest.raises(ValueError, match="Did you mean 'allow_soft_placement'"):
        tf.ConfigProto(allow_soft_placment=True)
    config = tf.ConfigProto()
    config.gpu_options.allow_growth = True
    config.allow_soft_placement = True
    with tf.Session(config=config) as s:
        assert s.run(tf.constant(1)) == 1


def test_make_callable() -> None:
    x = tf.placeholder(tf.float32, [2])
    call = None
    with tf.Session() as s:
        call = s.make_callable([x * 2.0, x + 1.0], [x])
        a, b = call([1, 2])
        assert a.tolist() == [2, 4]
        assert b.tolist() == [2, 3]
        with pytest.raises(TypeError, match="takes 1 values"):
            call()
        with pytest.raises(ValueError, match="shape"):
            call([1, 2, 3])
    with pytest.raises(RuntimeError, match="closed"):
        call([1, 2])


def test_sessions_hold_their_own_variables() -> None:
    v = tf.Variable(0)
    add = v.assign_add(1)
    with tf.Session() as one, tf.Session() as two:
        one.run(v.initializer)
        two.run(v.initializer)
        one.run(add)
        one.run(add)
        assert one.run(v) == 2
        assert two.run(v) == 0


@pytest.mark.threads
def test_many_threads_on_one_session() -> None:
    x = tf.placeholder(tf.float32, [3])
    y = tf.reduce_sum(x * x)
    v = tf.Variable(0)
    add = tf.assign_add(v, 1, use_locking=True)
    errors = []
    with tf.Session() as s:
        s.run(v.initializer)

        def work(number: int) -> None:
            try:
                for i in range(50):
                    k = float(number + i)
                    assert s.run(y, {x: [k, k, k]}) == pytest.approx(3 * k * k)
                    s.run(add)
            except Exception as e:
                errors.append(e)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(60)
        assert not errors
        assert s.run(v) == 400


def test_nodes_added_later_run_too() -> None:
    with tf.Session() as s:
        a = tf.constant(1)
        assert s.run(a) == 1
        assert s.run(a + 1) == 2


def test_changed_nodes_are_planned_again() -> None:
    a, b = tf.constant(1), tf.constant(10)
    c = tf.add(a, 1)
    with tf.Session() as s:
        assert s.run(c) == 2
        c.op._update_input(0, b)
        assert s.run(c) == 11


def test_partial_runs() -> None:
    calls = []
    a = tf.placeholder(tf.float32, [])
    b = tf.placeholder(tf.float32, [])
    r1 = tf.py_func(lambda v: calls.append(1) or np.float32(v + 1), [a], tf.float32)
    r2 = r1 * b
    with tf.Session() as s:
        handle = s.partial_run_setup([r1, r2], [a, b])
        assert s.partial_run(handle, r1, {a: 1}) == 2
        assert s.partial_run(handle, r2, {b: 5}) == 10
        assert calls == [1]


@pytest.mark.parametrize(
    ("keyword", "meant"),
    [
        ("feed", "feed_dict"),
        ("feeds", "feed_dict"),
        ("feed_dicts", "feed_dict"),
        ("option", "options"),
        ("metadata", "run_metadata"),
    ],
)
def test_a_misspelled_argument_is_answered_with_the_right_one(keyword: str, meant: str) -> None:
    x = tf.placeholder(tf.float32, [])
    y = x + 1.0
    with tf.Session() as s:
        for _ in range(2):  # also where the plan is known
            message = rf"Session.run\(\) .*'{keyword}'. Did you mean {meant}\?"
            with pytest.raises(TypeError, match=message):
                s.run(y, **{keyword: {x: 1.0}})
            assert s.run(y, {x: 1.0}) == 2.0
        with pytest.raises(TypeError, match="'fetches'"):
            s.run(fetch=y)
        with pytest.raises(TypeError, match="It takes fetches, feed_dict, options, run_metadata"):
            s.run(y, qqq=1)
    with tf.train.MonitoredSession() as s:
        with pytest.raises(TypeError, match=f"Did you mean {meant}"):
            s.run(y, **{keyword: {x: 1.0}})


def test_tools_see_the_arguments_of_run() -> None:
    assert list(inspect.signature(tf.Session().run).parameters) == [
        *("fetches", "feed_dict", "options", "run_metadata"),
    ]


def test_the_devices_of_a_session_are_as_many_as_it_was_told() -> None:
    config = tf.ConfigProto(device_count={"CPU": 3, "GPU": 1})
    with pretend_gpus(2):
        with tf.Session(config=config) as s:
            devices = s.list_devices()
        locally = tf.python.client.device_lib.list_local_devices(config)
    names = ["CPU:0", "CPU:1", "CPU:2", "GPU:0"]
    task = "/job:localhost/replica:0/task:0"
    assert [d.name for d in devices] == [f"{task}/device:{name}" for name in names]
    assert [d.name for d in locally] == [f"/device:{name}" for name in names]
    assert [d.device_type for d in devices] == ["CPU", "CPU", "CPU", "GPU"]
    assert all(d.memory_limit == devices[0].memory_limit > 0 for d in devices[:3])
    assert all(d.memory_limit_bytes == d.memory_limit for d in devices)
    with tf.Session(config=tf.ConfigProto(device_count={"GPU": 0})) as s:
        assert len(s.list_devices()) == 1


def test_devices_print_as_tensorflows() -> None:
    config = tf.ConfigProto(device_count={"GPU": 0})
    (local,) = tf.python.client.device_lib.list_local_devices(config)
    assert str(local) == (
        f'name: "/device:CPU:0"\ndevice_type: "CPU"\nmemory_limit: {local.memory_limit}\n'
        f"locality {{\n}}\nincarnation: {local.incarnation}\n"
    )
    assert (local.locality.bus_id, local.locality.numa_node) == (0, 0)
    with tf.Session(config=config) as s:
        (device,), again = s.list_devices(), s.list_devices()
    assert 0 < device.incarnation < 2**64 and device.incarnation != local.incarnation
    assert again[0].incarnation == device.incarnation
    assert repr(device) == (
        "_DeviceAttributes(/job:localhost/replica:0/task:0/device:CPU:0, CPU, "
        f"{device.memory_limit}, {device.incarnation})"
    )
    with pretend_gpus(1):
        gpu = tf.python.client.device_lib.list_local_devices()[1]
    assert f'\nphysical_device_desc: "{gpu.physical_device_desc}"\n' in str(gpu)


def test_where_the_system_does_not_say_how_much_memory_there_is(monkeypatch: Any) -> None:
    monkeypatch.delattr("os.sysconf")
    (device,) = tf.python.client.device_lib.list_local_devices(
        tf.ConfigProto(device_count={"GPU": 0})
    )
    assert device.memory_limit == 0


def test_a_fetch_of_another_graph_is_told_what_to_do() -> None:
    with tf.Graph().as_default():
        elsewhere = tf.constant(1)
    with tf.Graph().as_default(), tf.Session() as s:
        with pytest.raises(
            RuntimeError, match=r"in another graph .* tf\.Session\(graph=t\.graph\)"
        ):
            s.run(elsewhere)
        tf.constant(2)
        with pytest.raises(ValueError, match="not an element of this graph. It belongs to another"):
            s.run(elsewhere)
        with pytest.raises(ValueError, match="'Const'.* It belongs to another graph"):
            s.run(elsewhere.op)


def test_a_run_of_an_empty_graph_says_so() -> None:
    with tf.Session(graph=tf.Graph()) as s:
        with pytest.raises(RuntimeError, match="The Session graph is empty"):
            s.run([])


@pytest.mark.parametrize("value", [1, 1.5, True, np.float32(2)])
def test_a_number_is_no_text(value: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        text = tf.placeholder(tf.string)
        with pytest.raises(TypeError, match="is not compatible with Tensor type string"):
            session.run(text, {text: value})


def test_a_callable_takes_options() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [])
        call = sess.make_callable(x + 1.0, [x], accept_options=True)
        traced = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        metadata = tf.RunMetadata()
        assert call(1.0) == 2.0
        assert call(1.0, options=traced, run_metadata=metadata) == 2.0
        assert metadata.step_stats.dev_stats


def test_options_that_old_programs_set() -> None:
    config = tf.ConfigProto(experimental=tf.ConfigProto.Experimental(executor_type="x"))
    config.session_inter_op_thread_pool.add(num_threads=1)
    config.gpu_options.experimental.use_unified_memory = True
    assert config.session_inter_op_thread_pool[0].num_threads == 1
    assert not tf.ConfigProto().session_inter_op_thread_pool
    copy = tf.ConfigProto()
    copy.CopyFrom(config)
    assert copy == config
    assert tf.RunOptions().experimental.use_run_handler_pool is False
    assert list(tf.RunOptions().debug_options.debug_tensor_watch_opts) == []


@pytest.mark.threads  # without sockets every target is refused
@pytest.mark.parametrize("target", ["INVALID_TARGET", "INVALID://host:1", "local"])
def test_a_target_of_another_kind_is_not_found(target: str) -> None:
    with pytest.raises(tf.errors.NotFoundError, match=r"No session factory.*grpc://host:port"):
        tf.Session(target)


def test_what_partial_runs_refuse() -> None:
    a, b, c = (tf.placeholder(tf.float32, []) for _ in range(3))
    first = a + b
    with tf.Session() as s:
        handle = s.partial_run_setup([first], [a, b])
        for fetches, feeds, message in (
            (first * 1.0, {a: 1.0, b: 2.0}, "as a fetch"),
            (first, {c: 1.0}, "as a feed"),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                s.partial_run(handle, fetches, feeds)
        s.partial_run(handle, first, {a: 1.0, b: 2.0})
        with pytest.raises(tf.errors.InvalidArgumentError, match="was fed already"):
            s.partial_run(handle, first, {a: 1.0})


def test_graphs_of_the_devices() -> None:
    with tf.Graph().as_default():
        a = tf.constant(1.0, name="a")
        with tf.device("/cpu:0"):
            b = tf.add(a, 1.0, name="b")
        tf.constant(2.0, name="unneeded")
        metadata = tf.RunMetadata()
        with tf.Session() as s:
            s.run(b, options=tf.RunOptions(output_partition_graphs=True), run_metadata=metadata)
    (graph,) = metadata.partition_graphs
    assert sorted(n.name for n in graph.node) == ["a", "b", "b/y"]
    assert {n.device for n in graph.node} == {"/job:localhost/replica:0/task:0/device:CPU:0"}


def test_fetched_dicts_keep_their_class() -> None:
    import collections

    a = tf.constant(1)
    with tf.Session() as s:
        made = s.run(collections.defaultdict(list, {"a": a}))
        assert (type(made), made) == (collections.defaultdict, {"a": 1})
        assert made["missing"] == []


def test_a_second_interactive_session_warns() -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tf.InteractiveSession().close()
        first = tf.InteractiveSession()
    with pytest.warns(UserWarning, match="interactive session is already active"):
        second = tf.InteractiveSession()
    second.close()
    second.close()  # once is enough
    first.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tf.InteractiveSession().close()

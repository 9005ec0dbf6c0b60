"""`tf.function` in eager code: when it traces, what a call does, gradients; tests/oracle compares programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf


def traces(*calls: Any, **options: Any) -> int:
    """How often a function is traced by these calls, each a tuple of arguments or a dict of keywords."""
    count = []

    @tf.function(**options)
    def counted(*args: Any, **kwargs: Any) -> Any:
        count.append(1)
        return tf.constant(0)

    for call in calls:
        counted(**call) if isinstance(call, dict) else counted(*call)
    return len(count)


def test_signatures_are_dtypes_and_shapes_values_and_objects() -> None:
    c = tf.constant
    v, w = tf.Variable(1.0), tf.Variable(1.0)
    one, other = object(), object()
    assert traces((c(1.0),), (c(2.0),)) == 1
    assert traces((c(1.0),), (c([2.0]),), (c(1),)) == 3
    assert traces((1,), (1,), (2,)) == 2
    assert traces((v,), (w,), (v,)) == 2
    assert traces(([one],), ([one],), ([other],)) == 2
    assert traces((np.array([1, 2]),), (np.array([3, 4]),)) == 1
    assert traces(([1, 2],), ((1, 2),), ([1, 2],)) == 2
    model, cell = tf.keras.Sequential(), tf.nn.rnn_cell.LSTMCell(3)
    assert traces((model,), (model,), (cell,), (cell,), (tf.keras.Sequential(),)) == 3
    assert traces({"a": c(1)}, {"a": c(2)}, {"a": c(2.0)}) == 2


def test_relaxed_shapes_become_unknown_from_the_third_on() -> None:
    calls = [(tf.zeros([k]),) for k in range(1, 6)]
    assert traces(*calls) == 5
    assert traces(*calls, experimental_relax_shapes=True) == 3
    assert traces((tf.zeros([1]),), (tf.zeros([1, 1]),), experimental_relax_shapes=True) == 2


def test_the_shapes_of_specs_are_not_relaxed():
    @tf.function(experimental_relax_shapes=True)
    def double(x):
        return x * 2.0

    def traced(*dims):
        return double.get_concrete_function(tf.TensorSpec(*dims))

    traced([1])
    assert traced(None) is traced(None) and traced(None).inputs[0].shape.ndims is None
    assert [traced(dims).inputs[0].shape.as_list() for dims in ([2, 3], [3, 3])] == [[2, 3], [3, 3]]
    assert double(tf.ones([4])).numpy().tolist() == [2.0] * 4


def test_defaults_and_keywords_make_no_other_signature() -> None:
    seen = []

    @tf.function
    def f(x: Any, y: Any = 2) -> Any:
        seen.append(1)
        return x + y

    x = tf.constant(1)
    assert [int(r) for r in (f(x), f(x, 2), f(x=x), f(x, y=2))] == [3] * 4
    assert len(seen) == 1
    with pytest.raises(TypeError, match="unexpected keyword"):
        f(x, z=1)


def test_one_graph_for_all_that_fits_an_input_signature() -> None:
    shapes = []

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def f(x: Any) -> Any:
        shapes.append(x.shape.as_list())
        return tf.reduce_sum(x)

    assert [float(f([1.0] * k)) for k in range(1, 4)] == [1.0, 2.0, 3.0]
    assert shapes == [[None]]
    for wrong in (tf.constant(1.0), tf.constant([1])):
        with pytest.raises(ValueError, match="incompatible with input_signature"):
            f(wrong)
    with pytest.raises(TypeError, match="only pass arguments covered by it"):
        f(tf.constant([1.0]), True)
    with pytest.raises(TypeError, match="Invalid input_signature 3"):
        tf.function(lambda x: x, input_signature=3)


def test_variables_are_made_by_the_first_trace_alone() -> None:
    made: list[Any] = []
    count = []

    @tf.function
    def f(x: Any) -> Any:
        count.append(1)
        if not made:
            made.append(tf.Variable(x * 2.0))
        return x * made[0]

    assert [float(f(tf.constant(k))) for k in (2.0, 3.0)] == [8.0, 12.0]
    assert len(count) == 2  # the first time with its variable, then as it stays

    @tf.function
    def wrong(x: Any) -> Any:
        return x * tf.Variable(3.0)

    with pytest.raises(ValueError, match="non-first call"):
        wrong(tf.constant(1.0))


def test_effects_come_in_the_order_of_the_lines(capsys: Any) -> None:
    v = tf.Variable(1.0)

    @tf.function
    def f(x: Any) -> Any:
        before = v.read_value()
        v.assign(5.0)
        if x > 0.0:
            v.assign_add(10.0)
        between = v * 1.0
        for i in tf.range(3):
            v.assign_add(tf.cast(i, tf.float32))
        tf.while_loop(lambda i: i < 2, lambda i: (v.assign_add(1.0), i + 1)[1:], [tf.constant(0)])
        tf.print("now", v)
        return before, between, v

    assert [float(t) for t in f(tf.constant(1.0))] == [1.0, 15.0, 20.0]
    assert [float(t) for t in f(tf.constant(-1.0))] == [20.0, 5.0, 10.0]
    assert v.numpy() == 10.0
    assert capsys.readouterr().err == "now 20\nnow 10\n"


def test_results_keep_their_structure_and_become_tensors() -> None:
    v = tf.Variable(1.0)

    @tf.function
    def f(x: Any) -> Any:
        return {"a": x, "b": [None, 1, "s", (v, 2.5)], "c": ()}

    found = f(tf.constant(3.0))
    assert found["b"][0] is None and found["c"] == ()
    assert [t.numpy() for t in (found["a"], found["b"][1], found["b"][2])] == [3.0, 1, b"s"]
    assert isinstance(found["b"][3][0], tf.Tensor) and found["b"][3][0].numpy() == 1.0
    with pytest.raises(TypeError, match="found return value of type <class 'object'>"):
        tf.function(lambda: object())()
    grads = tf.function(lambda e: tf.IndexedSlices(e, tf.constant([0])))(tf.ones([1, 2]))
    assert isinstance(grads, tf.IndexedSlices) and grads.values.numpy().tolist() == [[1.0, 1.0]]


def test_a_tape_around_a_call_sees_through_it() -> None:
    w, c = tf.Variable(2.0), tf.constant([1.0, 2.0])

    @tf.function
    def f(x: Any) -> Any:
        return w * x * x, x * c

    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, c])
        y, z = f(x)
        both = y + tf.reduce_sum(z)
    assert [float(tape.gradient(y, s)) for s in (x, w)] == [12.0, 9.0]
    assert tape.gradient(y, c) is None
    assert tape.gradient(z, c).numpy().tolist() == [3.0, 3.0]
    assert float(tape.gradient(both, x)) == 15.0
    assert [v is w for v in tape.watched_variables()] == [True]


def test_derivatives_of_higher_order_of_a_call() -> None:
    f = tf.function(lambda x: x**4 + tf.sin(x))
    x = tf.constant(0.5)
    with tf.GradientTape() as third:
        third.watch(x)
        with tf.GradientTape() as second:
            second.watch(x)
            with tf.GradientTape() as first:
                first.watch(x)
                y = f(x)
            slope = first.gradient(y, x)
        curve = second.gradient(slope, x)
    change = third.gradient(curve, x)
    wanted = [4 * 0.5**3 + np.cos(0.5), 12 * 0.5**2 - np.sin(0.5), 24 * 0.5 - np.cos(0.5)]
    np.testing.assert_allclose([float(t) for t in (slope, curve, change)], wanted, rtol=1e-5)


def test_the_gradient_takes_the_numbers_that_were_drawn() -> None:
    w = tf.Variable(tf.ones([50]))
    f = tf.function(lambda: tf.nn.dropout(w, rate=0.5))
    with tf.GradientTape() as tape:
        y = f()
    assert tape.gradient(y, w).numpy().tolist() == y.numpy().tolist()
    assert y.numpy().tolist() != f().numpy().tolist()


def test_gradients_of_loops_and_branches_in_a_call() -> None:
    w = tf.Variable(2.0)

    @tf.function
    def powers(x: Any, n: Any) -> Any:
        y = x
        for _ in tf.range(n):
            y = y * x
        if y > 3.0:
            y = y * 2.0
        return y

    @tf.function
    def reads_inside(n: Any) -> Any:
        y = tf.constant(1.0)
        for _ in tf.range(n):
            y = (
                y * w
            )  # the loop could not be run again, were the variable changed: so it runs line by line
        return y

    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = powers(x, tf.constant(3)), reads_inside(tf.constant(3))
    w.assign(100.0)
    assert (float(y), float(tape.gradient(y, x))) == (32.0, 64.0)
    assert (float(z), float(tape.gradient(z, w))) == (8.0, 12.0)


def test_tapes_inside_know_only_what_they_recorded() -> None:
    w = tf.Variable(3.0)

    @tf.function
    def f(x: Any) -> Any:
        before = w * w
        with tf.GradientTape(persistent=True) as tape:
            y = before * w
            with tape.stop_recording():
                y += w
            z = y + w
            untouched = x * x
        with tf.GradientTape(watch_accessed_variables=False) as explicit:
            explicit.watch(x)
            t = x * w
        assert [v is w for v in tape.watched_variables()] == [True]
        return (
            tape.gradient(z, w),
            tape.gradient(untouched, x),
            explicit.gradient(t, [x, w]),
            tape.gradient(untouched, x, unconnected_gradients="zero"),
        )

    slope, nothing, (by_x, by_w), zero = f(tf.constant(5.0))
    assert (float(slope), nothing, float(by_x), by_w, float(zero)) == (1.0, None, 3.0, None, 0.0)


def test_gradients_of_gradients_inside() -> None:
    x = tf.Variable([1.0, 2.0])

    @tf.function
    def f() -> Any:
        with tf.GradientTape(persistent=True) as outer:
            with tf.GradientTape() as inner:
                y = tf.reduce_sum(x**3)
            slope = inner.gradient(y, x)
            parts = [slope[i] for i in range(2)]
        with tf.GradientTape() as tape:
            z = x * x
        return [outer.gradient(part, x) for part in parts], tape.jacobian(z, x)

    rows, square = f()
    assert [r.numpy().tolist() for r in rows] == [[6.0, 0.0], [0.0, 12.0]]
    assert square.numpy().tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_methods_are_traced_for_each_object() -> None:
    count = []

    class Scale:
        def __init__(self, k: float) -> None:
            self.k = k

        @tf.function
        def __call__(self, x: Any) -> Any:
            count.append(1)
            return x * self.k

    a, b = Scale(2.0), Scale(3.0)
    assert [float(f(tf.constant(2.0))) for f in (a, b, a, b)] == [4.0, 6.0, 4.0, 6.0]
    assert len(count) == 2


def test_training_with_a_data_set_and_metrics_inside() -> None:
    w = tf.Variable(1.0)
    xs = np.arange(5, dtype=np.float32)
    data = tf.data.Dataset.from_tensor_slices((xs, xs * 3)).batch(2)
    optimizer = tf.train.GradientDescentOptimizer(0.02)
    mean = tf.keras.metrics.Mean()

    @tf.function
    def epoch() -> Any:
        count = 0
        for x, y in data:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((w * x - y) ** 2)
            optimizer.apply_gradients([(tape.gradient(loss, w), w)])
            mean(loss)
            count += 1
            if count > 2:
                break
        return count

    def expected(v: float) -> tuple[float, list[float]]:
        losses = []
        for part in (xs[:2], xs[2:4], xs[4:]):
            losses.append(float(np.mean((v * part - 3 * part) ** 2)))
            v -= 0.02 * float(np.mean(2 * part * (v * part - 3 * part)))
        return v, losses

    v, first = expected(1.0)
    v, second = expected(v)
    assert [int(epoch()), int(epoch())] == [3, 3]
    np.testing.assert_allclose(
        [w.numpy(), mean.result().numpy()], [v, np.mean(first + second)], 1e-5
    )


def test_losses_of_a_layer_are_those_of_the_call() -> None:
    dense = tf.keras.layers.Dense(2, activity_regularizer=tf.keras.regularizers.l2(0.5))
    model = tf.keras.Sequential([dense])

    @tf.function
    def f(x: Any) -> Any:
        model(x)
        assert len(model.losses) == 1
        return model.losses[0]

    for count in (1, 1, 2):
        x = tf.ones([count, 3])
        np.testing.assert_allclose(f(x).numpy(), np.sum(model(x).numpy() ** 2) * 0.5 / count, 1e-5)
    assert len(model.losses) == 1


def test_tables_and_iterators_of_eager_code() -> None:
    keys = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    tables = [tf.lookup.StaticHashTable(keys, default) for default in (-1, -2)]
    f = tf.function(lambda words: [table.lookup(words) for table in tables])
    assert [t.numpy().tolist() for t in f(tf.constant(["b", "z"]))] == [[2, -1], [2, -2]]
    iterator = iter(tf.data.Dataset.range(2))
    step = tf.function(lambda: next(iterator))
    assert [int(step()), int(step())] == [0, 1]
    with pytest.raises(tf.errors.OutOfRangeError):
        step()


def test_functions_that_it_calls_are_rewritten() -> None:
    def signed(x: Any) -> Any:
        if tf.reduce_sum(x) > 0:
            return x * 2
        return x * 3

    @tf.function
    def f(x: Any) -> Any:
        return signed(x)

    assert [int(f(tf.constant(k))) for k in (1, -1)] == [2, -3]


def test_concrete_functions() -> None:
    @tf.function
    def f(x: Any, y: Any) -> Any:
        return {"product": x * y}

    concrete = f.get_concrete_function(tf.TensorSpec([None], tf.float32), 3.0)
    assert concrete(tf.constant([2.0]))["product"].numpy().tolist() == [6.0]
    assert concrete(x=tf.constant([1.0, 2.0]))["product"].shape == [2]
    assert [t.name for t in concrete.inputs] == ["x:0"] and len(concrete.outputs) == 1
    assert concrete.structured_outputs["product"].shape.as_list() == [None]
    with pytest.raises(TypeError, match="takes 1 tensors"):
        concrete(tf.constant([1.0]), tf.constant([1.0]))
    with pytest.raises(ValueError, match="has shape"):
        concrete(tf.constant(1.0))
    w = tf.Variable(2.0)
    reader = tf.function(lambda: w + 1.0).get_concrete_function()
    assert reader.variables == (w,) == reader.trainable_variables
    assert reader is not f and float(reader()) == 3.0


def test_run_line_by_line_to_debug() -> None:
    f = tf.function(lambda x: x.numpy())
    with pytest.raises(AttributeError, match="numpy"):
        f(tf.constant(1.0))
    tf.config.experimental_run_functions_eagerly(True)
    try:
        assert f(tf.constant(1.0)) == 1.0 and tf.config.functions_run_eagerly()
    finally:
        tf.config.experimental_run_functions_eagerly(False)


def test_errors_name_the_line() -> None:
    @tf.function
    def f(x: Any, i: Any) -> Any:
        return tf.gather(x, i)

    with pytest.raises(tf.errors.InvalidArgumentError, match="test_functions.py, line"):
        f(tf.zeros([2]), tf.constant(7))
    assert f(tf.zeros([2]), tf.constant(1)).numpy() == 0.0

    @tf.function
    def fails(x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fails(1)


def test_loops_over_data_sets_and_iterators() -> None:
    numbers = tf.data.Dataset.range

    @tf.function
    def counted(data: Any) -> Any:
        total = tf.constant(0, tf.int64)
        for i, x in enumerate(data):
            total += tf.cast(i, tf.int64) * x
        return total

    @tf.function
    def paired(a: Any, b: Any) -> Any:
        total = tf.constant(0, tf.int64)
        for x, y in zip(a, b):  # noqa: B905
            total += x * y
        return total

    @tf.function
    def rest(iterator: Any) -> Any:
        total = tf.constant(0, tf.int64)
        for x in iterator:
            total += x
        return total

    assert int(counted(numbers(4))) == int(paired(numbers(4), numbers(5))) == 14
    iterator = iter(numbers(4))
    next(iterator), next(iterator)
    assert [int(rest(iterator)), int(rest(iterator))] == [5, 0]
    with pytest.raises(TypeError, match="has no end while a function is traced"):
        tf.function(list, autograph=False)(iterator)


def test_what_it_was_given_stays_as_it_is() -> None:
    def more(parts: Any) -> Any:
        parts["b"] = parts["a"] + 1
        return parts

    with pytest.raises(ValueError, match="should not modify structure"):
        tf.function(more)({"a": tf.constant(1)})


def test_an_init_scope_is_eager_code() -> None:
    seen = []

    @tf.function
    def f(x: Any) -> Any:
        with tf.init_scope():
            seen.append((tf.executing_eagerly(), (tf.constant(2) + 1).numpy()))
        return x

    assert int(f(tf.constant(1))) == 1
    assert seen == [(True, 3)]


def test_variables_by_name_are_shared() -> None:
    @tf.function
    def f(x: Any) -> Any:
        with tf.variable_scope("shared", reuse=tf.AUTO_REUSE):
            w = tf.get_variable("w", [], initializer=tf.ones_initializer())
        w.assign_add(1.0)
        return x * w

    assert [float(f(tf.constant(k))) for k in (2.0, 3.0)] == [4.0, 9.0]


def test_tensors_that_get_out_of_a_function() -> None:
    kept = []

    @tf.function
    def f(x: Any) -> Any:
        kept.append(x + 1)
        return x

    f(tf.constant(1))
    with pytest.raises(TypeError, match='being passed a "Graph" tensor'):
        _ = kept[0] + 1


def test_a_wrapped_function_keeps_its_variables() -> None:
    def graph_code(x: Any) -> Any:
        v = tf.get_variable("v", initializer=3.0)
        v.assign_add(1.0)
        doubled = tf.multiply(x, 2.0, name="doubled")
        return doubled * v

    first = tf.wrap_function(graph_code, [tf.TensorSpec([], tf.float32)])
    second = tf.wrap_function(graph_code, [tf.TensorSpec([], tf.float32)])
    assert [float(first(tf.constant(1.0))) for _ in range(2)] == [8.0, 10.0]
    assert float(second(tf.constant(1.0))) == 8.0
    assert first.variables[0].name == "v:0" and first.variables[0] is not second.variables[0]
    part = first.prune("x:0", first.graph.get_tensor_by_name("doubled:0"))
    assert float(part(tf.constant(5.0))) == 10.0
    assert part.name == first.name
    named = first.prune("x:0", first.graph.get_tensor_by_name("doubled:0"), "twice")
    assert named.name == "twice" and float(named(tf.constant(4.0))) == 8.0
    assert first.variables[0].numpy() == 5.0  # the parts assign nothing
    with tf.GradientTape() as tape:
        y = first(tf.constant(1.0))
    assert float(tape.gradient(y, first.variables[0])) == 2.0
    ones = tf.wrap_function(lambda: tf.Variable(tf.ones([2])) + 1.0, [])
    assert ones().numpy().tolist() == [2.0, 2.0]
    with tf.Graph().as_default(), pytest.raises(RuntimeError, match="for eager execution"):
        tf.wrap_function(graph_code, [])


def test_concrete_functions_say_what_they_take():
    @tf.function
    def double(x, factor=2.0):
        return x * factor

    found = double.get_concrete_function(tf.TensorSpec([None], tf.float32, "rows"))
    assert found.structured_input_signature == (
        (tf.TensorSpec([None], tf.float32, "rows"), 2.0),
        {},
    )
    np.testing.assert_array_equal(found(rows=tf.constant([1.0])), [2.0])
    again = double.get_concrete_function(tf.TensorSpec([None], tf.float32))
    assert again is found
    np.testing.assert_array_equal(found(x=tf.constant([1.0])), [2.0])
    with pytest.raises(TypeError, match="unknown argument 'rows': it takes x"):
        found(rows=tf.constant([1.0]))
    nested = tf.function(lambda pair: pair[0]).get_concrete_function(
        [tf.TensorSpec([], tf.int32), 3]
    )
    assert nested.structured_input_signature[0] == ([tf.TensorSpec([], tf.int32, "pair"), 3],)


def test_parameters_of_underscores():
    assert tf.function(lambda _: _ + _)(tf.constant(1.0)).numpy() == 2.0
    assert tf.function(lambda __x: __x * 3.0)(tf.constant(1.0)).numpy() == 3.0


def test_a_defun_makes_variables_for_each_signature() -> None:
    made: list[Any] = []

    @tf.contrib.eager.defun
    def scaled(x: Any) -> Any:
        made.append(tf.Variable(2.0))
        return x * made[-1]

    assert scaled(3.0).numpy() == 6.0 and len(made) == 1
    assert scaled(tf.ones([2])).numpy().tolist() == [2.0, 2.0] and len(made) == 2
    made[0].assign(5.0)
    assert scaled(3.0).numpy() == 15.0 and len(made) == 2
    with pytest.raises(TypeError, match="unexpected keyword"):
        tf.contrib.eager.defun(len, of=3)


def test_a_concrete_function_tells_the_dtypes_and_shapes_of_its_results() -> None:
    @tf.function
    def pair(x: Any) -> Any:
        return {"a": x, "b": [tf.cast(x, tf.int32)[0]]}

    found = pair.get_concrete_function(tf.TensorSpec([None, 2], tf.float32))
    assert found.output_dtypes == {"a": tf.float32, "b": [tf.int32]}
    assert found.output_shapes["a"].as_list() == [None, 2]
    assert found.output_shapes["b"][0].as_list() == [2]


def test_a_tape_in_a_function_watches_variables_that_can_be_trained_and_can_pause():
    trained, fixed = tf.Variable(2.0), tf.Variable(3.0, trainable=False)
    watched = []

    @tf.function
    def slopes(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = trained * fixed * x
            with tape.stop_recording():
                z = x * x
        watched.extend(tape.watched_variables())
        return tape.gradient(y, x), tape.gradient(y, trained), tape.gradient(z, x)

    by_x, by_trained, by_unrecorded = slopes(tf.constant(5.0))
    assert (float(by_x), float(by_trained), by_unrecorded) == (6.0, 15.0, None)
    assert [v is trained for v in watched] == [True]


def test_specs_of_one_argument_have_all_names_or_none() -> None:
    @tf.function
    def first(x: Any) -> Any:
        return x[0]

    named, plain = tf.TensorSpec(None, tf.float32, "z"), tf.TensorSpec(None, tf.float32)
    with pytest.raises(ValueError, match="either zero or all names.*'z', None"):
        first.get_concrete_function([named, plain])
    assert first.get_concrete_function([named, 2])(z=tf.constant(3.0)).numpy() == 3.0


def test_a_function_of_the_private_module_makes_variables_once() -> None:
    from dataflow.python.eager import def_function, function

    made: list[Any] = []

    def fresh(x: Any) -> Any:
        made.append(tf.Variable(1.0))
        return made[-1] + x

    with pytest.raises(ValueError, match="non-first call"):
        def_function.function(fresh)(1.0)
    assert function.defun(fresh)(1.0).numpy() == 2.0


def test_a_signature_with_sparse_tensors() -> None:
    num_traced = []

    @tf.function(input_signature=[tf.SparseTensorSpec([None, 3]), tf.TensorSpec([3])])
    def product(matrix: Any, vector: Any) -> Any:
        num_traced.append(1)
        return tf.squeeze(tf.sparse.sparse_dense_matmul(matrix, vector[:, None]), 1)

    for rows in (2, 4):
        dense = np.arange(rows * 3, dtype="float32").reshape(rows, 3)
        result = product(tf.sparse.from_dense(dense), [1.0, 2.0, 3.0])
        assert result.numpy().tolist() == (dense @ [1, 2, 3]).tolist()
    assert len(num_traced) == 1
    assert len(product.get_concrete_function().inputs) >= 4
    with pytest.raises(ValueError, match="a sparse tensor has shape .*and SparseTensorSpec"):
        product(tf.sparse.from_dense(np.ones((2, 4), "float32")), [1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match="Input must be a SparseTensor"):
        product(np.ones((2, 3), "float32"), [1.0, 2.0, 3.0])


def test_a_loop_over_a_sparse_tensor() -> None:
    (found,) = tf.while_loop(
        lambda s: tf.reduce_sum(s.values) < 3,
        lambda s: [tf.SparseTensor(s.indices, s.values + 1, s.dense_shape)],
        [tf.SparseTensor([[0]], [1], [3])],
    )
    assert found.values.numpy().tolist() == [3]


def test_sparse_and_ragged_tensors_as_arguments() -> None:
    sparse = tf.sparse.from_dense([[1.0, 2.0]])
    total = tf.function(lambda s: tf.reduce_sum(s.values))
    assert float(total(sparse)) == 3
    traced = total.get_concrete_function(tf.SparseTensorSpec([None, 2]))
    ((spec,), _) = traced.structured_input_signature
    assert spec == tf.SparseTensorSpec([None, None])
    assert len(traced.inputs) == 3
    ragged = tf.ragged.constant([[1.0, 2.0], [3.0]])
    lengths = tf.function(lambda r: r.row_lengths())
    assert lengths(ragged).numpy().tolist() == [2, 1]
    ((spec,), _) = lengths.get_concrete_function(ragged).structured_input_signature
    assert spec == tf.RaggedTensorSpec([2, None], row_splits_dtype=ragged.row_splits.dtype)
    slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))
    assert tf.function(lambda s: s.values * 2)(slices).numpy().tolist() == [2]


def test_a_predicate_from_outside_decides_in_each_call() -> None:
    outside, v = tf.constant(True), tf.Variable(0.0)

    @tf.function
    def step(x: Any) -> Any:
        tf.cond(outside, lambda: v.assign_add(x), lambda: v.assign_add(2.0 * x))
        return v.read_value()

    assert step(tf.constant(1.0)).numpy() == 1.0
    assert step(tf.constant(10.0)).numpy() == 11.0

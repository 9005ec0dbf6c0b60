"""A custom Estimator: training, resuming, evaluating, predicting, and what is refused."""

from __future__ import annotations

import os

import numpy as np
import pytest

import dataflow as tf

E = tf.estimator
X = np.linspace(-1, 1, 16).astype(np.float32)[:, None]
Y = (3.0 * X[:, 0] - 1.0).astype(np.float32)


def model_fn(features, labels, mode, params):
    w = tf.get_variable("w", [1, 1], initializer=tf.zeros_initializer())
    b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
    prediction = tf.squeeze(tf.matmul(features["x"], w) + b, 1)
    if mode == E.ModeKeys.PREDICT:
        return E.EstimatorSpec(
            mode,
            predictions={"y": prediction, "twice": prediction * 2.0},
            export_outputs={"line": E.export.PredictOutput({"y": prediction})},
        )
    loss = tf.losses.mean_squared_error(labels, prediction)
    metrics = {"mae": tf.metrics.mean_absolute_error(labels, prediction)}
    train_op = tf.train.GradientDescentOptimizer(params["rate"]).minimize(
        loss, global_step=tf.train.get_global_step()
    )
    return E.EstimatorSpec(mode, loss=loss, train_op=train_op, eval_metric_ops=metrics)


def input_fn(epochs=None):
    return E.inputs.numpy_input_fn({"x": X}, Y, batch_size=16, num_epochs=epochs, shuffle=False)


def estimator(folder, **kwargs):
    config = E.RunConfig(str(folder), tf_random_seed=1, **kwargs)
    return E.Estimator(model_fn, params={"rate": 0.3}, config=config)


def test_training_goes_on_from_the_checkpoint(tmp_path):
    first = estimator(tmp_path)
    assert first.train(input_fn(), steps=20) is first
    before = first.evaluate(input_fn(1))
    again = estimator(tmp_path)
    again.train(input_fn(), steps=20)
    after = again.evaluate(input_fn(1))
    assert (before["global_step"], after["global_step"]) == (20, 40)
    assert after["loss"] < before["loss"] / 2
    w, b, rate = 0.0, 0.0, 0.3
    for _ in range(40):
        error = w * X[:, 0] + b - Y
        w, b = w - rate * 2 * np.mean(error * X[:, 0]), b - rate * 2 * np.mean(error)
    np.testing.assert_allclose(again.get_variable_value("w"), [[w]], rtol=1e-4)
    np.testing.assert_allclose(again.get_variable_value("b"), [b], rtol=1e-4)
    assert sorted(again.get_variable_names()) == ["b", "global_step", "w"]
    assert os.path.basename(again.latest_checkpoint()) == "model.ckpt-40"


def test_evaluation_is_the_mean_over_batches(tmp_path):
    model = estimator(tmp_path)
    small = E.inputs.numpy_input_fn({"x": X}, Y, batch_size=6, shuffle=False)
    result = model.evaluate(small)  # not trained: all zeros
    assert list(result) == ["loss", "mae", "global_step"]
    np.testing.assert_allclose(result["mae"], np.mean(np.abs(Y)), rtol=1e-5)
    batches = [np.mean(Y[i : i + 6] ** 2) for i in (0, 6, 12)]
    np.testing.assert_allclose(result["loss"], np.mean(batches), rtol=1e-5)
    one = model.evaluate(small, steps=1)
    np.testing.assert_allclose(one["loss"], batches[0], rtol=1e-5)


def test_max_steps_is_a_limit_and_steps_a_number(tmp_path):
    model = estimator(tmp_path)
    model.train(input_fn(), max_steps=5)
    model.train(input_fn(), max_steps=5)
    assert model.get_variable_value("global_step") == 5
    model.train(input_fn(2))  # two batches, then the input ends
    assert model.get_variable_value("global_step") == 7


def test_predict_yields_examples_and_leaves_the_default_graph_alone(tmp_path):
    model = estimator(tmp_path)
    model.train(input_fn(), steps=2)
    feed = E.inputs.numpy_input_fn({"x": X[:3]}, batch_size=2, shuffle=False)
    before = tf.get_default_graph()
    rows = model.predict(feed)
    first = next(rows)
    assert tf.get_default_graph() is before
    assert sorted(first) == ["twice", "y"]
    assert len([first, *rows]) == 3
    assert tf.get_default_graph() is before
    assert list(next(model.predict(feed, predict_keys=["y"]))) == ["y"]
    batches = list(model.predict(feed, yield_single_examples=False))
    assert [len(b["y"]) for b in batches] == [2, 1]
    model.predict(feed).close()


def test_checkpoints_are_kept_as_configured(tmp_path):
    model = estimator(tmp_path, save_checkpoints_steps=5, keep_checkpoint_max=2)
    model.train(input_fn(), steps=20)
    state = tf.train.get_checkpoint_state(str(tmp_path))
    names = [os.path.basename(p) for p in state.all_model_checkpoint_paths]
    assert names[-1] == "model.ckpt-20"
    assert len(names) == 2
    earlier = model.evaluate(input_fn(1), checkpoint_path=str(tmp_path / names[0]), name="early")
    assert earlier["global_step"] < 20
    assert (tmp_path / "eval_early").is_dir()


def test_hooks_and_warm_start(tmp_path):
    seen = []

    class Recorder(tf.train.SessionRunHook):
        def before_run(self, run_context):
            return tf.train.SessionRunArgs(tf.train.get_global_step())

        def after_run(self, run_context, run_values):
            seen.append(int(run_values.results))

    model = estimator(tmp_path / "a")
    model.train(input_fn(), steps=3, hooks=[Recorder()])
    assert len(seen) == 3
    other = E.Estimator(
        model_fn, str(tmp_path / "b"), params={"rate": 1e-9}, warm_start_from=str(tmp_path / "a")
    )
    other.train(input_fn(), steps=1)
    np.testing.assert_allclose(
        other.get_variable_value("w"), model.get_variable_value("w"), rtol=1e-6
    )


def test_warm_starts_are_logged_and_use_all_names(tmp_path, caplog):
    model = estimator(tmp_path / "a")
    model.train(input_fn(), steps=1)

    def warm(**arguments):
        settings = E.WarmStartSettings(str(tmp_path / "a"), **arguments)
        other = E.Estimator(model_fn, params={"rate": 1e-9}, warm_start_from=settings)
        other.train(input_fn(), steps=1)
        return other

    with caplog.at_level("INFO", logger="tensorflow"):
        warm(vars_to_warm_start="w")
    texts = [record.getMessage() for record in caplog.records]
    assert f"Warm-starting from: {tmp_path / 'a'}" in texts
    assert "Warm-starting variables only in TRAINABLE_VARIABLES." in texts
    assert "Warm-started 1 variables." in texts
    assert any(t.startswith("Warm-starting with WarmStartSettings: Warm") for t in texts)
    with pytest.raises(ValueError, match="var_name_to_prev_var_name names .*: other"):
        warm(var_name_to_prev_var_name={"other": "w"})
    none = warm(vars_to_warm_start=None)
    assert not np.allclose(none.get_variable_value("w"), model.get_variable_value("w"))


def test_train_and_evaluate_returns_the_last_metrics(tmp_path):
    model = estimator(tmp_path, save_checkpoints_steps=10)
    metrics, exports = E.train_and_evaluate(
        model,
        E.TrainSpec(input_fn(), max_steps=30),
        E.EvalSpec(
            input_fn(1),
            steps=None,
            throttle_secs=0,
            start_delay_secs=0,
            exporters=E.FinalExporter("last", receiver()),
        ),
    )
    assert metrics["global_step"] == 30
    assert metrics["loss"] == pytest.approx(model.evaluate(input_fn(1))["loss"])
    assert len(exports) == 1
    assert os.path.dirname(exports[0].decode()) == str(tmp_path / "export" / "last")


def receiver():
    def make():
        x = tf.placeholder(tf.float32, [None, 1])
        return E.export.ServingInputReceiver({"x": x}, {"x": x})

    return make


def best_exporter(**kwargs):
    return E.BestExporter("best", receiver(), **kwargs)


def exported(exporter, model, **result):
    """Whether the exporter writes a model for this result of an evaluation."""
    return exporter.export(model, f"{model.model_dir}/export/best", None, result, False) is not None


def test_the_best_exporter_keeps_what_beats_all_before(tmp_path):
    model = estimator(tmp_path)
    model.train(input_fn(), steps=1)
    best = best_exporter(exports_to_keep=2)
    losses = [3.0, 4.0, 2.0, 2.0, 1.0, 1.5]
    written = [exported(best, model, loss=x, global_step=i) for i, x in enumerate(losses)]
    assert written == [True, False, True, False, True, False]
    assert len(os.listdir(tmp_path / "export" / "best")) == 2


@pytest.mark.parametrize("pattern", ["eval/*.tfevents.*", None])
def test_a_second_run_knows_the_best_result_of_the_first(tmp_path, pattern):
    model = estimator(tmp_path)
    model.train(input_fn(), steps=20)
    first = model.evaluate(input_fn(1))
    assert exported(best_exporter(event_file_pattern=pattern), model, **first)
    second_run = best_exporter(event_file_pattern=pattern)
    worse = {**first, "loss": first["loss"] + 1, "global_step": 40}
    assert exported(second_run, model, **worse) == (pattern is None)
    better = {**first, "loss": first["loss"] / 2, "global_step": 60}
    assert exported(second_run, model, **better)


def test_the_best_exporter_refuses_what_it_cannot_compare():
    with pytest.raises(ValueError, match="no argument best_eval_result"):
        best_exporter(compare_fn=lambda a, b: True)
    with pytest.raises(ValueError, match="no argument current_eval_result"):
        best_exporter(compare_fn=lambda best_eval_result: True)
    with pytest.raises(ValueError, match="must not be None"):
        best_exporter(compare_fn=None)
    best_exporter(compare_fn=lambda **results: True)
    with pytest.raises(ValueError, match="The current evaluation's result needs the key 'loss'"):
        E.exporters.loss_is_smaller({"loss": 1.0}, {"accuracy": 1.0})


def test_predictions_are_exported_where_nothing_else_is_said(tmp_path):
    def doubles(features, labels, mode):
        y = 2.0 * features["x"] * tf.get_variable("w", [], initializer=tf.ones_initializer())
        step = tf.assign_add(tf.train.get_or_create_global_step(), 1)
        return E.EstimatorSpec(mode, {"y": y}, tf.reduce_mean(y), step)

    model = E.Estimator(doubles, str(tmp_path))
    model.train(input_fn(), steps=1)
    path = model.export_savedmodel(str(tmp_path / "export"), receiver()).decode()
    serve = tf.contrib.predictor.from_saved_model(path)
    np.testing.assert_array_equal(serve({"x": X})["y"], 2 * X)


def test_an_exported_model_predicts_the_same(tmp_path):
    model = estimator(tmp_path / "model")
    model.train(input_fn(), steps=5)
    path = model.export_savedmodel(str(tmp_path / "export"), receiver()).decode()
    want = [p["y"] for p in model.predict(E.inputs.numpy_input_fn({"x": X[:4]}, shuffle=False))]
    with tf.Session(graph=tf.Graph()) as sess:
        meta = tf.saved_model.loader.load(sess, ["serve"], path)
        assert sorted(meta.signature_def) == ["line", "serving_default"]
        signature = meta.signature_def["line"]
        got = sess.run(signature.outputs["y"].name, {signature.inputs["x"].name: X[:4]})
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_input_functions_batch_across_epochs_and_shuffle():
    def drain(fn, count):
        with tf.Graph().as_default(), tf.Session() as sess:
            outputs = fn()
            return [sess.run(outputs) for _ in range(count)]

    fn = E.inputs.numpy_input_fn(np.arange(3), batch_size=2, num_epochs=2, shuffle=False)
    assert [b.tolist() for b in drain(fn, 3)] == [[0, 1], [2, 0], [1, 2]]
    with pytest.raises(tf.errors.OutOfRangeError):
        drain(fn, 4)
    fn = E.inputs.numpy_input_fn(np.arange(100), batch_size=100, num_epochs=2, shuffle=True)
    one, two = drain(fn, 2)
    assert sorted(one) == sorted(two) == list(range(100))
    assert one.tolist() != two.tolist()


def test_pandas_input_fn():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    with tf.Graph().as_default(), tf.Session() as sess:
        fn = E.inputs.pandas_input_fn(frame, pd.Series([0, 1]), shuffle=False)
        features, labels = sess.run(fn())
    assert features["a"].tolist() == [1.0, 2.0]
    assert features["b"].tolist() == [b"x", b"y"]
    assert labels.tolist() == [0, 1]
    with pytest.raises(ValueError, match="Index"):
        E.inputs.pandas_input_fn(frame, pd.Series([0, 1], index=[5, 6]), shuffle=False)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda m: m.train(input_fn(), steps=1, max_steps=1), "both steps and max_steps"),
        (lambda m: m.train(input_fn(), steps=0), "steps > 0"),
        (lambda m: m.get_variable_names(), "has not been trained yet"),
        (lambda m: m.export_savedmodel("x", receiver()), "has not been trained yet"),
        (lambda m: E.Estimator(lambda x: None), "features"),
        (lambda m: E.Estimator(lambda features: None, params={"a": 1}), "params"),
        (lambda m: E.EstimatorSpec("train", loss=tf.constant(1.0)), "train_op"),
        (lambda m: E.EstimatorSpec("infer"), "predictions"),
        (lambda m: E.inputs.numpy_input_fn({"x": X}, Y), "shuffle"),
        (lambda m: E.inputs.numpy_input_fn({"x": X}, Y[:3], shuffle=False)(), "mismatched"),
        (
            lambda m: E.RunConfig(save_checkpoints_steps=1, save_checkpoints_secs=1),
            "save_checkpoints",
        ),
        (lambda m: m.train(lambda: ({"x": X}, Y, 1), steps=1), "length 2"),
        (lambda m: next(m.predict(input_fn(1), predict_keys=["no"])), "at least one output"),
    ],
)
def test_mistakes_are_named(make, message, tmp_path):
    with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
        make(estimator(tmp_path))


def test_a_nan_loss_stops_the_training(tmp_path):
    with pytest.raises(tf.train.NanLossDuringTrainingError):
        estimator(tmp_path).train(
            E.inputs.numpy_input_fn({"x": X}, Y * np.nan, shuffle=False), steps=5
        )


def test_early_stopping(tmp_path):
    def model_fn(features, labels, mode):
        w = tf.get_variable("w", initializer=0.0)
        loss = tf.square(w - 1.0)
        train = tf.group(w.assign_add(0.1), tf.train.get_global_step().assign_add(1))
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    def input_fn():
        return tf.constant([1.0])

    estimator = tf.estimator.Estimator(model_fn, str(tmp_path))
    experimental = tf.estimator.experimental
    every = {"run_every_secs": None, "run_every_steps": 1}
    # Checkpoints hold the hook's variable, so that it is there from the first training on.
    never = experimental.make_early_stopping_hook(estimator, lambda: False)
    for _ in range(2):  # the loss falls from one evaluation to the next
        estimator.train(input_fn, hooks=[never], steps=5)
        estimator.evaluate(input_fn, steps=1)
    read = tf.contrib.estimator.read_eval_metrics(estimator.eval_dir())
    assert list(read) == [5, 10] and read[5]["loss"] > read[10]["loss"]

    def steps_of_next_training(hook):
        before = estimator.get_variable_value("global_step")
        estimator.train(input_fn, hooks=[hook], steps=3)
        return estimator.get_variable_value("global_step") - before

    lower, higher = read[10]["loss"] + 1e-3, read[5]["loss"] + 1.0
    assert (
        steps_of_next_training(experimental.stop_if_lower_hook(estimator, "loss", lower, **every))
        == 1
    )
    assert "signal_early_stopping/STOP" in estimator.get_variable_names()
    assert (
        steps_of_next_training(experimental.stop_if_higher_hook(estimator, "loss", higher, **every))
        == 3
    )
    hook = experimental.stop_if_lower_hook(estimator, "loss", lower, min_steps=11, **every)
    assert steps_of_next_training(hook) == 3
    assert (
        steps_of_next_training(experimental.stop_if_no_increase_hook(estimator, "loss", 5, **every))
        == 1
    )
    assert (
        steps_of_next_training(experimental.stop_if_no_decrease_hook(estimator, "loss", 5, **every))
        == 3
    )
    last = int(estimator.get_variable_value("global_step")) + 2
    assert (
        steps_of_next_training(experimental.make_stop_at_checkpoint_step_hook(estimator, last)) == 2
    )
    with pytest.raises(ValueError, match="Only one of"):
        experimental.make_early_stopping_hook(estimator, lambda: True, 60, 10)
    with pytest.raises(TypeError, match="must have type"):
        experimental.make_early_stopping_hook("model", lambda: True)


def test_warm_start_with_other_words(tmp_path):
    (tmp_path / "old.txt").write_text("a\nb\nc\n")
    (tmp_path / "new.txt").write_text("c\nx\na\nunused\n")
    with tf.Graph().as_default(), tf.Session() as session:
        rows = tf.get_variable("rows", initializer=[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        columns = tf.get_variable("columns", initializer=[[1.0, 2.0, 3.0]])
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver([rows, columns]).save(session, str(tmp_path / "model"))
    words = tf.train.VocabInfo(tmp_path / "new.txt", 3, 1, tmp_path / "old.txt", 3)
    with tf.Graph().as_default(), tf.Session() as session:
        rows = tf.get_variable("rows", [4, 2])
        columns = tf.get_variable("columns", [1, 4])
        ones = tf.ones_initializer()
        info = {"rows": words, "columns": words._replace(axis=1, backup_initializer=ones)}
        tf.train.warm_start(prefix, var_name_to_vocab_info=info)
        session.run(tf.global_variables_initializer())
        assert session.run(rows).tolist() == [[5, 6], [0, 0], [1, 2], [0, 0]]
        assert session.run(columns).tolist() == [[3, 1, 1, 1]]
        with pytest.raises(ValueError, match=r"2 words and 1 other rows"):
            info = {"rows": words._replace(new_vocab_size=2)}
            tf.train.warm_start(prefix, "rows", var_name_to_vocab_info=info)


def test_logit_functions():
    column = tf.feature_column.numeric_column("x", shape=[2])
    features = {"x": tf.constant([[1.0, 2.0]])}
    experimental = tf.estimator.experimental
    linear = experimental.linear_logit_fn_builder(3, [column])
    assert experimental.call_logit_fn(linear, features, None, None, None).shape == [1, 3]
    deep = experimental.dnn_logit_fn_builder(2, [4], [column], tf.nn.relu, None, None, False)
    logits = experimental.call_logit_fn(deep, features, tf.estimator.ModeKeys.TRAIN, None, None)
    assert logits.shape == [1, 2]
    with pytest.raises(ValueError, match="must take features"):
        experimental.call_logit_fn(lambda x: x, features, None, None, None)


def test_specs_refuse_what_is_no_hook_and_no_exporter() -> None:
    class Named(tf.estimator.Exporter):
        def __init__(self, name):
            self._name = name

        @property
        def name(self):
            return self._name

        def export(self, *args, **kwargs):
            """Nothing."""

    def make(**kwargs):
        return tf.estimator.EvalSpec(lambda: 1, **kwargs)

    with pytest.raises(TypeError, match="hooks"):
        tf.estimator.TrainSpec(lambda: 1, hooks=[object()])
    with pytest.raises(TypeError, match="hooks"):
        make(hooks=[object()])
    with pytest.raises(TypeError, match="name"):
        make(name=1)
    with pytest.raises(TypeError, match="Exporter"):
        make(exporters=object())
    for bad in ([Named(None)], [Named(1)], [Named("a"), Named("a")]):
        with pytest.raises(ValueError, match="name"):
            make(exporters=bad)
    assert len(make(exporters=[Named("a"), Named("b")]).exporters) == 2


def test_frames_whose_columns_share_names() -> None:
    pandas = pytest.importorskip("pandas")
    x = pandas.DataFrame({"a": [1, 2]})
    y = pandas.DataFrame({"a": [3, 4], "b": [5, 6]})
    make = tf.estimator.inputs.pandas_input_fn
    with tf.Graph().as_default():
        features, labels = make(x, y, shuffle=False)()
        with tf.train.MonitoredSession() as sess:
            found, targets = sess.run([features, labels])
    assert found["a"].tolist() == [1, 2]
    assert (targets["a"].tolist(), targets["b"].tolist()) == ([3, 4], [5, 6])
    with pytest.raises(TypeError, match="string"):
        make(x, y, shuffle=False, target_column=["a"])
    with pytest.raises(ValueError, match="already has"):
        make(x, y["b"], shuffle=False, target_column="a")


def test_an_evaluation_logs_what_it_found(tmp_path, capsys):
    made = estimator(tmp_path)
    tf.logging.set_verbosity(tf.logging.INFO)
    made.train(input_fn(), steps=2)
    lines = capsys.readouterr().err.splitlines()
    for part in (
        "Create CheckpointSaverHook.",
        "Running local_init_op.",
        "Done running local_init_op.",
    ):
        assert sum(part in line for line in lines) == 1, lines
    results = made.evaluate(input_fn(1))
    lines = capsys.readouterr().err.splitlines()
    # Numbers of 32 bits are as short as NumPy prints them: 0.9, and not 0.8999999761581421.
    found = f"Saving dict for global step 2: global_step = 2, loss = {results['loss']!s}, mae = "
    assert len(str(results["loss"])) <= 12
    for part in (
        "Done calling model_fn.",
        "Starting evaluation at ",
        f"Restoring parameters from {tmp_path}/model.ckpt-2",
        "Finished evaluation at ",
        f"{found}{results['mae']!s}",
    ):
        while lines and part not in lines[0]:
            del lines[0]
        assert lines, part


def test_an_estimator_logs_its_configuration(tmp_path, capsys):
    tf.logging.set_verbosity(tf.logging.INFO)
    E.Estimator(lambda features: None, str(tmp_path))
    config = E.RunConfig(str(tmp_path), save_checkpoints_steps=7)
    E.Estimator(lambda features: None, config=config)
    lines = [line.partition(":tensorflow:")[2] for line in capsys.readouterr().err.splitlines()]
    assert [line.partition("{")[0] for line in lines] == [
        "Using default config.",
        "Using config: ",
        "Using config: ",
    ]
    for line, steps, secs in zip(lines[1:], (None, 7), (600, None), strict=True):
        assert line.startswith(
            f"Using config: {{'_model_dir': '{tmp_path}', '_tf_random_seed': None,"
        )
        assert f"'_save_checkpoints_steps': {steps}, '_save_checkpoints_secs': {secs}," in line
        assert line.endswith("}")


@pytest.mark.parametrize("x", [{}, np.zeros([2, 0])])
def test_input_functions_refuse_nothing(x):
    with (
        tf.Graph().as_default(),
        pytest.raises(ValueError, match="x cannot be an empty dict or array"),
    ):
        tf.estimator.inputs.numpy_input_fn(x, np.arange(2), shuffle=False)()


def test_queue_runners_are_a_module_of_train_too():
    with tf.Graph().as_default(), tf.Session() as sess:
        queue = tf.FIFOQueue(4, tf.int32)
        runner = tf.train.queue_runner.QueueRunner(queue, [queue.enqueue(3)])
        tf.train.queue_runner.add_queue_runner(runner)
        coordinator = tf.train.Coordinator()
        threads = tf.train.queue_runner.start_queue_runners(sess, coordinator)
        assert sess.run(queue.dequeue()) == 3
        coordinator.request_stop()
        sess.run(queue.close(cancel_pending_enqueues=True))
        coordinator.join(threads)


def test_a_training_counts_the_nodes_that_read_the_step(tmp_path):
    counts = []

    def count_nodes(features, labels, mode):
        graph = tf.get_default_graph()
        counts.append(len(graph.operations) + graph.num_left_out)
        weight = tf.get_variable("weight", [])
        train = tf.train.GradientDescentOptimizer(0.1).minimize(weight, tf.train.get_global_step())
        return E.EstimatorSpec(mode, features, weight, train)

    estimator = E.Estimator(count_nodes, str(tmp_path))
    for run in estimator.train, estimator.evaluate:
        run(lambda: (tf.ones([2]), tf.ones([2])), steps=1)
    assert counts == [17, 6]  # TensorFlow 1.15's, whose seeds come from them

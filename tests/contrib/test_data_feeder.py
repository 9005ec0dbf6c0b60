"""Feeders of ``tf.contrib.learn``: orders and values as TensorFlow 1.15's."""

import numpy as np
import pytest

import dataflow as tf
from dataflow.contrib.learn import data_feeder

pytestmark = pytest.mark.usefixtures("graph")


def test_batches_of_arrays():
    x, y = np.arange(6).reshape(3, 2), np.array([0, 2, 1])
    feeder = data_feeder.DataFeeder(x, y, n_classes=3, batch_size=2, epochs=2)
    inputs, outputs = feeder.input_builder()
    epoch = feeder.make_epoch_variable()
    assert inputs.shape.as_list() == [None, 2] and inputs.dtype is tf.int64
    assert outputs.shape.as_list() == [None, 3] and outputs.dtype is tf.float32
    assert (inputs.name, outputs.name) == ("input:0", "output:0")
    following = feeder.get_feed_dict_fn()
    seen = []
    with tf.Session() as sess:
        for _ in range(4):
            rows, labels, number = sess.run([inputs, outputs, epoch], following())
            assert np.array_equal(labels, np.eye(3)[y[rows[:, 0] // 2]])
            seen.append((rows[:, 0].tolist(), number.tolist()))
    with pytest.raises(StopIteration):
        following()
    # RandomState(42), the orders of TensorFlow's.
    order = np.random.RandomState(42)
    first, second = order.permutation(3) * 2, order.permutation(3) * 2
    assert seen[0] == (first[:2].tolist(), [0]) and seen[1] == (first[2:].tolist(), [0])
    assert seen[2] == (second[:2].tolist(), [1]) and seen[3] == (second[2:].tolist(), [1])
    assert feeder.get_feed_params() == {"epoch": 2, "offset": 0, "batch_size": 2}


def test_dictionaries_and_vectors():
    x = {"a": np.arange(4.0, dtype=np.float32), "b": np.array([["w"], ["x"], ["y"], ["z"]])}
    feeder = data_feeder.DataFeeder(x, {"y": np.arange(4)}, {"y": None}, 4, shuffle=False)
    inputs, outputs = feeder.input_builder()
    assert inputs["a"].name == "input_a:0" and inputs["b"].dtype is tf.string
    assert outputs["y"].dtype is tf.int64
    with tf.Session() as sess:
        found, labels = sess.run(
            [{k: tf.identity(v) for k, v in inputs.items()}, outputs], feeder.get_feed_dict_fn()()
        )
    assert found["a"].tolist() == [[0], [1], [2], [3]] and labels["y"].tolist() == [0, 1, 2, 3]
    assert found["b"].tolist() == [[b"w"], [b"x"], [b"y"], [b"z"]]


def test_streams():
    x = (np.array([i, i + 1.0]) for i in range(3))
    feeder = data_feeder.setup_train_data_feeder(x, iter([0, 1, 2]), 3, batch_size=2)
    inputs, outputs = feeder.input_builder()
    following = feeder.get_feed_dict_fn()
    with tf.Session() as sess:
        rows, labels = sess.run([inputs, outputs], following())
        assert rows.tolist() == [[0, 1], [1, 2]] and labels.tolist() == [[1, 0, 0], [0, 1, 0]]
        rows, labels = sess.run([inputs, outputs], following())
        assert rows.tolist() == [[2, 3]] and labels.tolist() == [[0, 0, 1]]
    with pytest.raises(StopIteration):
        following()


def test_batches_to_predict_on():
    rows = np.arange(6).reshape(3, 2)
    assert [b.tolist() for b in data_feeder.setup_predict_data_feeder(rows)] == [rows.tolist()]
    parts = data_feeder.setup_predict_data_feeder({"a": rows}, 2)
    assert [p["a"].tolist() for p in parts] == [[[0, 1], [2, 3]], [[4, 5]]]
    parts = data_feeder.setup_predict_data_feeder(iter(rows.tolist()), 2)
    assert [p.tolist() for p in parts] == [[[0, 1], [2, 3]], [[4, 5]]]


def test_frames():
    pd = pytest.importorskip("pandas")
    frame, labels = pd.DataFrame({"a": [1, 2], "b": [3, 4]}), pd.DataFrame({"y": [5, 6]})
    feeder = data_feeder.setup_train_data_feeder(frame, labels, None, shuffle=False)
    inputs, outputs = feeder.input_builder()
    fed = feeder.get_feed_dict_fn()()
    assert fed[inputs.name].tolist() == [[1, 3], [2, 4]] and fed[outputs.name].tolist() == [5, 6]
    assert data_feeder.setup_processor_data_feeder(frame).tolist() == [[1, 3], [2, 4]]


def test_what_does_not_fit():
    x = np.zeros([2, 2])
    with pytest.raises(ValueError, match="Invalid batch_size 0"):
        data_feeder.DataFeeder(x, None, None, 0)
    with pytest.raises(ValueError, match="should be iterators"):
        data_feeder.setup_train_data_feeder(iter(x), x, None, 1)
    assert data_feeder.setup_train_data_feeder(iter(x), None, None).batch_size == 1
    with pytest.raises(StopIteration):
        data_feeder.StreamingDataFeeder(iter([]), None, None, 1)


def test_columns_of_categories():
    processor = tf.contrib.learn.preprocessing.CategoricalProcessor(min_frequency=1)
    rows = [["0"], [1], [float("nan")], ["C"], ["C"], [1], ["0"], [np.nan], [3]]
    found = [row.tolist() for row in processor.fit_transform(rows)]
    assert found == [[2], [1], [0], [3], [3], [1], [2], [0], [0]]
    processor = tf.contrib.learn.preprocessing.CategoricalProcessor(share=True)
    assert [r.tolist() for r in processor.fit_transform([["a", "b"], ["b", "c"]])] == [
        [1, 2],
        [2, 3],
    ]
    with pytest.raises(ValueError, match="call fit first"):
        next(tf.contrib.learn.preprocessing.CategoricalProcessor().transform([["a"]]))


def test_an_estimator_trains_and_scores_with_iterators():
    learn = tf.contrib.learn

    def model_fn(features, labels):
        mean = tf.reduce_mean(features)
        loss = mean + 0.0 * tf.cast(tf.reduce_sum(labels), tf.float64)
        step = tf.train.get_global_step()
        return {"mean": mean}, loss, tf.assign_add(step, 1)

    estimator = learn.Estimator(model_fn)
    rows = (np.full(2, i, np.float64) for i in range(5))
    estimator.fit(rows, (np.array(i) for i in range(5)), steps=20)  # it ends with the rows
    assert estimator.get_variable_value("global_step") == 5
    rows = (np.full(2, i, np.float64) for i in range(3))
    found = learn.SKCompat(estimator).score(rows, iter(np.arange(3)), batch_size=3)
    assert found == {"loss": 1.0, "global_step": 5}


def test_a_cluster_spec_can_be_taken_away(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", '{"cluster": {"ps": ["fake_ps_0", "fake_ps_1"]}}')
    config = tf.contrib.learn.RunConfig()
    assert config.num_ps_replicas == 2 and config.cluster_spec.jobs == ["ps"]
    config._cluster_spec = tf.train.ClusterSpec({})
    assert config.num_ps_replicas == 2 and not config.cluster_spec.jobs


def test_the_iris_are_float64_to_a_millimeter():
    iris = tf.contrib.learn.datasets.load_iris()
    assert iris.data.dtype == np.float64 and iris.data.shape == (150, 4)
    assert [5.1, 3.5, 1.4, 0.2] in iris.data.tolist()


def test_a_task_without_a_type_is_a_worker(monkeypatch):
    from dataflow.estimator.cluster_training import device_function

    monkeypatch.setenv("TF_CONFIG", '{"cluster": {"ps": ["fake_ps_0"]}}')
    choose = device_function(tf.contrib.learn.RunConfig())
    with tf.Graph().as_default(), tf.device(choose):
        variable = tf.Variable([1.0])
        total = variable + 1.0
    assert variable.device == "/job:ps/task:0"
    assert total.device == "/job:worker"  # it was /job:None/task:0

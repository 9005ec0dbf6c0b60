"""`tf.contrib.timeseries`: readers, windows, autoregressive models and models of one's own."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from dataflow.contrib.timeseries import keys, series_data
from dataflow.contrib.timeseries.ar_model import ARModel
from dataflow.contrib.timeseries.input_statistics import InputStatisticsFromMiniBatch
from dataflow.contrib.timeseries.models import SequentialTimeSeriesModel, normal_log_prob

ts = tf.contrib.timeseries
TIMES = np.arange(200)
VALUES = np.sin(2 * np.pi * TIMES / 20) + 0.02 * TIMES


def _run(tensors):
    with tf.train.MonitoredSession() as sess:
        return sess.run(tensors)


@pytest.fixture
def graph():
    with tf.Graph().as_default() as made:
        tf.set_random_seed(1)
        yield made


def _regressor(**more):
    config = tf.estimator.RunConfig(tf_random_seed=3)
    settings = {"periodicities": 20, "input_window_size": 10, "output_window_size": 6}
    return ts.ARRegressor(**{**settings, "num_features": 1, "config": config, **more})


def _trained(estimator, window, steps=250):
    reader = ts.NumpyReader({"times": TIMES, "values": VALUES})
    estimator.train(ts.RandomWindowInputFn(reader, batch_size=16, window_size=window), steps=steps)
    return estimator.evaluate(ts.WholeDatasetInputFn(reader), steps=1)


# ---- series and readers ----------------------------------------------------------------------------


def test_series_become_batches():
    one = series_data.as_batch({"times": 3, "values": 4.0}, single=True)
    assert one["times"].shape == (1, 1) and one["values"].shape == (1, 1, 1)
    series = series_data.as_batch({"times": [1, 2], "values": [[3.0, 4.0]] * 2}, single=True)
    assert series["times"].shape == (1, 2) and series["values"].shape == (1, 2, 2)
    for data, message in (
        ({"times": [1]}, "required features"),
        ({"times": [1, 2], "values": [1.0]}, "prefixed by the shape"),
        ({"times": [[[1]]], "values": [[[1.0]]]}, "at most"),
        ({"times": [[1, 2]], "values": [[1.0, 2.0]]}, "unexpected number of dimensions"),
        ({"times": [[1], [2]], "values": [[[1.0]], [[2.0]]]}, "unbatched input"),
    ):
        with pytest.raises(ValueError, match=message):
            series_data.as_batch(data, single=True)


def test_times_go_on_after_a_result():
    before = {keys.FilteringResults.TIMES: np.array([[1, 2, 3]])}
    assert series_data.times_after(None, 2, before).tolist() == [[4, 5]]
    assert series_data.times_after([5, 9], None, before).tolist() == [[5, 9]]
    for times, steps, message in (
        ([4], 1, "Only one of"),
        (None, None, "One of"),
        ([3, 4], None, "must be after"),
        ([[4], [4]], None, "matching the previous"),
    ):
        with pytest.raises(ValueError, match=message):
            series_data.times_after(times, steps, before)


def test_a_csv_file_has_columns_of_features(graph, tmp_path):
    path = tmp_path / "series.csv"
    path.write_text("time,a,b,kind\n1,2,3,x\n2,4,5,y\n")
    reader = ts.CSVReader(
        str(path),
        column_names=("times", "values", "values", "kind"),
        column_dtypes=(tf.int64, tf.float32, tf.float32, tf.string),
        skip_header_lines=1,
    )
    features, labels = ts.WholeDatasetInputFn(reader)()
    assert labels is None
    with tf.Session() as sess:
        for _ in range(2):  # it begins again
            found = sess.run(features)
            assert found["times"].tolist() == [[1, 2]]
            assert found["values"].tolist() == [[[2, 3], [4, 5]]]
            assert found["kind"].tolist() == [[[b"x"], [b"y"]]]


def test_readers_say_what_they_need():
    with pytest.raises(ValueError, match="'times' is a required column"):
        ts.CSVReader("a.csv", column_names=("time", "values"))
    with pytest.raises(ValueError, match="exactly one is required"):
        ts.CSVReader("a.csv", column_names=("times", "times", "values"))
    with pytest.raises(ValueError, match="length of column_dtypes"):
        ts.CSVReader("a.csv", column_dtypes=(tf.int64,))
    with pytest.raises(ValueError, match="'values' is a required column"):
        ts.TFExampleReader("a.tfrecord", {"times": tf.FixedLenFeature([], tf.int64)})
    with pytest.raises(ValueError, match="only 2 records"):
        ts.RandomWindowInputFn(ts.NumpyReader({"times": [1, 2], "values": [1.0, 2.0]}), 3, 1)


def test_examples_are_read_from_records(graph, tmp_path):
    path = str(tmp_path / "series.tfrecord")
    with tf.python_io.TFRecordWriter(path) as writer:
        for i in range(3):
            example = tf.train.Example()
            example.features.feature["times"].int64_list.value.append(i)
            example.features.feature["values"].float_list.value.append(i / 2)
            writer.write(example.SerializeToString())
    reader = ts.TFExampleReader(
        path,
        {
            "times": tf.FixedLenFeature([], tf.int64),
            "values": tf.FixedLenFeature([1], tf.float32),
        },
    )
    features, _ = ts.WholeDatasetInputFn(reader)()
    with tf.Session() as sess:
        found = sess.run(features)
    assert found["times"].tolist() == [[0, 1, 2]]
    assert found["values"].tolist() == [[[0], [0.5], [1]]]


def test_random_windows_are_pieces_of_the_series(graph):
    reader = ts.NumpyReader({"times": TIMES, "values": VALUES})
    found = _run(ts.RandomWindowInputFn(reader, window_size=7, batch_size=5)()[0])
    assert found["times"].shape == (5, 7) and found["values"].shape == (5, 7, 1)
    assert (np.diff(found["times"], axis=1) == 1).all()
    assert np.allclose(found["values"][..., 0], VALUES[found["times"]])


# ---- statistics ------------------------------------------------------------------------------------


def test_statistics_are_those_of_what_was_seen(graph):
    maker = InputStatisticsFromMiniBatch(num_features=1, dtype=tf.float32)
    times = tf.constant([[0, 2, 4], [6, 8, 10]], tf.int64)
    values = tf.constant([[[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]]])
    found = maker.initialize_graph({"times": times, "values": values})
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        found = sess.run(found)
    assert found.overall_feature_moments.mean == pytest.approx([3.5])
    assert found.overall_feature_moments.variance == pytest.approx([3.5])
    assert found.series_start_moments.mean == pytest.approx([2.0])
    assert found.start_time == 0
    assert found.total_observation_count == 6  # (10 - 0 + 1) / 2


def test_half_a_logarithm_counts_as_in_tensorflow(graph):
    with tf.Session() as sess:
        found = sess.run(normal_log_prob(tf.constant(1.0), tf.constant(2.0), tf.constant(0.0)))
    assert found == pytest.approx(-0.5 * (0.25 + np.log(2 * np.pi) + np.log(2)))


# ---- autoregressive models -------------------------------------------------------------------------


def test_an_autoregressive_model_goes_on_with_a_series(tmp_path):
    estimator = _regressor()
    found = _trained(estimator, 16)
    assert found["mean"].shape == found["observed"].shape == (1, 186, 1)
    assert found["times"][0, 0] == 14 and found["times"][0, -1] == 199  # the last window ends it
    assert [part.shape for part in found["start_tuple"]] == [(1, 10), (1, 10, 1), (1, 10, 0)]
    assert np.abs(found["mean"] - found["observed"]).mean() < 0.3
    (ahead,) = estimator.predict(ts.predict_continuation_input_fn(found, steps=15))
    assert ahead["times"].tolist() == list(range(200, 215))
    expected = np.sin(2 * np.pi * ahead["times"] / 20) + 0.02 * ahead["times"]
    assert np.abs(ahead["mean"][:, 0] - expected).mean() < 0.5
    assert "model/flat_prediction_model/predicted_mean/kernel" in estimator.get_variable_names()
    folder = estimator.export_savedmodel(
        str(tmp_path), estimator.build_raw_serving_input_receiver_fn()
    )
    with tf.Graph().as_default(), tf.Session() as sess:
        signatures = tf.saved_model.loader.load(sess, ["serve"], folder)
        utils = ts.saved_model_utils
        known = {"times": TIMES, "values": VALUES}
        cold = utils.cold_start_filter(signatures, sess, known)
        half = {key: value[:100] for key, value in known.items()}
        rest = {key: value[100:] for key, value in known.items()}
        begun = utils.cold_start_filter(signatures, sess, half)
        whole = utils.filter_continuation(begun, signatures, sess, rest)
        for before in (found, cold, whole):
            again = utils.predict_continuation(before, signatures, sess, steps=15)
            assert again["times"].tolist() == [list(range(200, 215))]
            assert np.allclose(again["mean"][0], ahead["mean"], atol=1e-4)


def test_exogenous_features_explain_a_series():
    jumps = TIMES % 30 == 29
    values = np.where(jumps, 5.0, 0.0)
    column = tf.feature_column.indicator_column(
        tf.feature_column.categorical_column_with_vocabulary_list("kind", ["no", "yes"])
    )
    adam = tf.train.AdamOptimizer(0.02)
    estimator = _regressor(exogenous_feature_columns=[column], periodicities=[], optimizer=adam)
    kinds = np.where(jumps, "yes", "no")[:, None]
    reader = ts.NumpyReader({"times": TIMES, "values": values, "kind": kinds})
    estimator.train(ts.RandomWindowInputFn(reader, 16, 32), steps=900)
    found = estimator.evaluate(ts.WholeDatasetInputFn(reader), steps=1)
    told = {"kind": [["no"] * 5 + ["yes"] + ["no"] * 6]}
    (ahead,) = estimator.predict(
        ts.predict_continuation_input_fn(found, steps=12, exogenous_features=told)
    )
    assert int(np.argmax(ahead["mean"])) == 5 and ahead["mean"][5, 0] > 3


@pytest.mark.parametrize(
    "more",
    [
        {"loss": ARModel.SQUARED_LOSS, "hidden_layer_sizes": [8]},
        {"anomaly_prior_probability": 0.1, "anomaly_distribution": "cauchy"},
        {"anomaly_prior_probability": 0.1},
    ],
)
def test_other_losses_fit_as_well(more):
    found = _trained(_regressor(**more), 16)
    assert np.abs(found["mean"] - found["observed"]).mean() < 0.4


def test_time_alone_predicts_a_period():
    adam = tf.train.AdamOptimizer(0.05)
    estimator = _regressor(input_window_size=0, output_window_size=5, optimizer=adam)
    reader = ts.NumpyReader({"times": TIMES, "values": np.sin(2 * np.pi * TIMES / 20)})
    estimator.train(ts.RandomWindowInputFn(reader, 5, 16), steps=300)
    found = estimator.evaluate(ts.WholeDatasetInputFn(reader), steps=1)
    assert found["times"].shape == (1, 200)
    assert np.abs(found["mean"] - found["observed"]).mean() < 0.25


def test_two_lstms_fit_a_series():
    from dataflow.contrib.timeseries.estimators import LSTMAutoRegressor

    estimator = LSTMAutoRegressor(
        20, 10, 6, num_units=8, config=tf.estimator.RunConfig(tf_random_seed=3)
    )
    found = _trained(estimator, 16, steps=200)
    assert "start_tuple" not in found
    assert np.abs(found["mean"] - found["observed"]).mean() < 0.5


def test_what_models_refuse():
    with pytest.raises(ValueError, match="anomaly_prior_probability is required"):
        _regressor(anomaly_distribution="cauchy")
    with pytest.raises(ValueError, match="only supports"):
        _regressor(anomaly_prior_probability=0.1, loss=ARModel.SQUARED_LOSS)
    with pytest.raises(ValueError, match="lies between 0 and 1"):
        _regressor(anomaly_prior_probability=1.5)
    with pytest.raises(ValueError, match="must be positive"):
        _regressor(num_time_buckets=0)
    with pytest.raises(ValueError, match="there is no input"):
        _regressor(periodicities=None, input_window_size=0)
    reader = ts.NumpyReader({"times": TIMES, "values": VALUES})
    with pytest.raises(ValueError, match="set window_size=16"):
        _regressor().train(ts.RandomWindowInputFn(reader, 12, 4), steps=1)
    with pytest.raises(ValueError, match="Expected a 'values' feature"):
        _regressor().train(lambda: ({"times": tf.constant([[1]])}, None), steps=1)
    with pytest.raises(ValueError, match="received a `labels`"):
        _regressor().train(lambda: ({"times": tf.constant([[1]])}, tf.constant([1])), steps=1)
    with pytest.raises(AttributeError, match="ARRegressor"):
        _ = ts.StructuralEnsembleRegressor


# ---- a model of one's own --------------------------------------------------------------------------


class _Last(SequentialTimeSeriesModel):
    """Predicts a factor, which is learned, times the last value; a feature "up" adds to it."""

    def __init__(self, **more):
        super().__init__(["mean"], ["mean"], num_features=1, **more)

    def initialize_graph(self, input_statistics=None):
        super().initialize_graph(input_statistics)
        self._factor = tf.get_variable("factor", [], initializer=tf.zeros_initializer())

    def get_start_state(self):
        return (tf.zeros([], tf.int64), tf.zeros([1]))

    def _prediction_step(self, current_times, state):
        ahead = state[1] * self._factor
        return (current_times, ahead), {"mean": ahead}

    def _filtering_step(self, current_times, current_values, state, predictions):
        error = tf.reduce_mean((predictions["mean"] - current_values) ** 2, axis=-1)
        return (current_times, current_values), {**predictions, "loss": error}

    def _imputation_step(self, current_times, state):
        return state

    def _exogenous_input_step(self, current_times, current_exogenous_regressors, state):
        return (state[0], state[1] + current_exogenous_regressors)


def test_a_model_of_ones_own_goes_step_by_step():
    from dataflow.contrib.timeseries.estimators import TimeSeriesRegressor

    estimator = TimeSeriesRegressor(_Last(), optimizer=tf.train.AdamOptimizer(0.05))
    values = 0.9 ** np.arange(50)
    reader = ts.NumpyReader({"times": np.arange(50), "values": values})
    estimator.train(ts.WholeDatasetInputFn(reader), steps=200)
    assert estimator.get_variable_value("factor") == pytest.approx(0.9, abs=0.01)
    found = estimator.evaluate(ts.WholeDatasetInputFn(reader), steps=1)
    assert found["mean"].shape == (1, 50, 1) and found["start_tuple"][0] == [49]
    (ahead,) = estimator.predict(ts.predict_continuation_input_fn(found, steps=3))
    assert ahead["mean"][:, 0] == pytest.approx(0.9 ** np.arange(50, 53), rel=0.05)


def test_exogenous_features_of_ones_own_count_where_the_condition_says(graph):
    model = _Last(
        exogenous_feature_columns=[tf.feature_column.numeric_column("up")],
        exogenous_update_condition=lambda times, features: features["up"] > 1.0,
    )
    model.initialize_graph()
    features = {
        "times": tf.constant([[0, 1, 2]], tf.int64),
        "up": tf.constant([[1.0, 2.0, 1.0]]),
        "start_tuple": (tf.zeros([1], tf.int64), tf.ones([1, 1])),
    }
    found = model.predict(features)["mean"]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(tf.global_variables()[0].assign(1.0))
        assert sess.run(found)[0, :, 0].tolist() == [1.0, 3.0, 3.0]

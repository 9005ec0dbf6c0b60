"""``tf.contrib.learn.DynamicRnnEstimator``; losses and sums as TensorFlow 1.15's, from the same first values."""

import numpy as np
import pytest

import dataflow as tf
from dataflow.contrib.learn import rnn_parts
from dataflow.contrib.learn.keys import ProblemType
from dataflow.contrib.learn.rnn_parts import PredictionType

learn, layers = tf.contrib.learn, tf.contrib.layers
RNG = np.random.RandomState(0)
X = RNG.rand(6, 5, 2).astype(np.float32)
CLASSES = RNG.randint(0, 3, (6, 5))
NUMBERS = RNG.rand(6).astype(np.float32)
LENGTHS = np.array([5, 3, 1, 2, 4, 5], np.int32)


class FirstValues(tf.train.SessionRunHook):
    """Lets all variables begin with a slope."""

    def begin(self):
        self.ops = []
        for v in tf.trainable_variables():
            shape = v.shape.as_list()
            values = np.linspace(-0.5, 0.6, int(np.prod(shape))).reshape(shape)
            self.ops.append(tf.assign(v, values.astype(np.float32)))

    def after_create_session(self, session, coord):
        session.run(self.ops)


def inputs(labels):
    features = {"x": X, "c": X[:, 0], "sequence_length": LENGTHS}
    return lambda: ({k: tf.constant(v) for k, v in features.items()}, tf.constant(labels))


@pytest.mark.parametrize(
    ("settings", "labels", "metrics", "sums"),
    [
        (
            {
                "problem_type": ProblemType.CLASSIFICATION,
                "prediction_type": PredictionType.MULTIPLE_VALUE,
                "num_classes": 3,
                "num_units": [4, 3],
                "cell_type": "lstm",
                "predict_probabilities": True,
            },
            CLASSES,
            {"accuracy": 0.5, "loss": 1.08404},
            [30.0, 30.0, -8.847, -3.8631, -1.7111, -1.0386],
        ),
        (
            {
                "problem_type": ProblemType.LINEAR_REGRESSION,
                "prediction_type": PredictionType.SINGLE_VALUE,
                "num_units": 4,
                "cell_type": "gru",
                "optimizer": "Momentum",
                "momentum": 0.9,
            },
            NUMBERS,
            {"loss": 0.0304},
            [-0.9672, 3.9697],
        ),
        (
            {
                "problem_type": ProblemType.CLASSIFICATION,
                "prediction_type": PredictionType.SINGLE_VALUE,
                "num_classes": 2,
                "num_units": 3,
                "predict_probabilities": True,
            },
            (NUMBERS > 0.5).astype(np.int64),
            {"accuracy": 0.83333, "loss": 0.42461},
            [6.0, 6.0, 1.5198],
        ),
    ],
)
def test_trained_as_in_tensorflow(settings, labels, metrics, sums):
    estimator = learn.DynamicRnnEstimator(
        sequence_feature_columns=[layers.real_valued_column("x", 2)],
        context_feature_columns=[layers.real_valued_column("c", 2)],
        **settings,
    )
    estimator.fit(input_fn=inputs(labels), steps=20, monitors=[FirstValues()])
    found = estimator.evaluate(input_fn=inputs(labels), steps=1)
    assert found == pytest.approx(metrics | {"global_step": 20}, abs=1e-4)
    predicted = estimator.predict(input_fn=inputs(labels), as_iterable=False)
    totals = [float(np.sum(value)) for _, value in sorted(predicted.items())]
    assert totals == pytest.approx(sums, abs=2e-3)
    assert "rnn_cell_state_0" in predicted


def test_states_go_on():
    estimator = learn.DynamicRnnEstimator(
        ProblemType.LINEAR_REGRESSION,
        PredictionType.MULTIPLE_VALUE,
        [layers.real_valued_column("x", 2)],
        num_units=3,
        cell_type="lstm",
        dropout_keep_probabilities=[0.5, 0.5],
    )

    def part(steps, state):
        return lambda: ({"x": tf.constant(X[:, steps]), **state}, tf.constant(X[:, steps, 0]))

    estimator.fit(input_fn=part(slice(None), {}), steps=2)
    at_once = estimator.predict(input_fn=part(slice(None), {}), as_iterable=False)
    first = estimator.predict(input_fn=part(slice(2), {}), as_iterable=False)
    state = {k: v for k, v in first.items() if k.startswith("rnn_cell_state")}
    rest = estimator.predict(input_fn=part(slice(2, None), state), as_iterable=False)
    both = np.concatenate([first["scores"], rest["scores"]], 1)
    assert both == pytest.approx(at_once["scores"].reshape(both.shape), abs=1e-6)


@pytest.mark.usefixtures("graph")
def test_parts():
    activations = tf.constant(np.arange(12.0).reshape(2, 3, 2))
    last = rnn_parts.select_last_activations(activations, tf.constant([2, 0]))
    rows, labels = rnn_parts.mask_activations_and_labels(
        activations, np.arange(6).reshape(2, 3), tf.constant([2, 1])
    )
    with tf.Session() as sess:
        found = sess.run([last, rows, labels])
    assert found[0].tolist() == [[2, 3], [6, 7]]
    assert found[1].tolist() == [[0, 1], [2, 3], [6, 7]] and found[2].tolist() == [0, 1, 3]
    cell = rnn_parts.construct_rnn_cell([2, 3], "gru", [0.5, 0.5, 1.0])
    assert tuple(cell.state_size) == (2, 3)
    with pytest.raises(ValueError, match="one greater than the number of cells"):
        rnn_parts.construct_rnn_cell(2, "gru", [0.5])
    with pytest.raises(ValueError, match="supported cell types"):
        rnn_parts.construct_rnn_cell(2, "other")
    with pytest.raises(ValueError, match="The state has 2 parts"):
        rnn_parts.dict_to_state_tuple({"rnn_cell_state_1": np.zeros([1, 3])}, cell)


def test_what_does_not_fit():
    columns = [layers.real_valued_column("x")]
    for given, says in (
        ((ProblemType.CLASSIFICATION, 7), "prediction_type must be one of"),
        ((ProblemType.CLASSIFICATION, 1), "num_classes must be specified"),
        ((ProblemType.LOGISTIC_REGRESSION, 1), "problem_type must be either"),
    ):
        with pytest.raises(ValueError, match=says):
            learn.DynamicRnnEstimator(*given, columns)

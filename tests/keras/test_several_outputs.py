"""Models with several outputs: metrics and class weights of each, and what the outputs are called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dataflow
from dataflow.keras import layers, metrics

#: Its names are in stubs.
keras: Any = dataflow.keras
X = np.array([[1.0], [2.0], [3.0], [4.0]])


class Two(keras.Model):  # type: ignore[misc]
    """Both outputs are three times the input."""

    def __init__(self) -> None:
        super().__init__()
        self.triple = layers.Dense(1, kernel_initializer=lambda *_, **__: np.full((1, 1), 3.0))

    def call(self, inputs: Any) -> Any:
        return [self.triple(inputs), self.triple(inputs)]


def functional() -> Any:
    x = keras.Input((1,))
    make = lambda name: layers.Dense(
        1, kernel_initializer=lambda *_, **__: np.full((1, 1), 3.0), name=name
    )
    return keras.Model(x, [make("output_1")(x), make("output_2")(x)])


@pytest.fixture(params=[Two, functional])
def model(request: pytest.FixtureRequest) -> Iterator[Any]:
    with dataflow.Graph().as_default():
        made = request.param()
        made.compile(
            keras.optimizers.SGD(0.0),
            "mse",
            metrics=[metrics.MeanSquaredError(name="m")],
            weighted_metrics=[metrics.MeanSquaredError(name="m")],
        )
        yield made


def test_each_output_has_a_metric_object_of_its_own(model: Any) -> None:
    found = model.fit(X, [2 * X, X], batch_size=2, verbose=0).history
    assert model.output_names == ["output_1", "output_2"]
    assert found["output_1_m"] == found["output_1_weighted_m"] == [7.5]
    assert found["output_2_m"] == found["output_2_weighted_m"] == [30.0]
    assert len(model.metrics) == 4


def _batches() -> Iterator[Any]:
    while True:
        for i in (0, 2):
            x = X[i : i + 2]
            yield x, [2 * x, x]


def test_class_weights_of_a_generator_count(model: Any) -> None:
    weights = {"output_1": {2: 2, 4: 3, 6: 4, 8: 5}, "output_2": {1: 3.5, 2: 2.5, 3: 1.5, 4: 0.5}}
    arrays = model.fit(X, [2 * X, X], batch_size=2, class_weight=weights, verbose=0, shuffle=False)
    again = model.fit_generator(_batches(), 2, class_weight=weights, verbose=0)
    assert again.history["loss"] == arrays.history["loss"] == [67.5]
    assert again.history["output_1_weighted_m"] == arrays.history["output_1_weighted_m"]


def test_inputs_of_a_subclassed_model_are_numbered() -> None:
    with dataflow.Graph().as_default():
        keras.Input((1,))
        model = Two()
        model.predict(X)
        assert model.input_names == ["input_1"]


def test_an_area_under_a_curve_tells_its_thresholds() -> None:
    with dataflow.Graph().as_default():
        area = metrics.AUC(thresholds=[0.3, 0.5], num_thresholds=None)
        np.testing.assert_allclose(area.thresholds, [0.0, 0.3, 0.5, 1.0], atol=1e-6)
        again = metrics.AUC.from_config(area.get_config())
        assert again.thresholds == area.thresholds
        with pytest.raises(ValueError, match='Invalid AUC curve value "x"'):
            metrics.AUC(curve="x")
        with pytest.raises(ValueError, match='Invalid AUC summation method value "x"'):
            metrics.AUC(summation_method="x")


def test_a_function_that_penalizes_comes_back_from_its_name() -> None:
    def penalty(weights: Any) -> Any:
        return dataflow.reduce_sum(dataflow.abs(weights))

    with dataflow.Graph().as_default():
        x = keras.Input((2,))
        model = keras.Model(x, layers.Dense(1, kernel_regularizer=penalty)(x))
        again = model.from_config(model.get_config(), custom_objects={"penalty": penalty})
        assert again.layers[1].kernel_regularizer is penalty
        assert type(keras.regularizers.get("l2")).__name__ == "L1L2"

"""Models of ``keras.testing_utils`` and ``keras.model_subclassing_test_util``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dataflow.keras
from dataflow.graph.eager import executing_eagerly
from dataflow.python.keras_modes import get_model_type

__all__ = [
    "CustomCallModel",
    "MultiIOTestModel",
    "NestedTestModel1",
    "NestedTestModel2",
    "SimpleConvTestModel",
    "SimpleTestModel",
    "TrainingMaskingModel",
    "TrainingNoDefaultModel",
    "get_expected_metric_variable_names",
    "get_multi_io_model",
    "get_nested_model_3",
]

#: Its names are in stubs.
keras: Any = dataflow.keras


def get_expected_metric_variable_names(var_names: list[str], name_suffix: str = "") -> list[str]:
    """The names of a metric's variables; in a graph those of a second metric have a suffix, in eager code none."""
    if executing_eagerly():
        name_suffix = ""
    return [f"{name}{name_suffix}:0" for name in var_names]


class _TwoBranches(keras.Model):  # type: ignore[misc]
    """Layers before, in and after two branches, which are made by functions when it is built."""

    def __init__(self, make: Callable[[], Any], at_once: bool) -> None:
        super().__init__()
        self._make = make
        self.parts: Any = make() if at_once else None

    def build(self, input_shape: Any) -> None:
        if self.parts is None:
            self.parts = self._make()

    def call(self, inputs: Any, **_: Any) -> Any:
        return _branched(inputs, *self.parts)


def _branched(inputs: Any, branch_a: Any, branch_b: Any, before: Any, after: Any) -> Any:
    if before:
        for layer in before:
            inputs = layer(inputs)
        a = b = inputs
    else:
        a, b = inputs
    for layer in branch_a:
        a = layer(a)
    for layer in branch_b:
        b = layer(b)
    outputs: Any = [a, b]
    for layer in after or ():
        outputs = layer(outputs)
    return outputs


def get_multi_io_model(
    branch_a: Any,
    branch_b: Any,
    shared_input_branch: Any = None,
    shared_output_branch: Any = None,
) -> Any:
    """A model of two branches, of the type of `get_model_type`.

    Each branch is a list of layers; the first item of ``shared_input_branch``, or else of either branch, is a
    `keras.Input`. Raises `ValueError` for a sequential model, which has one branch.
    """
    kind = get_model_type()
    if kind == "sequential":
        raise ValueError("Cannot use `get_multi_io_model` to construct sequential models")
    branches = [list(branch_a), list(branch_b), list(shared_input_branch or ())]
    if shared_input_branch:
        inputs = branches[2].pop(0)
    else:
        inputs = [branches[0].pop(0), branches[1].pop(0)]
    parts = (*branches, list(shared_output_branch or ()))
    if kind.startswith("subclass"):
        return _TwoBranches(lambda: parts, kind == "subclass")
    return keras.Model(inputs, _branched(inputs, *parts))


class SimpleTestModel(keras.Model):  # type: ignore[misc]
    """Two dense layers, with dropout and batch normalization between them on request."""

    def __init__(self, use_bn: bool = False, use_dp: bool = False, num_classes: int = 10) -> None:
        super().__init__(name="test_model")
        self.use_bn, self.use_dp, self.num_classes = use_bn, use_dp, num_classes
        self.dense1 = keras.layers.Dense(32, activation="relu")
        self.dense2 = keras.layers.Dense(num_classes, activation="softmax")
        if use_dp:
            self.dp = keras.layers.Dropout(0.5)
        if use_bn:
            self.bn = keras.layers.BatchNormalization(axis=-1)

    def call(self, x: Any) -> Any:
        x = self.dense1(x)
        if self.use_dp:
            x = self.dp(x)
        if self.use_bn:
            x = self.bn(x)
        return self.dense2(x)


class SimpleConvTestModel(keras.Model):  # type: ignore[misc]
    """A convolution and a dense layer."""

    def __init__(self, num_classes: int = 10) -> None:
        super().__init__(name="test_model")
        self.num_classes = num_classes
        self.conv1 = keras.layers.Conv2D(32, (3, 3), activation="relu")
        self.flatten = keras.layers.Flatten()
        self.dense1 = keras.layers.Dense(num_classes, activation="softmax")

    def call(self, x: Any) -> Any:
        return self.dense1(self.flatten(self.conv1(x)))


class MultiIOTestModel(keras.Model):  # type: ignore[misc]
    """Two inputs through one dense layer, and two outputs."""

    def __init__(
        self, use_bn: bool = False, use_dp: bool = False, num_classes: tuple[int, int] = (2, 3)
    ) -> None:
        super().__init__(name="test_model")
        self.use_bn, self.use_dp, self.num_classes = use_bn, use_dp, num_classes
        self.dense1 = keras.layers.Dense(32, activation="relu")
        self.dense2 = keras.layers.Dense(num_classes[0], activation="softmax")
        self.dense3 = keras.layers.Dense(num_classes[1], activation="softmax")
        if use_dp:
            self.dp = keras.layers.Dropout(0.5)
        if use_bn:
            self.bn = keras.layers.BatchNormalization()

    def call(self, inputs: Any) -> Any:
        x1, x2 = (self.dense1(x) for x in inputs)
        if self.use_dp:
            x1 = self.dp(x1)
        if self.use_bn:
            x2 = self.bn(x2)
        return [self.dense2(x1), self.dense3(x2)]


class NestedTestModel1(keras.Model):  # type: ignore[misc]
    """A subclassed model in a subclassed model."""

    def __init__(self, num_classes: int = 2) -> None:
        super().__init__(name="nested_model_1")
        self.num_classes = num_classes
        self.dense1 = keras.layers.Dense(32, activation="relu")
        self.dense2 = keras.layers.Dense(num_classes, activation="relu")
        self.bn = keras.layers.BatchNormalization()
        self.test_net = SimpleTestModel(num_classes=4, use_bn=True, use_dp=True)

    def call(self, inputs: Any) -> Any:
        return self.dense2(self.test_net(self.bn(self.dense1(inputs))))


class NestedTestModel2(keras.Model):  # type: ignore[misc]
    """A functional model in a subclassed model."""

    def __init__(self, num_classes: int = 2) -> None:
        super().__init__(name="nested_model_2")
        self.num_classes = num_classes
        self.dense1 = keras.layers.Dense(32, activation="relu")
        self.dense2 = keras.layers.Dense(num_classes, activation="relu")
        self.bn = keras.layers.BatchNormalization()
        self.test_net = self.get_functional_graph_model(32, 4)

    @staticmethod
    def get_functional_graph_model(input_dim: int, num_classes: int) -> Any:
        """A functional model of two dense layers and a batch normalization."""
        inputs = keras.Input(shape=(input_dim,))
        x = keras.layers.Dense(32, activation="relu")(inputs)
        x = keras.layers.BatchNormalization()(x)
        return keras.Model(inputs, keras.layers.Dense(num_classes)(x))

    def call(self, inputs: Any) -> Any:
        return self.dense2(self.test_net(self.bn(self.dense1(inputs))))


class _Inner(keras.Model):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.dense1 = keras.layers.Dense(32, activation="relu")
        self.dense2 = keras.layers.Dense(5, activation="relu")
        self.bn = keras.layers.BatchNormalization()

    def call(self, inputs: Any) -> Any:
        return self.bn(self.dense2(self.dense1(inputs)))


def get_nested_model_3(input_dim: int, num_classes: int) -> Any:
    """A subclassed model in a functional model."""
    inputs = keras.Input(shape=(input_dim,))
    x = keras.layers.Dense(32, activation="relu")(inputs)
    x = _Inner()(keras.layers.BatchNormalization()(x))
    return keras.Model(inputs, keras.layers.Dense(num_classes)(x), name="nested_model_3")


class CustomCallModel(keras.Model):  # type: ignore[misc]
    """A model whose ``call`` takes two tensors and further arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.dense1 = keras.layers.Dense(1, activation="relu")
        self.dense2 = keras.layers.Dense(1, activation="softmax")

    def call(
        self, first: Any, second: Any, fiddle_with_output: str = "no", training: Any = True
    ) -> Any:
        combined = self.dense1(first) + self.dense2(second)
        return 10.0 * combined if fiddle_with_output == "yes" else combined


class TrainingNoDefaultModel(keras.Model):  # type: ignore[misc]
    """A model whose ``training`` has no default."""

    def __init__(self) -> None:
        super().__init__()
        self.dense1 = keras.layers.Dense(1)

    def call(self, x: Any, training: Any) -> Any:
        return self.dense1(x)


class TrainingMaskingModel(keras.Model):  # type: ignore[misc]
    """A model whose ``call`` takes ``training`` and a mask."""

    def __init__(self) -> None:
        super().__init__()
        self.dense1 = keras.layers.Dense(1)

    def call(self, x: Any, training: Any = False, mask: Any = None) -> Any:
        return self.dense1(x)

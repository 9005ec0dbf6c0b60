"""``tensorflow.python.distribute.combinations``, and Keras's helpers for training with strategies."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.distribute.values import PerReplica
from dataflow.graph.eager import executing_eagerly
from dataflow.python import keras_distribution as training, strategy_combinations as combinations

parameterized = pytest.importorskip("absl.testing.parameterized")


def run(name: str) -> tuple[unittest.TestResult, list[tuple[str, bool]]]:
    """The result of the tests of this name, and what they saw."""
    seen: list[tuple[str, bool]] = []

    class Tests(tf.test.TestCase, parameterized.TestCase):  # type: ignore[misc]
        @combinations.generate(combinations.all_strategy_combinations())
        def test_each(self, distribution: Any) -> None:
            seen.append((type(distribution).__name__, executing_eagerly()))

        @combinations.generate(combinations.combine(required_gpus=[None, 1], mode=["graph"]))
        def test_gpus(self) -> None:
            seen.append(("gpus", False))

    loader = unittest.TestLoader()
    loader.testMethodPrefix = name
    result = unittest.TestResult()
    loader.loadTestsFromTestCase(Tests).run(result)
    assert not result.errors and not result.failures, [*result.errors, *result.failures]
    return result, seen


def test_strategies_that_this_machine_has_run_in_both_modes() -> None:
    result, seen = run("test_each")
    found = [
        (kind, mode) for kind in ("DefaultStrategy", "OneDeviceStrategy") for mode in (False, True)
    ]
    assert sorted(seen) == sorted(found)
    why = {reason for _, reason in result.skipped}
    assert why == {
        "Only 0 of 1 required GPUs are available.",
        "Only 0 of 2 required GPUs are available.",
        "Test requires a TPU, but it's not available.",
    }
    result, seen = run("test_gpus")
    assert seen == [("gpus", False)] and len(result.skipped) == 1


def test_what_is_needed_is_said_once() -> None:
    one = combinations.one_device_strategy
    for kind, name in (
        (combinations.GPUCombination(), "required_gpus"),
        (combinations.TPUCombination(), "required_tpu"),
    ):
        with pytest.raises(ValueError, match="together"):
            kind.should_execute_combination({"distribution": one, name: 1})
    with pytest.raises(ValueError, match="not both"):
        combinations.TPUCombination().should_execute_combination(
            {"required_tpu": True, "required_tpus": True}
        )
    assert repr(one) == "OneDeviceCPU" and one.strategy is not one.strategy


def test_batches_and_steps_of_arrays() -> None:
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    params = training.get_input_params
    assert params(strategy, 64, None, None) == (2, 32)
    assert params(strategy, 20, None, None) == (1, 20)
    assert params(strategy, 63, 3, None) == (3, 21)
    assert params(strategy, 64, None, 16) == (4, 16)
    assert params(strategy, 64, 5, 3) == (5, 3)
    assert params(strategy, 20, None, 16, "train") == (2, 16)
    for args, words in (
        ((63, 2, None), "not divisible by steps 2"),
        ((64, 10, 13), "less than samples required"),
        ((20, None, 16), "not divisible by batch size 16"),
    ):
        with pytest.raises(ValueError, match=words):
            params(strategy, *args)


def test_the_replicas_tensors_are_alike() -> None:
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    check = training.validate_distributed_dataset_inputs
    one, two = tf.constant([[1, 2]]), tf.constant([[1, 2], [3, 4]])
    assert check(strategy, PerReplica([one, one]), None) == ([(one, one)], None, None)
    with pytest.raises(ValueError, match="shapes do not match for distributed tensor inputs PerR"):
        check(strategy, PerReplica([one, two]), one)
    with pytest.raises(ValueError, match="dtypes do not match"):
        check(strategy, one, PerReplica([one, tf.cast(one, tf.float64)]))
    with pytest.raises(ValueError, match="should be tensors"):
        check(strategy, np.ones(3), None)

"""`tf.random.experimental.Generator`: the numbers are those of TensorFlow 1.15.5, whose states they go with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.errors import InvalidArgumentError
from dataflow.graph import eager
from dataflow.ops.counter_random import counter_uniform_op

experimental = tf.random.experimental


@pytest.fixture
def eagerly() -> Iterator[None]:
    tf.reset_default_graph()
    tf.enable_eager_execution()
    yield
    eager.disable_eager_execution()


def test_numbers_and_states_are_tensorflows(eagerly: None) -> None:
    made = experimental.Generator.from_seed(1234)
    uniform = [0.3581475019454956, 0.11322760581970215, 0.566709041595459]
    np.testing.assert_allclose(made.uniform([3]), uniform, rtol=1e-6)
    assert made.state.numpy().tolist() == [2002, 0, 0]
    normal = [
        [3.2528491020202637, -1.0676584243774414, 1.514214038848877],
        [0.7833707928657532, 0.21097272634506226, 0.19886654615402222],
    ]
    np.testing.assert_allclose(made.normal([2, 3], mean=1.0, stddev=2.0), normal, rtol=1e-5)
    double = [1.5668330268910822, 0.20392102210760304, -0.051999370318228454]
    np.testing.assert_allclose(made.normal([3], dtype=tf.float64), double, rtol=1e-12)
    truncated = [-0.47656407, -1.60416197, 1.85663402, 1.74178493, 0.24427607]
    np.testing.assert_allclose(made.truncated_normal([5]), truncated, rtol=1e-5)
    assert made.uniform([4], 0, 100, dtype=tf.int32).numpy().tolist() == [40, 19, 26, 73]
    assert made.uniform([3], -5, 1000, dtype=tf.int64).numpy().tolist() == [792, 764, 709]
    full = [1861259395182723258, 14885303398656444395]
    assert made.uniform_full_int([2]).numpy().tolist() == full
    assert made.uniform_full_int([2], tf.uint32).numpy().tolist() == [3217970120, 3485942334]
    assert made.state.numpy().tolist() == [8402, 0, 0]
    made.skip(7)
    assert made.state.numpy().tolist() == [10194, 0, 0]
    seeds = [[-5401690798989439519, -8256145029997321868], [0, 0]]
    assert made.make_seeds(2).numpy().tolist() == seeds
    _, other = made.split(2)
    assert other.state.numpy().tolist() == [0, 0, 4441442733924151072]
    np.testing.assert_allclose(other.uniform([2]), [0.04013538, 0.04023111], rtol=1e-6)


def test_the_counter_carries(eagerly: None) -> None:
    made = experimental.Generator.from_key_counter(key=3, counter=[-1, 5], alg=1)
    np.testing.assert_allclose(made.uniform([1]), [0.3925360441207886], rtol=1e-6)
    assert made.state.numpy().tolist() == [255, 6, 3]
    assert (made.key.numpy(), made.algorithm) == (3, 1)


def test_states_of_seeds() -> None:
    assert experimental.create_rng_state(2**70 + 5, 1).tolist() == [5, 64, 0]
    assert experimental.create_rng_state([1, 2], 1).tolist() == [0, 1, 2]
    assert experimental.create_rng_state(2**64 - 1, 2).tolist() == [-1, 0]
    with pytest.raises(ValueError, match="Unsupported algorithm id: 7"):
        experimental.create_rng_state(1, 7)


def test_copies_resets_and_the_global_generator(eagerly: None) -> None:
    made = experimental.Generator.from_seed([1, 2, 3])
    copied = experimental.Generator(copy_from=made)
    assert made.uniform([2]).numpy().tolist() == copied.uniform([2]).numpy().tolist()
    made.reset_from_seed(5)
    copied.reset([5, 0, 0])
    assert made.normal([2]).numpy().tolist() == copied.normal([2]).numpy().tolist()
    made.reset_from_key_counter(7, [1, 2])
    assert made.state.numpy().tolist() == [1, 2, 7]
    one, other = (experimental.Generator.from_non_deterministic_state() for _ in range(2))
    assert one.state.numpy().tolist() != other.state.numpy().tolist()
    experimental.set_global_generator(made)
    assert experimental.get_global_generator() is made


def test_functions_and_graphs_draw_on(eagerly: None) -> None:
    made = experimental.Generator.from_seed(1)
    draw = tf.function(lambda: made.uniform([2]))
    found = [draw().numpy().tolist() for _ in range(2)] + [made.uniform([2]).numpy().tolist()]
    made.reset_from_seed(1)
    assert found == [made.uniform([2]).numpy().tolist() for _ in range(3)]
    assert found[0] != found[1]
    with tf.Graph().as_default(), tf.Session() as session:
        inside = experimental.Generator.from_seed(1)
        drawn = inside.uniform([2])
        session.run(inside.state.initializer)
        assert [session.run(drawn).tolist() for _ in range(3)] == found


def test_bad_input_is_told(eagerly: None) -> None:
    made = experimental.Generator.from_seed(1)
    with pytest.raises(ValueError, match="Must specify maxval for integer dtype"):
        made.uniform([2], dtype=tf.int32)
    with pytest.raises(InvalidArgumentError, match="Need minval < maxval"):
        made.uniform([2], 3, 3, dtype=tf.int32)
    with pytest.raises(ValueError, match="not compatible|incompatible"):
        experimental.Generator.from_state([1, 2], 1)
    with pytest.raises(ValueError, match="needed are state and alg"):
        experimental.Generator()
    with pytest.raises(ValueError, match="not both"):
        experimental.Generator(copy_from=made, alg=1)
    with pytest.raises(ValueError, match="Unsupported algorithm id: 2"):
        experimental.Generator.from_seed(1, alg=2).uniform([1])


def test_the_op_checks_key_and_counter() -> None:
    key, counter = np.array([1], np.uint64), np.array([1, 2], np.uint64)
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(ValueError, match="the counter must be a vector of 2"):
            counter_uniform_op([2], key, key, 1, dtype=tf.float32)
        found: Any = counter_uniform_op([2], key, counter, 3, dtype=tf.float32)
        with pytest.raises(InvalidArgumentError, match="Unsupported algorithm id: 3"):
            session.run(found)

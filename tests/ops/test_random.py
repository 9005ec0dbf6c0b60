"""Random ops: seeds, streams, distributions; and initializers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels import random
from dataflow.kernels.philox import Stream, standard_normal, uniform


def draw(build: Any, runs: int = 1, graph_seed: int | None = None) -> list[Any]:
    """``runs`` values of what ``build()`` makes, in a fresh graph and session."""
    with tf.Graph().as_default(), tf.Session() as session:
        if graph_seed is not None:
            tf.set_random_seed(graph_seed)
        tensor = build()
        return [session.run(tensor) for _ in range(runs)]


OPS = {
    "uniform": lambda seed=None: tf.random_uniform([7], seed=seed),
    "integers": lambda seed=None: tf.random_uniform([7], 0, 1000, tf.int32, seed=seed),
    "normal": lambda seed=None: tf.random_normal([7], seed=seed),
    "truncated": lambda seed=None: tf.truncated_normal([7], seed=seed),
    "shuffle": lambda seed=None: tf.random_shuffle(tf.range(50), seed=seed),
    "multinomial": lambda seed=None: tf.multinomial(tf.zeros([1, 100]), 7, seed=seed),
    "gamma": lambda seed=None: tf.random_gamma([7], 2.0, seed=seed),
    "poisson": lambda seed=None: tf.random_poisson(50.0, [7], seed=seed),
}


@pytest.mark.parametrize("name", OPS)
def test_seeded_streams_repeat_in_a_fresh_session(name: str) -> None:
    first, second = draw(lambda: OPS[name](5), 3), draw(lambda: OPS[name](5), 3)
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first[0], first[1]), "each run continues the stream"
    assert not np.array_equal(first, draw(lambda: OPS[name](6), 3)), "another seed, another stream"


@pytest.mark.parametrize("name", OPS)
def test_the_graph_seed_counts_too(name: str) -> None:
    first = draw(OPS[name], graph_seed=1)
    np.testing.assert_array_equal(first, draw(OPS[name], graph_seed=1))
    assert not np.array_equal(first, draw(OPS[name], graph_seed=2))


@pytest.mark.parametrize("name", OPS)
def test_unseeded_streams_differ(name: str) -> None:
    assert not np.array_equal(draw(OPS[name]), draw(OPS[name]))


def test_two_ops_of_one_graph_seed_differ() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        a, b = session.run([tf.random_normal([9]), tf.random_normal([9])])
    assert not np.array_equal(a, b)


def test_get_seed() -> None:
    with tf.Graph().as_default():
        assert tf.get_seed(None) == (None, None)
        assert tf.get_seed(3) == (87654321, 3)
        tf.set_random_seed(7)
        assert tf.get_seed(3) == (7, 3)
        assert tf.get_seed(None) == (7, 0)
        tf.no_op()
        assert tf.get_seed(None) == (7, 1)
        tf.set_random_seed(0)
        assert tf.get_seed(0) == (0, 2**31 - 1)


def test_a_stream_is_one_whatever_the_size_of_the_runs() -> None:
    """Words come in fours: a run that takes whole blocks leaves no gap."""
    whole = Stream(1, 2).words(24)
    pieces = Stream(1, 2)
    np.testing.assert_array_equal(whole, np.concatenate([pieces.words(8), pieces.words(16)]))
    assert pieces.blocks == 6


def test_the_first_words_of_a_stream() -> None:
    """Philox4x64-10 as Salmon et al. published it, for the counter after zero."""
    words = Stream(1, 2).words(4)
    reference = np.random.Philox(key=np.array([1, 2], np.uint64)).random_raw(4)
    np.testing.assert_array_equal(words, reference)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_uniform_is_in_its_interval_and_even(dtype: Any) -> None:
    values = uniform(np, Stream(3, 4), 100_000, np.dtype(dtype))
    assert values.dtype == dtype
    assert values.min() >= 0
    assert values.max() < 1
    counts = np.histogram(values.astype(np.float64), 10, (0, 1))[0]
    assert np.abs(counts - 10_000).max() < 500  # five standard deviations


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_normal_moments(dtype: Any) -> None:
    values = standard_normal(np, Stream(3, 4), 100_001, np.dtype(dtype)).astype(np.float64)
    assert len(values) == 100_001
    assert abs(values.mean()) < 0.016
    assert abs(values.std() - 1) < 0.012
    assert abs((values**3).mean()) < 0.06
    assert abs((values**4).mean() - 3) < 0.16


def test_truncated_normal_stays_within_two_deviations() -> None:
    (values,) = draw(lambda: tf.truncated_normal([100_000], 10.0, 3.0, seed=1))
    assert abs(values - 10).max() <= 6.001
    assert abs(values.mean() - 10) < 0.05
    assert abs(values.std() / 3 - 0.8796) < 0.01  # of a normal distribution cut at 2


def test_integers_reach_both_ends_and_no_further() -> None:
    (values,) = draw(lambda: tf.random_uniform([1000], -2, 3, tf.int64, seed=1))
    assert sorted(set(values.tolist())) == [-2, -1, 0, 1, 2]


def test_integers_need_a_range() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="maxval"):
        tf.random_uniform([2], dtype=tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="minval < maxval"):
        draw(lambda: tf.random_uniform([2], 5, 5, tf.int32))


def test_shuffle_keeps_the_rows() -> None:
    (values,) = draw(lambda: tf.random_shuffle(tf.reshape(tf.range(200), [100, 2]), seed=1))
    assert sorted(map(tuple, values.tolist())) == [(2 * i, 2 * i + 1) for i in range(100)]
    assert values[:, 0].tolist() != sorted(values[:, 0].tolist())


@pytest.mark.parametrize("classes", [1, 2, 5, 32])
def test_few_classes_are_drawn_as_many_are(monkeypatch: pytest.MonkeyPatch, classes: int) -> None:
    logits = np.random.default_rng(0).normal(size=(50, classes)).astype(np.float32)
    logits[3, 0] = -np.inf if classes > 1 else 0.0
    one_by_one = draw(lambda: tf.multinomial(tf.constant(logits), 40, seed=1))
    monkeypatch.setattr(random, "_FEW_CLASSES", 0)
    np.testing.assert_array_equal(
        one_by_one, draw(lambda: tf.multinomial(tf.constant(logits), 40, seed=1))
    )


def test_multinomial_follows_the_logits() -> None:
    logits = np.log([[0.1, 0.2, 0.7], [0.5, 0.5, 1e-30]]).astype(np.float32)
    (values,) = draw(lambda: tf.multinomial(tf.constant(logits), 20_000, seed=1))
    shares = [np.bincount(row, minlength=3) / 20_000 for row in values]
    np.testing.assert_allclose(shares, [[0.1, 0.2, 0.7], [0.5, 0.5, 0]], atol=0.02)


def test_gamma_and_poisson_moments() -> None:
    (gamma,) = draw(lambda: tf.random_gamma([50_000], [0.5, 4.0], beta=2.0, seed=1))
    np.testing.assert_allclose(gamma.mean(0), [0.25, 2.0], rtol=0.05)
    np.testing.assert_allclose(gamma.var(0), [0.125, 1.0], rtol=0.08)
    (poisson,) = draw(lambda: tf.random_poisson([0.5, 30.0], [50_000], seed=1))
    np.testing.assert_allclose(poisson.mean(0), [0.5, 30.0], rtol=0.03)
    np.testing.assert_allclose(poisson.var(0), [0.5, 30.0], rtol=0.05)


def test_gamma_has_a_gradient_to_its_shape_parameter() -> None:
    """Samples of mean alpha: their sum must grow by about one for each unit of alpha."""
    with tf.Graph().as_default(), tf.Session() as session:
        alpha = tf.constant([0.5, 3.0, 20.0])
        (slope,) = tf.gradients(tf.reduce_mean(tf.random_gamma([20_000], alpha, seed=1), 0), alpha)
        np.testing.assert_allclose(session.run(slope), 1, atol=0.06)


def test_random_crop() -> None:
    (value,) = draw(lambda: tf.random_crop(tf.reshape(tf.range(20), [4, 5]), [2, 3], seed=1))
    assert value.shape == (2, 3)
    assert (np.diff(value, axis=1) == 1).all()
    with tf.Graph().as_default(), tf.Session() as session:
        small = tf.placeholder(tf.float32, [None])
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(tf.random_crop(small, [3]), {small: [1.0, 2.0]})


def test_stateless_ops_repeat_in_every_run() -> None:
    for build in (
        lambda seed: tf.random.stateless_uniform([5], seed),
        lambda seed: tf.random.stateless_normal([5], seed),
        lambda seed: tf.random.stateless_truncated_normal([5], seed),
        lambda seed: tf.random.stateless_multinomial(tf.zeros([1, 99]), 5, seed),
    ):
        first, second = draw(lambda build=build: build([0, 0]), 2)
        np.testing.assert_array_equal(first, second)
        assert not np.array_equal(first, draw(lambda build=build: build([0, 1]))[0])


def test_shapes_must_be_vectors() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="vector"):
        tf.random_normal(3)


# ---- initializers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("initializer", "shape", "variance"),
    [
        (tf.glorot_uniform_initializer(seed=1), [300, 200], 2 / 500),
        (tf.glorot_normal_initializer(seed=1), [300, 200], 2 / 500),
        (tf.initializers.he_normal(seed=1), [3, 3, 40, 100], 2 / 360),
        (tf.initializers.he_uniform(seed=1), [300, 200], 2 / 300),
        (tf.initializers.lecun_normal(seed=1), [300, 200], 1 / 300),
        (tf.initializers.lecun_uniform(seed=1), [300, 200], 1 / 300),
        (tf.variance_scaling_initializer(3.0, "fan_out", "normal", seed=1), [300, 200], 3 / 200),
        (tf.uniform_unit_scaling_initializer(seed=1), [300, 200], 1 / 300),
        (tf.random_normal_initializer(0.0, 0.3, seed=1), [300, 200], 0.09),
        (tf.random_uniform_initializer(-1, 1, seed=1), [300, 200], 1 / 3),
    ],
)
def test_initializers_have_their_variance(initializer: Any, shape: Any, variance: float) -> None:
    (value,) = draw(lambda: initializer(shape))
    assert value.dtype == np.float32
    assert abs(value.mean()) < 0.05 * variance**0.5
    assert value.var() == pytest.approx(variance, rel=0.05)


@pytest.mark.parametrize("shape", [[4, 4], [6, 3], [3, 6], [2, 3, 4]])
def test_orthogonal(shape: list[int]) -> None:
    (value,) = draw(lambda: tf.orthogonal_initializer(2.0, seed=1)(shape))
    matrix = value.reshape(-1, shape[-1])
    if matrix.shape[0] < matrix.shape[1]:
        matrix = matrix.T
    np.testing.assert_allclose(matrix.T @ matrix, 4 * np.eye(matrix.shape[1]), atol=1e-5)


def test_constant_initializer_fills_and_repeats() -> None:
    (value,) = draw(lambda: tf.constant_initializer([1, 2])([2, 2]))
    assert value.tolist() == [[1, 2], [2, 2]]
    with tf.Graph().as_default(), pytest.raises(TypeError):
        tf.constant_initializer([1, 2], verify_shape=True)([2, 2])


@pytest.mark.parametrize("name", ["zeros", "random_normal", "variance_scaling", "orthogonal"])
def test_configurations_make_the_same_initializer(name: str) -> None:
    kind = getattr(tf.initializers, name)
    config = kind().get_config()
    assert kind.from_config(config).get_config() == config


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="scale"):
        tf.variance_scaling_initializer(0.0)
    with pytest.raises(ValueError, match="mode"):
        tf.variance_scaling_initializer(mode="fan")
    with pytest.raises(ValueError, match="floating"):
        tf.random_normal_initializer(dtype=tf.int32)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="2D"):
        tf.initializers.identity()([2, 2, 2])


@pytest.mark.parametrize("name", OPS)
def test_the_stream_does_not_depend_on_plans_or_rewrites(name: str) -> None:
    """Fetched alone or with others, before or after nodes are added, rewritten or not."""

    def runs(level: int, others: bool) -> list[Any]:
        config = tf.ConfigProto()
        config.graph_options.optimizer_options.opt_level = level
        with tf.Graph().as_default(), tf.Session(config=config) as session:
            tensor = OPS[name](5)
            product = tf.cast(tensor, tf.float64) * 1.0 + 0.0
            values = []
            for i in range(6):
                if others and i % 2:
                    tf.constant(i)  # a graph that grew is planned anew
                    values.append(session.run([product, tensor])[1])
                else:
                    values.append(session.run(tensor))
            return values

    plain = runs(tf.OptimizerOptions.L0, others=False)
    for level in (tf.OptimizerOptions.L0, tf.OptimizerOptions.L1):
        for others in (False, True):
            np.testing.assert_array_equal(plain, runs(level, others))


def test_nodes_of_equal_seeds_are_not_merged() -> None:
    # Each holds a place of its own in the stream: common subexpressions they are not.
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.random_normal([4], seed=3), tf.random_normal([4], seed=3)
        only_a = [session.run(a) for _ in range(5)]
        both = [session.run([a, b]) for _ in range(5)]
    np.testing.assert_array_equal([pair[1] for pair in both], only_a)
    assert not np.array_equal(both[0][0], both[0][1])


def test_seeds_of_a_graph_give_each_op_its_own_stream_wherever_it_is_built() -> None:
    def build(before: int) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(11)
            for _ in range(before):
                tf.constant(0)
            return session.run(tf.random_uniform([3]))

    # As in TensorFlow: the op's number in the graph is its seed.
    np.testing.assert_array_equal(build(0), build(0))
    assert not np.array_equal(build(0), build(1))


def test_sizes_that_are_small_integers_of_numpy() -> None:
    size = np.uint8(3) + 1  # an int64 before NumPy 2
    for build in (
        lambda: tf.truncated_normal([size, 2]),
        lambda: tf.random_uniform([2, size]),
        lambda: tf.reshape(tf.zeros([8]), [size, 2]),
        lambda: tf.ones((size,)),
        lambda: tf.tile(tf.zeros([1]), [size]),
    ):
        (value,) = draw(build)
        assert 4 in value.shape


def test_a_seed_of_unsigned_numbers_is_its_bits(graph):
    bits = np.array([2**64 - 1, 5], np.uint64)
    signed = np.array([-1, 5], np.int64)
    for draw in (
        lambda seed: tf.random.stateless_uniform([3], seed),
        lambda seed: tf.random.stateless_uniform([3], seed, 0, 100, tf.int32),
        lambda seed: tf.random.stateless_normal([3], seed),
        lambda seed: tf.random.stateless_categorical([[0.1, 0.5]], 5, seed),
    ):
        with tf.Session() as session:
            first, second = session.run([draw(bits), draw(signed)])
        np.testing.assert_array_equal(first, second)

"""`tf.contrib.gan.losses`: numbers that TensorFlow 1.15 with TFGAN gives of the same tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dataflow as tf

gan = tf.contrib.gan
wargs = gan.losses.wargs


def normal(seed: int, *shape: int) -> Any:
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


REAL, GENERATED = normal(0, 4, 1), normal(1, 4, 1)
WEIGHTS = np.array([[1.0], [2.0], [0.0], [0.5]], np.float32)
LABELS = np.eye(3, dtype=np.float32)[[0, 1, 2, 1]]
A, B = normal(2, 4, 3), normal(3, 4, 3)


@pytest.mark.parametrize(
    ("kind", "generator", "discriminator", "weighted_generator", "weighted_discriminator"),
    [
        ("wasserstein", 0.147138, -1.4931, 0.0452172, -1.27241),
        ("wasserstein_hinge", 0.147138, 1.02638, 0.0452172, 0.661227),
        ("minimax", -1.06207, 1.18985, -1.30479, 0.789709),
        ("modified", 0.895944, 1.18985, 0.984534, 0.789709),
        ("least_squares", 1.20251, 0.865853, 1.28899, 0.512163),
    ],
)
def test_adversarial_losses(
    session: Any,
    kind: str,
    generator: float,
    discriminator: float,
    weighted_generator: float,
    weighted_discriminator: float,
) -> None:
    of_generator = getattr(wargs, f"{kind}_generator_loss")
    of_discriminator = getattr(wargs, f"{kind}_discriminator_loss")
    real, generated = tf.constant(REAL), tf.constant(GENERATED)
    losses = [
        of_generator(generated),
        of_discriminator(real, generated),
        of_generator(generated, weights=WEIGHTS),
        of_discriminator(real, generated, real_weights=WEIGHTS, generated_weights=0.3),
    ]
    expected = [generator, discriminator, weighted_generator, weighted_discriminator]
    np.testing.assert_allclose(session.run(losses), expected, rtol=1e-5)
    kept = tf.losses.get_losses()
    assert len(kept) == 4 and losses[1] in kept, "each is kept once, parts are not"


def test_labels_of_least_squares(session: Any) -> None:
    loss = wargs.least_squares_discriminator_loss(
        tf.constant(REAL), tf.constant(GENERATED), real_label=0.9, fake_label=0.1
    )
    assert session.run(loss) == pytest.approx(0.925163, rel=1e-5)


def test_losses_of_classes(session: Any) -> None:
    loss = wargs.acgan_discriminator_loss(
        tf.constant(A), tf.constant(B), tf.constant(LABELS), label_smoothing=0.1
    )
    assert session.run(loss) == pytest.approx(3.18211, rel=1e-5)
    loss = wargs.acgan_generator_loss(tf.constant(A), tf.constant(LABELS))
    assert session.run(loss) == pytest.approx(2.08154, rel=1e-5)


def discriminator(data: Any, _: Any) -> Any:
    weights = tf.get_variable("w", initializer=np.array([0.5, 1.0, -2.0], np.float32))
    return tf.reduce_sum(tf.square(data) * weights, 1, keepdims=True)


def test_the_gradient_penalty(session: Any) -> None:
    """Of real data that is the generated data, so that the point between them is not by chance."""
    given = (tf.constant(A), tf.constant(A), None, discriminator, "D")
    both = wargs.wasserstein_gradient_penalty(*given)
    one_sided = wargs.wasserstein_gradient_penalty(*given, one_sided=True, target=3.0)
    session.run(tf.global_variables_initializer())
    np.testing.assert_allclose(session.run([both, one_sided]), [39.6631, 2.18957], rtol=1e-5)
    assert [v.name for v in tf.global_variables()] == ["D/w:0"]
    with pytest.raises(ValueError, match="`real_data` can't have unknown rank"):
        wargs.wasserstein_gradient_penalty(tf.placeholder(tf.float32), *given[1:])


class Near:
    """A distribution as far as the penalty knows."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def log_prob(self, noise: Any) -> Any:
        return -tf.square(noise - self.value)


def test_the_mutual_information(session: Any) -> None:
    inputs = [tf.constant(A), tf.constant(B)]
    loss = wargs.mutual_information_penalty(inputs, [Near(B), Near(A * 0.5)])
    assert session.run(loss) == pytest.approx(2.01654, rel=1e-5)
    with pytest.raises(ValueError, match="length 2 must be the same"):
        wargs.mutual_information_penalty(inputs, [Near(B)])
    with pytest.raises(ValueError, match="list of `Distributions`"):
        wargs.mutual_information_penalty(inputs, [1.0, 2.0])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"gradient_ratio": 0.3}, 36.6228),
        ({"weight_factor": 0.3}, 7.7),
        ({"weight_factor": 0.0}, 5),
    ],
)
def test_losses_combined(session: Any, options: dict[str, float], expected: float) -> None:
    v: Any = tf.Variable([1.0, 2.0])
    loss = wargs.combine_adversarial_loss(
        tf.reduce_sum(v * v), tf.reduce_sum(3 * v), variables=[v], **options
    )
    session.run(tf.global_variables_initializer())
    assert session.run(loss) == pytest.approx(expected, rel=1e-5)


def test_the_ways_to_combine_losses() -> None:
    with tf.Graph().as_default():
        loss = tf.constant(1.0)
        with pytest.raises(ValueError, match="cannot both be `None.`"):
            wargs.combine_adversarial_loss(loss, loss)
        with pytest.raises(ValueError, match="cannot both be specified"):
            wargs.combine_adversarial_loss(loss, loss, 1.0, 1.0)


def test_the_cycle(session: Any) -> None:
    loss = wargs.cycle_consistency_loss(
        *(tf.constant(x) for x in (A, B, B, A * 2)), add_summaries=True
    )
    assert session.run(loss) == pytest.approx(1.92351, rel=1e-5)
    names = sorted(t.op.name for t in tf.get_collection(tf.GraphKeys.SUMMARIES))
    assert names == [
        "cycle_consistency_loss/cycle_consistency_loss",
        "cycle_consistency_loss/cycle_consistency_loss_x2x",
        "cycle_consistency_loss/cycle_consistency_loss_y2y",
    ]


def test_a_loss_of_a_model_takes_its_fields(session: Any) -> None:
    model = gan.GANModel(*[None] * 11)._replace(discriminator_gen_outputs=tf.constant(GENERATED))
    loss = gan.losses.modified_generator_loss(model, label_smoothing=0.0, weights=WEIGHTS)
    assert session.run(loss) == pytest.approx(0.984534, rel=1e-5)
    with pytest.raises(ValueError, match="present in both the tuple and keyword args"):
        gan.losses.modified_generator_loss(model, discriminator_gen_outputs=1.0)
    with pytest.raises(ValueError, match="`one_hot_labels` must be supplied to acgan_gen"):
        gan.losses.acgan_generator_loss(model, discriminator_gen_classification_logits=1.0)


def test_losses_of_a_stargan_model(session: Any) -> None:
    def network(data: Any, count: int) -> tuple[Any, Any]:
        source = tf.reduce_sum(tf.square(data), 1, keepdims=True)
        return source, tf.tile(source, [1, count]) * np.arange(count, dtype=np.float32)

    model = gan.stargan_model(lambda x, label: x * 2.0, network, A, LABELS)
    loss = gan.stargan_loss(model, add_summaries=False)
    session.run(tf.global_variables_initializer())
    target, generator, total = session.run([model.generated_data_domain_target, *loss])

    def entropy(labels: Any, source: Any) -> float:
        logits = source * np.arange(3.0)
        logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        return float(-(labels * logs).sum(1).mean())

    squares = np.square(A.astype(np.float64)).sum(1, keepdims=True)
    expected = -(4 * squares).mean() + 10 * np.abs(3 * A).mean() + entropy(target, 4 * squares)
    assert generator == pytest.approx(expected, rel=1e-4)
    penalty = gan.losses.stargan_gradient_penalty_wrapper(wargs.wasserstein_gradient_penalty)
    assert total > 3 * squares.mean() + entropy(LABELS, squares), "the penalty counts"
    assert math.isfinite(session.run(penalty(model)))

"""`tf.contrib.gan.eval`: scores with the numbers of TensorFlow 1.15 with TFGAN, grids and summaries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf

gan = tf.contrib.gan
evaluation = gan.eval


def normal(seed: int, *shape: int) -> Any:
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


REAL, GENERATED = normal(5, 30, 5), normal(6, 24, 5) * np.float32(1.5) + np.float32(0.3)
IMAGES = np.random.RandomState(7).rand(6, 3, 2, 1).astype(np.float32)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("frechet_classifier_distance_from_activations", 3.44761),
        ("mean_only_frechet_classifier_distance_from_activations", 1.84022),
        ("diagonal_only_frechet_classifier_distance_from_activations", 3.09366),
        ("kernel_classifier_distance_from_activations", 3.37356),
    ],
)
def test_distances_of_activations(session: Any, name: str, expected: float) -> None:
    distance = getattr(evaluation, name)(tf.constant(REAL), tf.constant(GENERATED))
    assert distance.dtype == tf.float32
    assert session.run(distance) == pytest.approx(expected, rel=1e-5)


def test_the_kernel_distance_of_blocks(session: Any) -> None:
    both = evaluation.kernel_classifier_distance_and_std_from_activations(
        tf.constant(REAL), tf.constant(GENERATED), max_block_size=7
    )
    np.testing.assert_allclose(session.run(both), [2.57502, 2.55254], rtol=1e-4)


def test_a_score_of_logits(session: Any) -> None:
    score = evaluation.classifier_score_from_logits(tf.constant(REAL))
    assert session.run(score) == pytest.approx(1.33295, rel=1e-5)


def test_a_classifier_in_batches(session: Any) -> None:
    def classify(x: Any) -> Any:
        return x * 2.0

    real, generated = tf.constant(REAL[:24]), tf.constant(GENERATED)
    score = evaluation.classifier_score(real, classify, num_batches=3)
    whole = evaluation.classifier_score_from_logits(real * 2.0)
    distance = evaluation.frechet_classifier_distance(real, generated, classify, num_batches=2)
    at_once = evaluation.frechet_classifier_distance_from_activations(real * 2.0, generated * 2.0)
    kernel, _ = evaluation.kernel_classifier_distance_and_std(real, generated, classify, 4)
    by_kernel = evaluation.kernel_classifier_distance(real, generated, classify)
    values = session.run([score, whole, distance, at_once, kernel, by_kernel])
    np.testing.assert_allclose(values[::2], values[1::2], rtol=1e-5)


def test_a_frozen_classifier(session: Any, tmp_path: Path) -> None:
    with tf.Graph().as_default() as classifier:
        x = tf.placeholder(tf.float32, [None, 2], name="inputs")
        tf.multiply(x, 3.0, name="logits")
        tf.add(x, 1.0, name="features")
    tf.train.write_graph(classifier, str(tmp_path), "frozen.pb", as_text=False)
    graph_def = evaluation.get_graph_def_from_disk(str(tmp_path / "frozen.pb"))
    data = tf.constant(normal(0, 4, 2))
    run = evaluation.run_image_classifier
    one = run(data, graph_def, "inputs:0", "logits:0")
    batches = run(data, graph_def, "inputs:0", ["logits:0", "features:0"], num_batches=2)
    listed = run(data, graph_def, "inputs:0", ["features:0"])
    value, logits, one, (features,) = session.run([data, batches[0], one, listed])
    np.testing.assert_allclose(one, value * 3.0)
    np.testing.assert_allclose(logits, one)
    np.testing.assert_allclose(features, value + 1.0)


def test_inception_is_the_programs_own(session: Any) -> None:
    with tf.Graph().as_default() as network:
        x = tf.placeholder(tf.float32, [None, 4, 4, 1], name="Mul")
        tf.reduce_mean(x, [1, 2], keepdims=True, name="logits")
    images = evaluation.preprocess_image(
        tf.constant((IMAGES * 255).astype(np.uint8)), height=4, width=4
    )
    logits = evaluation.run_inception(images, network.as_graph_def(), image_size=4)
    assert logits.shape.as_list() == [6, 1]
    resized, value = session.run([images, logits])
    np.testing.assert_allclose(value[:, 0], resized.mean((1, 2, 3)), rtol=1e-5)
    assert -1 <= resized.min() < resized.max() < 1
    with pytest.raises(ValueError, match="must provide `default_graph_def_fn`"):
        evaluation.run_inception(images, image_size=4)


def test_grids_of_images(session: Any) -> None:
    grid = evaluation.image_grid(tf.constant(IMAGES), (2, 3), (3, 2), 1)
    flat = evaluation.image_grid(tf.constant(IMAGES.reshape(6, 6)), (2, 3), (3, 2), 1)
    expected = np.block([[IMAGES[3 * i + j, :, :, 0] for j in range(3)] for i in range(2)])
    for made in session.run([grid, flat]):
        np.testing.assert_array_equal(made[0, :, :, 0], expected)
    filled = session.run(evaluation.image_reshaper(tf.constant(IMAGES), 4))[0, :, :, 0]
    padded = [*IMAGES[..., 0], *np.zeros((2, 3, 2))]
    np.testing.assert_array_equal(filled, np.block([padded[:4], padded[4:]]))
    with pytest.raises(ValueError, match="incompatible with minibatch size 6"):
        evaluation.image_grid(tf.constant(IMAGES), (2, 2), (3, 2), 1)
    with pytest.raises(ValueError, match="1 or 3 channel images"):
        evaluation.image_reshaper(tf.zeros([2, 3, 3, 2]))


def summaries() -> list[str]:
    return sorted(t.op.name for t in tf.get_collection(tf.GraphKeys.SUMMARIES))


def scaled(x: Any) -> Any:
    return x * tf.get_variable("s", [], regularizer=tf.contrib.layers.l2_regularizer(0.1))


def test_summaries_of_a_model(session: Any) -> None:
    images = tf.constant(np.tile(IMAGES, [2, 1, 1, 3]))
    model = gan.gan_model(scaled, lambda x, _: scaled(x), images, images)
    evaluation.add_gan_model_image_summaries(model, grid_size=3)
    evaluation.add_image_comparison_summaries(model, display_diffs=True)
    evaluation.add_regularization_loss_summaries(model)
    assert summaries() == [
        "discriminator_regularization_loss",
        "discriminator_variables/Discriminator/s_0",
        "generated_data",
        "generator_regularization_loss",
        "generator_variables/Generator/s_0",
        "image_comparison",
        "real_data",
    ]
    session.run(tf.global_variables_initializer())
    written = tf.Summary.FromString(session.run(tf.summary.merge_all()))
    sizes = {v.tag: (v.image.height, v.image.width) for v in written.value if v.image.height}
    assert sizes == {
        "real_data/image": (9, 6),
        "generated_data/image": (9, 6),
        "image_comparison/image": (12, 4),
    }


def test_summaries_of_a_cycle(session: Any) -> None:
    images = tf.constant(IMAGES)
    model = gan.cyclegan_model(scaled, lambda x, _: scaled(x), images, images)
    evaluation.add_cyclegan_image_summaries(model)
    evaluation.add_gan_model_summaries(model)
    evaluation.add_regularization_loss_summaries(model)
    assert len(summaries()) == 10
    assert "x2y_image_comparison_summaries/image_comparison" in summaries()
    session.run(tf.global_variables_initializer())
    assert session.run(tf.summary.merge_all())
    with pytest.raises(ValueError, match="does not take CycleGANModels"):
        evaluation.add_gan_model_image_summaries(model)
    with pytest.raises(ValueError, match="was not a CycleGANModel"):
        evaluation.add_cyclegan_image_summaries(model.model_x2y)


def test_summaries_of_domains(session: Any) -> None:
    def classify(x: Any, domains: int) -> tuple[Any, Any]:
        return scaled(x), tf.zeros([4, domains])

    labels = np.eye(2, dtype=np.float32)[[0, 1, 0, 1]]
    model = gan.stargan_model(lambda x, _: scaled(x), classify, IMAGES[:4], labels)
    evaluation.add_stargan_image_summaries(model, display_diffs=True)
    session.run(tf.global_variables_initializer())
    written = tf.Summary.FromString(session.run(tf.summary.merge_all()))
    assert [(v.image.height, v.image.width) for v in written.value] == [(6, 6), (6, 6)]

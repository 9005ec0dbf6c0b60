"""Several outputs, weights, and metrics, each against NumPy; TensorFlow is in the oracle."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf

keras = tf.keras
layers = keras.layers
M = keras.metrics
RNG = np.random.RandomState(0)
X = RNG.randn(12, 3).astype("float32")
pytestmark = pytest.mark.usefixtures("new_keras_session")


def two_outputs():
    entry = keras.Input((3,), name="x")
    model = keras.Model(entry, [layers.Dense(1, name="a")(entry), layers.Dense(2, name="b")(entry)])
    return model, {"a": RNG.randn(12, 1), "b": RNG.randn(12, 2)}


def test_losses_and_metrics_of_two_outputs_add_up():
    model, y = two_outputs()
    model.compile("sgd", {"a": "mse", "b": "mae"}, {"b": ["mse"]}, {"a": 2.0, "b": 0.5})
    assert model.metrics_names == ["loss", "a_loss", "b_loss", "b_mean_squared_error"]
    total, a, b, squares = model.evaluate(X, y, batch_size=5, verbose=0)
    p, q = model.predict(X)
    a_of_each, b_of_each = np.mean((p - y["a"]) ** 2, axis=1), np.mean(np.abs(q - y["b"]), axis=1)
    batches = [slice(0, 5), slice(5, 10), slice(10, 12)]  # each counts once, as in TensorFlow 1.15
    np.testing.assert_allclose(a, np.mean([np.mean(a_of_each[one]) for one in batches]), rtol=1e-5)
    np.testing.assert_allclose(b, np.mean([np.mean(b_of_each[one]) for one in batches]), rtol=1e-5)
    np.testing.assert_allclose(squares, np.mean((q - y["b"]) ** 2), rtol=1e-5)
    np.testing.assert_allclose(total, np.mean(2 * a_of_each + 0.5 * b_of_each), rtol=1e-5)
    history = model.fit(X, [y["a"], y["b"]], epochs=30, verbose=0).history
    assert history["loss"][-1] < history["loss"][0]
    with pytest.raises(ValueError, match="unknown outputs"):
        model.fit(X, y, sample_weight={"c": np.ones(12)})
    with pytest.raises(ValueError, match="Unknown entries in loss dictionary"):
        model.compile("sgd", {"c": "mse"})


def test_of_two_outputs_the_only_loss_is_named():
    model, y = two_outputs()
    model.compile("sgd", {"a": "mse"})
    assert model.metrics_names == ["loss", "a_loss"]
    first = model.train_on_batch(X, y["a"], reset_metrics=False)
    second = model.train_on_batch(X, y["a"], reset_metrics=False)
    np.testing.assert_allclose(first[1], first[0], rtol=1e-5)
    np.testing.assert_allclose(second[1], (first[0] + second[0]) / 2, rtol=1e-5)


def test_weights_by_name_do_not_count_beside_a_tensor_of_the_programs_own():
    model = keras.Sequential([layers.Dense(1, input_dim=3, name="d")])
    y = RNG.randn(12, 1)
    model.compile("sgd", "mse", target_tensors=[tf.constant(y, tf.float32)])
    squares = (model.predict(X) - y) ** 2
    np.testing.assert_allclose(
        model.test_on_batch(X, sample_weight={"d": np.arange(12.0)}), squares.mean(), rtol=1e-5
    )
    with pytest.raises(ValueError, match="unknown outputs"):
        model.test_on_batch(X, sample_weight={"other": np.ones(12)})


MASKS = {"none": None, "batch": np.float32([1, 2, 0]), "temporal": RNG.rand(3, 4)}


@pytest.mark.parametrize("weighted", MASKS)
@pytest.mark.parametrize("loss", ["mse", keras.losses.MeanSquaredError(reduction="sum")])
def test_a_mask_is_a_weight_of_zero_and_all_steps_count_in_the_mean(weighted, loss):
    # 1.15.5: (mask * weights * squares) has its mean over all of the 12 steps
    steps = RNG.rand(3, 4, 2) + 1
    steps[0, 2:] = steps[2] = 0
    y, weights = RNG.rand(3, 4, 1), MASKS[weighted]
    model = keras.Sequential([layers.Masking(input_shape=(4, 2)), layers.Dense(1)])
    mode = "temporal" if weighted == "temporal" else None
    model.compile("sgd", loss, sample_weight_mode=mode)
    squares = np.mean((model.predict(steps) - y) ** 2, axis=-1)
    kept = steps.any(-1) * (1 if weights is None else weights.reshape(3, -1))
    wanted = (np.mean if loss == "mse" else np.sum)(squares * kept)
    found = model.evaluate(steps, y, sample_weight=weights, verbose=0)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_weights_of_examples_count_in_the_loss_and_in_weighted_metrics_only():
    model = keras.Sequential([layers.Dense(1, input_dim=3)])
    model.compile("sgd", "mse", metrics=["mae"], weighted_metrics=["mae"])
    y, w = RNG.randn(12, 1), np.arange(12.0)
    loss, plain, weighted = model.evaluate(X, y, batch_size=5, verbose=0, sample_weight=w)
    errors = np.abs(model.predict(X) - y)[:, 0]
    np.testing.assert_allclose(loss, np.mean(w * errors**2), rtol=1e-5)
    np.testing.assert_allclose(plain, errors.mean(), rtol=1e-5)
    np.testing.assert_allclose(weighted, (w * errors).sum() / w.sum(), rtol=1e-5)
    assert model.metrics_names[1:] == ["mean_absolute_error", "weighted_mean_absolute_error"]
    with pytest.raises(ValueError, match="temporal"):
        model.fit(X, y, sample_weight=np.ones((12, 4)), verbose=0)


def test_validation_follows_its_frequency():
    model = keras.Sequential([layers.Dense(1, input_dim=3)])
    model.compile("sgd", "mse")
    y = np.zeros(12)
    history = model.fit(X, y, epochs=5, validation_data=(X, y), validation_freq=2, verbose=0)
    assert len(history.history["val_loss"]) == 2
    history = model.fit(
        X, y, epochs=5, validation_data=(X, y), validation_freq=[1, 2, 5], verbose=0
    )
    assert len(history.history["val_loss"]) == 3


def run(metric, *batches):
    updates = [metric.update_state(*batch) for batch in batches]
    session = keras.backend.get_session()
    for update in updates:
        session.run(update)
    return session.run(metric.result())


def test_counts_at_thresholds():
    truth = np.array([0.0, 0, 1, 1, 1])
    score = np.array([0.1, 0.6, 0.35, 0.8, 0.9])
    assert run(M.TruePositives(), (truth, score)) == 2
    assert run(M.FalsePositives(thresholds=[0.05, 0.5]), (truth, score)).tolist() == [2, 1]
    assert run(M.TrueNegatives(), (truth, score)) == 1
    assert run(M.FalseNegatives(), (truth[:3], score[:3]), (truth[3:], score[3:])) == 1
    assert run(M.Precision(), (truth, score, [1, 1, 1, 1, 3.0])) == pytest.approx(4 / 5)
    assert run(M.Recall(), (truth, score)) == pytest.approx(2 / 3)
    top = np.array([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]])
    labels = np.array([[0.0, 0, 1], [1, 0, 0]])
    assert run(M.Recall(top_k=2), (labels, top)) == 1
    assert run(M.Precision(top_k=1, class_id=0), (labels, top)) == 1
    # Of the 6 pairs of a negative and a positive, 5 are in order.
    assert run(M.AUC(num_thresholds=1000), (truth, score)) == pytest.approx(5 / 6, abs=1e-3)
    perfect = run(M.AUC(curve="PR"), (truth, truth))
    assert perfect == pytest.approx(1.0)
    with pytest.raises(ValueError, match="Invalid values"):
        M.Precision(thresholds=1.5)


def test_other_metric_objects():
    iou = run(M.MeanIoU(3), ([0, 1, 2, 2], [0, 2, 2, 2]))
    assert iou == pytest.approx((1 + 0 + 2 / 3) / 3)
    mean = run(M.MeanTensor(), ([1.0, 2.0],), ([3.0, 6.0],))
    assert mean.tolist() == [2.0, 4.0]
    cosine = run(M.CosineSimilarity(), ([[1.0, 0.0]], [[3.0, 3.0]]))
    assert cosine == pytest.approx(np.sqrt(0.5))


def test_layers_that_merge_take_masks_of_numbers():
    layers, K = tf.keras.layers, tf.keras.backend
    x, ones, half = K.ones((2, 3, 2)), K.ones((2, 3)), K.constant([[1.0, 0.0, 1.0]] * 2)
    for layer in (layers.Add(), layers.Concatenate()):
        found = K.eval(layer.compute_mask([x, x], [ones, half]))
        assert found.tolist() == [[True, False, True]] * 2

"""Names of `tf.contrib` that later versions moved: devices by chance, strategies, estimators' exports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf


def test_parameter_servers_by_a_hash() -> None:
    strategy = tf.contrib.training.RandomStrategy(5, seed=3)
    with tf.Graph().as_default():
        found = [strategy(tf.constant(1.0, name=f"n{i}").op) for i in range(8)]
    assert found == [4, 0, 3, 0, 4, 1, 3, 1], "as TensorFlow 1.15's"


def test_strategies_under_their_first_names() -> None:
    distribute = tf.contrib.distribute
    assert distribute.DistributionStrategy is tf.distribute.Strategy
    assert not distribute.has_distribution_strategy()
    assert distribute.get_cross_replica_context() is None
    with tf.Graph().as_default(), distribute.OneDeviceStrategy("/cpu:0").scope():
        assert distribute.has_distribution_strategy()
        found = distribute.get_distribution_strategy()
        assert distribute.get_cross_replica_context() is found
    made = distribute.AllReduceCrossDeviceOps("hierarchical_copy", num_packs=2)
    assert isinstance(made, distribute.CrossDeviceOps) and made.num_packs == 2
    with pytest.raises(ValueError, match="num_packs >= 0"):
        distribute.AllReduceCrossDeviceOps(num_packs=-1)


X = np.arange(40, dtype=np.float32)
COLUMN = tf.feature_column.bucketized_column(
    tf.feature_column.numeric_column("x"), [5.0, 15.0, 25.0]
)


def all_data(labels: Any) -> Any:
    return tf.data.Dataset.from_tensors(({"x": X}, labels))


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_trees_of_all_data_at_once(tmp_path: Path, kind: str) -> None:
    make, canned, labels = {
        "classifier": (
            tf.contrib.estimator.boosted_trees_classifier_train_in_memory,
            tf.estimator.BoostedTreesClassifier,
            (X > 15).astype(np.int64),
        ),
        "regressor": (
            tf.contrib.estimator.boosted_trees_regressor_train_in_memory,
            tf.estimator.BoostedTreesRegressor,
            X * 2,
        ),
    }[kind]
    trained = make(lambda: all_data(labels), [COLUMN], str(tmp_path / "a"), n_trees=2, max_depth=2)
    other = canned([COLUMN], 1, str(tmp_path / "b"), n_trees=2, max_depth=2)
    other.train(lambda: all_data(labels).repeat())
    found, expected = (one.evaluate(lambda: all_data(labels), steps=1) for one in (trained, other))
    assert found["global_step"] == expected["global_step"] > 1
    assert found["loss"] == pytest.approx(expected["loss"], rel=1e-6)


def test_exports_of_each_mode(tmp_path: Path) -> None:
    def data() -> Any:
        return tf.data.Dataset.from_tensors(({"x": X}, X * 2)).repeat(2)

    contrib = tf.contrib.estimator
    estimator = tf.estimator.LinearRegressor([COLUMN], str(tmp_path / "model"))
    estimator.train(data)
    receiver = contrib.build_supervised_input_receiver_fn_from_input_fn(data)
    modes = tf.estimator.ModeKeys
    folder = contrib.export_saved_model_for_mode(
        estimator, str(tmp_path / "one"), receiver, mode=modes.EVAL
    )
    both = contrib.export_all_saved_models(
        estimator, str(tmp_path / "all"), {modes.TRAIN: receiver, modes.EVAL: receiver}
    )

    def loads(path: bytes, tag: str) -> bool:
        with tf.Graph().as_default(), tf.Session() as session:
            return bool(tf.saved_model.loader.load(session, [tag], path.decode()).signature_def)

    assert loads(folder, "eval") and loads(both, "train") and loads(both, "eval")

"""Wide and deep (Cheng et al. 2016) on the census table, with the tutorial's feature columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow_datasets import census

F = tf.feature_column


def wide_and_deep_columns(train_x: Any) -> tuple[list[Any], list[Any]]:
    """Feature columns for the linear part and for the network."""
    # Means and deviations are of the training rows only.
    numeric = [
        F.numeric_column(name, normalizer_fn=lambda x, m=mean, s=std: (tf.to_float(x) - m) / s)
        for name in census.NUMERIC_COLUMNS
        if name != "fnlwgt"
        for mean, std in [(float(train_x[name].mean()), float(train_x[name].std()))]
    ]
    categorical = {
        name: F.categorical_column_with_vocabulary_list(name, sorted(train_x[name].unique()))
        for name in census.CATEGORICAL_COLUMNS
    }
    age = F.bucketized_column(F.numeric_column("age"), [18, 25, 30, 35, 40, 45, 50, 55, 60, 65])
    gain = F.bucketized_column(
        F.numeric_column("capital_gain"), [1, 3000, 4000, 5000, 5500, 7000, 10000]
    )
    loss = F.bucketized_column(F.numeric_column("capital_loss"), [1, 1600, 1850, 2000, 2200])
    crossed = [
        F.crossed_column(["education", "occupation"], 1000),
        F.crossed_column([age, "education", "occupation"], 1000),
    ]
    wide = [*categorical.values(), age, gain, loss, *crossed]
    deep = [*numeric, F.indicator_column(gain), F.indicator_column(loss)]
    deep += [F.embedding_column(column, 4) for column in categorical.values()]
    return wide, deep


@pytest.mark.slow
def test_wide_and_deep_tells_incomes(real_data: Path, tmp_path: Path) -> None:
    (train_x, train_y), (test_x, test_y) = census.load_data()
    wide, deep = wide_and_deep_columns(train_x)
    model = tf.estimator.DNNLinearCombinedClassifier(
        linear_feature_columns=wide,
        linear_optimizer=tf.train.FtrlOptimizer(0.05, l1_regularization_strength=0.1),
        dnn_feature_columns=deep,
        dnn_hidden_units=[64, 32],
        dnn_optimizer=tf.train.AdagradOptimizer(0.05),
        config=tf.estimator.RunConfig(str(tmp_path), tf_random_seed=0, save_summary_steps=1000),
    )
    np.random.seed(0)
    train = tf.estimator.inputs.pandas_input_fn(
        train_x, train_y, batch_size=128, num_epochs=4, shuffle=True
    )
    test = tf.estimator.inputs.pandas_input_fn(
        test_x, test_y, batch_size=1000, num_epochs=1, shuffle=False
    )
    model.train(train)
    report = model.evaluate(test)
    print(f"census: accuracy {report['accuracy']:.4f}, auc {report['auc']:.4f}")
    assert report["accuracy"] >= 0.85

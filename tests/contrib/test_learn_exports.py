"""Exports of `tf.contrib.learn.Experiment`: strategies, and the input functions that they serve."""

from __future__ import annotations

import os

import numpy as np
import pytest

import dataflow as tf

learn = tf.contrib.learn
pytestmark = pytest.mark.usefixtures("graph")
COLUMNS = [tf.feature_column.numeric_column("x")]


def arrays():
    return {"x": tf.constant([[1.0], [2.0]])}, tf.constant([[2.0], [4.0]])


def serving():
    spec = {"x": tf.FixedLenFeature([1], tf.float32)}
    return learn.build_parsing_serving_input_fn(spec)()


def experiment(folder, **more):
    return learn.Experiment(
        tf.estimator.LinearRegressor(COLUMNS, model_dir=str(folder)),
        arrays,
        arrays,
        train_steps=2,
        eval_steps=1,
        eval_delay_secs=0,
        **more,
    )


def test_an_experiment_exports_what_it_trained(tmp_path) -> None:
    strategy = learn.make_export_strategy(serving, exports_to_keep=1)
    metrics, (path,) = experiment(tmp_path, export_strategies=strategy).train_and_evaluate()
    assert metrics["global_step"] == 2
    folder = os.fsdecode(path)
    assert folder.startswith(str(tmp_path / "export" / "Servo"))
    predict = tf.contrib.predictor.from_saved_model(folder, signature_def_key="predict")
    feature = tf.train.Feature(float_list=tf.train.FloatList(value=[3.0]))
    example = tf.train.Example(features=tf.train.Features(feature={"x": feature}))
    assert predict({"examples": [example.SerializeToString()]})["predictions"].shape == (1, 1)


def test_estimators_of_contrib_take_the_same_serving_functions(tmp_path) -> None:
    estimator = learn.LinearRegressor(
        [tf.contrib.layers.real_valued_column("x")], model_dir=str(tmp_path / "m")
    )
    estimator.fit(input_fn=arrays, steps=1)
    path = estimator.export_savedmodel(str(tmp_path / "out"), serving)
    assert os.path.exists(os.path.join(os.fsdecode(path), "saved_model.pb"))


def test_a_strategy_gets_what_its_function_asks_for() -> None:
    seen = []

    def export(estimator, export_path, checkpoint_path, eval_result):
        seen.append((estimator, export_path, checkpoint_path, eval_result))
        return "there"

    strategy = learn.ExportStrategy("mine", export)
    assert strategy.export("model", "folder", eval_result={"loss": 1.0}) == "there"
    assert seen == [("model", "folder", None, {"loss": 1.0})]
    with pytest.raises(ValueError, match="must also accept checkpoint_path"):
        learn.ExportStrategy("bad", lambda estimator, export_path, eval_result: None).export(1, 2)


def test_old_exports_go(tmp_path) -> None:
    for stamp in ("1500000001", "1500000003", "1500000002", "kept"):
        (tmp_path / stamp).mkdir()
    learn.utils.garbage_collect_exports(str(tmp_path), 2)
    assert sorted(os.listdir(tmp_path)) == ["1500000002", "1500000003", "kept"]
    learn.utils.garbage_collect_exports(str(tmp_path), None)
    assert len(os.listdir(tmp_path)) == 3


def test_what_strategies_have_to_be(tmp_path) -> None:
    one = learn.ExportStrategy("a", print)
    with pytest.raises(ValueError, match="must be an ExportStrategy"):
        experiment(tmp_path, export_strategies=[3])
    with pytest.raises(ValueError, match="unique names"):
        experiment(tmp_path, export_strategies=[one, one])


def test_features_are_fed_as_they_are() -> None:
    features = {"x": tf.constant(np.ones([4, 3], np.float32), name="x")}
    made = learn.utils.build_default_serving_input_fn(features, 2)()
    assert made.labels is None
    assert made.features["x"].shape.as_list() == [2, 3]
    assert made.default_inputs["x"] is made.features["x"]

"""What `tf.estimator.EstimatorSpec` refuses, and what it fills in."""

from __future__ import annotations

import pytest

import dataflow as tf

Spec = tf.estimator.EstimatorSpec
EVAL, PREDICT = tf.estimator.ModeKeys.EVAL, tf.estimator.ModeKeys.PREDICT


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def one():
    return tf.constant(1.0)


KINDS = {
    "loss": (lambda: Spec(EVAL, loss=1.0), "loss must be Tensor"),
    "prediction": (lambda: Spec(EVAL, {"p": 2.0}, one()), r"predictions\[p\] must be Tensor"),
    "metrics": (lambda: Spec(EVAL, loss=one(), eval_metric_ops=one()), "must be a dict"),
    "metric": (
        lambda: Spec(EVAL, loss=one(), eval_metric_ops={"m": ("no", one())}),
        "must be Operation or Tensor",
    ),
    "hook": (lambda: Spec(EVAL, loss=one(), evaluation_hooks=["no"]), "SessionRunHook instances"),
    "scaffold": (lambda: Spec(EVAL, loss=one(), scaffold="no"), "scaffold must be"),
    "exports": (lambda: Spec(PREDICT, one(), export_outputs=one()), "export_outputs must be dict"),
    "export": (
        lambda: Spec(PREDICT, one(), export_outputs={"a": one()}),
        "must be ExportOutput objects",
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_things_of_a_wrong_kind_are_refused(name: str) -> None:
    call, text = KINDS[name]
    with pytest.raises(TypeError, match=text):
        call()


def test_tensors_are_of_the_graph_that_is_built() -> None:
    with tf.Graph().as_default():
        far = one()
    for given in ({"loss": far}, {"loss": one(), "predictions": {"x": far}}):
        with pytest.raises(ValueError, match="must be from the default graph"):
            Spec(EVAL, **given)


def test_one_export_is_the_default_and_of_several_one_must_be_named_it() -> None:
    output = tf.estimator.export.PredictOutput({"x": one()})
    assert Spec(PREDICT, one(), export_outputs={"a": output}).export_outputs == {
        "serving_default": output,
        "a": output,
    }
    with pytest.raises(ValueError, match="none of them is specified as the default"):
        Spec(PREDICT, one(), export_outputs={"a": output, "b": output})
    assert isinstance(Spec(EVAL, loss=one()).scaffold, tf.train.Scaffold)


def test_no_metric_is_called_as_the_global_step_and_receivers_take_tensors(tmp_path) -> None:
    def model(features, labels, mode):
        step = tf.train.get_global_step()
        metrics = {"global_step": tf.metrics.mean(features)}
        return Spec(mode, features, one(), tf.assign_add(step, 1), metrics)

    def data():
        return tf.constant([1.0]), None

    estimator = tf.estimator.Estimator(model, str(tmp_path))
    estimator.train(data, steps=1)
    with pytest.raises(ValueError, match="`global_step` is not allowed"):
        estimator.evaluate(data, steps=1)
    with pytest.raises(ValueError, match="must be a Tensor or SparseTensor, got 'no'"):
        tf.estimator.export.ServingInputReceiver("no", tf.placeholder(tf.string))


def test_settings_that_cannot_be_are_refused_also_when_replaced() -> None:
    config = tf.estimator.RunConfig()
    for settings, text in (
        ({"model_dir": ""}, "model_dir should be non-empty"),
        ({"save_summary_steps": -1}, "save_summary_steps should be >= 0"),
        ({"keep_checkpoint_every_n_hours": 0}, "should be > 0"),
        ({"tf_random_seed": 1.0}, "must be integer"),
        ({"session_config": {}}, "must be instance of ConfigProto"),
    ):
        with pytest.raises(ValueError, match=text):
            tf.estimator.RunConfig(**settings)
        with pytest.raises(ValueError, match=text):
            config.replace(**settings)
    with pytest.raises(ValueError, match="cannot be both set"):
        config.replace(save_checkpoints_steps=1, save_checkpoints_secs=1)
    with pytest.raises(ValueError, match="Replacing master is not supported"):
        config.replace(master="grpc://x")
    assert config.replace(save_summary_steps=None, tf_random_seed=3).tf_random_seed == 3

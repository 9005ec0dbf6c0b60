"""`MetricSpec`, schedules of experiments and made data of `tf.contrib.learn`: what fits, and what is refused."""

from __future__ import annotations

import functools
import json

import numpy as np
import pytest

import dataflow as tf
from dataflow.contrib import learn
from dataflow.contrib.learn.datasets import make_dataset, synthetic


def spec_of(function, **keys):
    return learn.MetricSpec(function, **keys).create_metric_ops(
        {"w": "weight"}, {"l": "label", "m": "other"}, {"p": "prediction", "q": "another"}
    )


def test_parameters_of_metrics_are_known_by_their_names():
    keys = {"prediction_key": "p", "label_key": "l", "weight_key": "w"}
    for function in (
        lambda predictions, labels, weights=None: (predictions, labels, weights),
        lambda prediction, target, weight=None: (prediction, target, weight),
        lambda targets, mine, weights: (mine, targets, weights),
        functools.partial(
            lambda predictions, labels, k, weights: (predictions, labels, weights), k=1
        ),
    ):
        assert spec_of(function, **keys) == ("prediction", "label", "weight")
    assert spec_of(lambda a: a, prediction_key="q") == "another"


def test_metrics_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="provide only one of"):
        learn.MetricSpec(lambda predictions, labels, targets: None)
    with pytest.raises(ValueError, match="weight_key is 'w', but .* parameter is missing"):
        learn.MetricSpec(lambda predictions: None, weight_key="w")
    with pytest.raises(TypeError, match="needs a parameter 'predictions'"):
        spec_of(lambda a, b: None, prediction_key="p")
    with pytest.raises(ValueError, match="without specified label_key requires labels tensor"):
        spec_of(lambda predictions, labels: None, prediction_key="p")
    with pytest.raises(KeyError, match="not among"):
        spec_of(lambda a: a, prediction_key="z")
    text = str(learn.MetricSpec(functools.partial(tf.metrics.mean, name="m"), "p"))
    assert "metric_fn=mean" in text and "prediction_key=p" in text


class Told(learn.Experiment):
    """An experiment that tells what is asked of it."""

    data = "none"

    def __init__(self, config, rounds=3):
        class Model(learn.Trainable, learn.Evaluable):
            evaluations = 0
            model_dir = config.model_dir

            def fit(self, **arguments):
                return "fit", arguments

            def evaluate(self, **arguments):
                self.evaluations += 1
                return {"global_step": self.evaluations}

        model = Model()
        model.config = config
        super().__init__(model, "train", "eval", eval_delay_secs=0, continuous_eval_throttle_secs=0)

    def train(self):
        return "train"

    def train_and_evaluate(self):
        return "train_and_evaluate"


def cluster(monkeypatch, **task):
    jobs = {"ps": ["a:1"], "worker": ["b:1", "b:2"], "other": ["c:1"]}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": jobs, "task": task}))
    return learn.RunConfig(model_dir="/tmp/told")


def test_the_task_decides_what_an_experiment_does(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    run = learn.learn_runner.run
    alone = learn.RunConfig(model_dir="/tmp/told")
    assert run(lambda config, hparams: Told(config), run_config=alone) == "train_and_evaluate"
    worker = cluster(monkeypatch, type="worker", index=1)
    assert run(lambda config, hparams: Told(config), run_config=worker) == "train"
    for task, text in (({}, "Must specify a schedule"), ({"type": "other"}, "No default schedule")):
        config = cluster(monkeypatch, **task)
        with pytest.raises(ValueError, match=text):
            run(lambda folder, config=config: Told(config), "/tmp/told")
    with pytest.raises(TypeError, match="non-callable member data"):
        run(lambda folder: Told(alone), "/tmp/told", "data")
    with pytest.raises(RuntimeError, match="is expected to be used by the `Estimator`"):
        run(lambda c, h: Told(alone), run_config=learn.RunConfig(model_dir="/tmp/another"))
    with pytest.raises(ValueError, match="must be `HParams` instance"):
        run(lambda c, h: Told(c), run_config=alone, hparams={"rate": 1})


@pytest.mark.usefixtures("graph")
def test_a_checkpoint_is_evaluated_once_unless_asked_for(tmp_path, monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    variable = tf.get_variable("x", initializer=1.0)
    with tf.Session() as session:
        session.run(variable.initializer)
        tf.train.Saver().save(session, str(tmp_path / "model.ckpt"))
    experiment = Told(learn.RunConfig(model_dir=str(tmp_path)))
    asked = []

    def wanted(metrics):
        asked.append(metrics)
        return len(asked) < 4

    experiment.continuous_eval(continuous_eval_predicate_fn=wanted)
    assert asked == [None, {"global_step": 1}, None, None]
    experiment.continuous_eval(evaluate_checkpoint_only_once=False, max_evaluations=3)
    assert experiment.estimator.evaluations == 4
    experiment.extend_train_hooks(["hook"])
    assert experiment._fit(steps=1)[1]["monitors"] == ["hook"]
    with pytest.raises(ValueError, match="must be a callable"):
        experiment.continuous_eval(continuous_eval_predicate_fn="no")


def test_made_data_lie_on_circles_and_spirals():
    data, target = make_dataset("circles", 90, n_classes=3)
    assert data.shape == (90, 2) and sorted(set(target)) == [0, 1, 2]
    assert np.allclose(np.hypot(*data.T), 0.8**target)
    for mode in ("archimedes", "bernoulli", "fermat"):
        first, again = (synthetic.spirals(40, 0.1, seed=3, mode=mode) for _ in range(2))
        assert np.array_equal(first.data, again.data) and set(first.target) == {0, 1}
    with pytest.raises(ValueError, match="with mode square"):
        synthetic.spirals(mode="square")
    with pytest.raises(ValueError, match="not found"):
        make_dataset("squares")

"""``tf.contrib.learn.python.learn``."""

from dataflow.contrib.learn import learn_runner, preprocessing
from dataflow.contrib.learn.estimator import Estimator
from dataflow.contrib.learn.experiment import Experiment

__all__ = ["Estimator", "Experiment", "learn_runner", "preprocessing"]

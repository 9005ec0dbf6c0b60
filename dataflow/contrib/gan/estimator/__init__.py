"""``tf.contrib.gan.estimator``: adversarial models as estimators."""

from dataflow.contrib.gan.estimator.gan_estimator import GANEstimator, SummaryType
from dataflow.contrib.gan.estimator.stargan_estimator import StarGANEstimator
from dataflow.namespaces import explain_absent

__all__ = ["GANEstimator", "StarGANEstimator", "SummaryType"]

__getattr__ = explain_absent(__name__)

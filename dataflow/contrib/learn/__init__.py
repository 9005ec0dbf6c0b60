"""``tf.contrib.learn``: what course code uses of it beside the estimators of `tf.estimator`."""

from dataflow.contrib.learn import preprocessing


class ModeKeys:
    """The modes of `tf.contrib.learn`'s model functions."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"


__all__ = ["ModeKeys", "preprocessing"]

"""The modes of `tf.contrib.learn`'s model functions."""


class ModeKeys:
    """What a model is built for; the values are those of `tf.estimator.ModeKeys`."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"

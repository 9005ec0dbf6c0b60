"""``tf.contrib.slim.nets.inception``: the Inception networks that are here, in one place."""

from dataflow.contrib.slim.nets.inception_v3 import (
    inception_v3,
    inception_v3_arg_scope,
    inception_v3_base,
)

__all__ = ["inception_v3", "inception_v3_arg_scope", "inception_v3_base"]

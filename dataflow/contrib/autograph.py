"""``tf.contrib.autograph``: the older name of `tf.autograph`, before TensorFlow 1.13."""

from dataflow.autograph import (
    experimental as _experimental,
    set_verbosity,
    to_code,
    to_graph,
    trace,
)
from dataflow.autograph.api import convert
from dataflow.namespaces import explain_absent

__all__ = ["Feature", "convert", "do_not_convert", "set_verbosity", "to_code", "to_graph", "trace"]

Feature = _experimental.Feature
do_not_convert = _experimental.do_not_convert

__getattr__ = explain_absent(__name__)

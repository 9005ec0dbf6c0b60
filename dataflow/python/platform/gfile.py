"""``from tensorflow.python.platform import gfile``."""

from dataflow.gfile import *  # noqa: F403

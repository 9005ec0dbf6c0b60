"""``from tensorflow.python.util import tf_inspect``: Python's `inspect`."""

from inspect import *  # noqa: F403
from inspect import getfullargspec

__all__ = ["getargspec"]

getargspec = getfullargspec

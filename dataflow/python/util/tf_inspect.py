"""``from tensorflow.python.util import tf_inspect``: Python's `inspect`."""

import inspect as _inspect  # noqa: F401  (programs reach through it)
from inspect import *  # noqa: F403
from inspect import getfullargspec

__all__ = ["getargspec"]

getargspec = getfullargspec

"""``from tensorflow.python.framework import dtypes``."""

from dataflow.dtypes import *  # noqa: F403
from dataflow.dtypes import bool_ as bool  # noqa: F401

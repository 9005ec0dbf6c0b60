"""Names of ``tensorflow.contrib.learn.python.learn.learn_io`` that are no part of `tf.contrib.learn.io`."""

from __future__ import annotations

from importlib.util import find_spec

from dataflow.contrib.learn import data_feeder

__all__ = ["HAS_DASK", "HAS_PANDAS", "data_feeder"]

HAS_PANDAS = find_spec("pandas") is not None
#: Frames of dask are not read: whether it is installed or not.
HAS_DASK = False

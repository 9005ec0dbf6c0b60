"""``from tensorflow.python import pywrap_tensorflow``: the reader of checkpoints."""

from dataflow.formats.checkpoint_reader import NewCheckpointReader

__all__ = ["NewCheckpointReader"]

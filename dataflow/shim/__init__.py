"""TensorFlow 1 programs as they stand: ``import tensorflow as tf`` gives this engine, in this process.

`as_tensorflow` switches it on in a notebook; ``dataflow run script.py`` does so for a whole program.
Until then nothing here is loaded, and nothing of Python, NumPy or other packages is touched.
"""

from __future__ import annotations

__all__ = ["as_tensorflow"]


def as_tensorflow() -> None:
    """From now on ``import tensorflow`` and ``import keras`` import this engine, in this process alone.

    Also puts back what programs of that time expect of Python, NumPy and their like: ``np.float``,
    ``collections.Mapping``, ``scipy.misc.imread`` (`dataflow.shim.old_python`). ``tf.__version__`` is
    then "1.15.0"; ``dataflow.__version__`` stays what it is. Checkpoints are written in TensorFlow's format.
    A second call changes nothing.

    Raises `RuntimeError` where TensorFlow or Keras itself is imported already.
    """
    from dataflow.formats.checkpoint_writer import TENSORFLOW, set_checkpoint_format
    from dataflow.shim import import_hook, old_python

    import_hook.install()
    old_python.install()
    set_checkpoint_format(TENSORFLOW)

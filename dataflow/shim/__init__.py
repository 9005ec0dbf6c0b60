"""TensorFlow 1 programs as they stand: ``import tensorflow as tf`` gives this engine, in this process.

`as_tensorflow` switches it on in a notebook; ``dataflow run script.py`` does so for a whole program.
Until then nothing here is loaded, and nothing of Python, NumPy or other packages is touched.
"""

from __future__ import annotations

from types import ModuleType

__all__ = ["as_tensorflow"]


def as_tensorflow(python2: bool = False) -> ModuleType:
    """From now on ``import tensorflow`` and ``import keras`` import this engine, in this process alone.

    Also puts back what programs of that time expect of Python, NumPy and their like: ``np.float``,
    ``collections.Mapping``, ``scipy.misc.imread`` (`dataflow.shim.old_python`). ``tf.__version__`` is
    then "1.15.0"; ``dataflow.__version__`` stays what it is. Checkpoints are written in TensorFlow's format, and
    seeded random ops draw TensorFlow's numbers. ``inspect.isfunction(tf.nn.relu)`` is true.
    A second call changes nothing.

    Returns what ``import tensorflow`` gives. In a notebook ``%tensorflow_version`` is passed over, and with
    ``python2`` later cells are translated as ``dataflow run --python2`` does (``print "loss", x``);
    elsewhere ``python2`` has no effect.

    Raises `RuntimeError` where TensorFlow or Keras itself is imported already.
    """
    import sys

    from dataflow.formats.checkpoint_writer import TENSORFLOW, set_checkpoint_format
    from dataflow.graph.op_def import OpDef
    from dataflow.shim import import_hook, old_python
    from dataflow.tensorflow_numbers import draw_as_tensorflow

    import_hook.install()
    old_python.install()
    set_checkpoint_format(TENSORFLOW)
    draw_as_tensorflow()
    OpDef.passes_as_function = True
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None:
        from dataflow.shim import ipython_cells

        ipython_cells.install(shell, python2)
    return import_hook.tensorflow()

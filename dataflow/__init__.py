"""dataflow: TensorFlow 1's graph mode, to look at while it works.

``import dataflow as tf``. The public names stand in ``__init__.pyi`` beside this file, those of
``tf.nn``, ``tf.train`` and their like in the stub of each; they are imported when first used.
"""

from __future__ import annotations

__version__ = "0.1.0"

from dataflow.graph.display import set_renderer as _set_renderer
from dataflow.namespaces import attach_stub as _attach_stub
from dataflow.notebook import render as _render
from dataflow.notebook_errors import install as _install_errors

# What graphs and sessions need whichever names are used: operators of tensors, conversions, composite
# fetches.
from dataflow.ops import array as _array, operators as _operators
from dataflow.runtime import composites as _composites, session as _session

_set_renderer(_render)
_install_errors()
__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)

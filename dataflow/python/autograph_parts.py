"""The base classes of AutoGraph's own tools (``tensorflow.python.autograph.pyct``), for class statements.

They rewrite syntax trees of a package, gast, in forms that only TensorFlow's own rewriter knows. Functions are
rewritten by `tf.autograph.to_graph`; whoever builds a transformer of their own is told so.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Base"]


class Base:
    """The base of transformers of syntax trees: classes can be derived from it, and not made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            f"{type(self).__name__}: AutoGraph's transformers of syntax trees are not part of dataflow. "
            "tf.autograph.to_graph(function) rewrites functions."
        )

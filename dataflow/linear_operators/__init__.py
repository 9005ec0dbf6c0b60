"""Matrices that are known by what they do: the classes ``tf.linalg.LinearOperator*``.

They are public in `tf.linalg` (``dataflow/linalg.pyi``).
"""

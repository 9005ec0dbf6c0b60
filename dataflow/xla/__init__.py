"""`tf.xla`: hints to a compiler; sessions here compile graphs without being asked."""

from __future__ import annotations

from dataflow.namespaces import absent
from dataflow.xla import experimental as experimental


def __getattr__(name: str) -> object:
    raise absent(__name__, name)

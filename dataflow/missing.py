"""What to say when somebody asks for a name that ``tf`` does not have."""

from __future__ import annotations

import difflib
import sys

#: Names of other versions, and what to write here.
_ADVICE = {
    "function": "tf.function is TensorFlow 2's; here every computation is a graph already.",
    "GradientTape": "tf.GradientTape is TensorFlow 2's; use tf.gradients(ys, xs).",
    "enable_eager_execution": "eager execution is not part of graph mode; use a tf.Session.",
}


def explain(name: str) -> str:
    """The text of the AttributeError for ``tf.<name>``, with the nearest names that exist."""
    advice = _ADVICE.get(name)
    if advice is None:
        module = sys.modules["dataflow"]
        inner = (
            "device_spec",
            "dtypes",
            "graph",
            "kernels",
            "ops",
            "rewrites",
            "runtime",
            "missing",
        )
        known = [n for n in dir(module) if not n.startswith("_") and n not in inner]
        close = difflib.get_close_matches(name, known, n=3)
        advice = f"Did you mean {' or '.join('tf.' + c for c in close)}?" if close else ""
    return f"module 'dataflow' has no attribute {name!r}. {advice}".rstrip()

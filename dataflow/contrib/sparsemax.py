"""``tf.contrib.sparsemax``: the projection onto probabilities, of which many are 0."""

from __future__ import annotations

from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.namespaces import explain_absent
from dataflow.ops.arithmetic import maximum
from dataflow.ops.casts import cast
from dataflow.ops.cumulative import cumsum
from dataflow.ops.fills import zeros_like
from dataflow.ops.gather_scatter import one_hot
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.reduce import reduce_sum
from dataflow.ops.reshape import expand_dims
from dataflow.ops.selection import where
from dataflow.ops.sequences import range_, top_k
from dataflow.ops.shape import shape

__all__ = ["sparsemax", "sparsemax_loss"]


def sparsemax(logits: Any, name: str | None = None) -> Tensor:
    """The point nearest to each row of ``logits`` [batch, classes] whose entries are >= 0 and sum to 1.

    Returns probabilities of the same shape and dtype (Martins and Astudillo 2016).
    """
    with name_scope(name, "sparsemax", [logits]):
        z = convert_to_tensor(logits, name="logits")
        num_classes = shape(z)[1]
        z_sorted, _ = top_k(z, k=num_classes)
        sums = cumsum(z_sorted, axis=1)
        ranks = cast(range_(1, num_classes + 1), z.dtype)
        in_support = cast(1 + ranks * z_sorted > sums, z.dtype)
        size = reduce_sum(in_support, axis=1)
        # The threshold: what must be taken away from all entries in the support for them to sum to 1.
        last = one_hot(cast(size, "int32") - 1, num_classes, dtype=z.dtype)
        threshold = (reduce_sum(sums * last, axis=1) - 1) / size
        return maximum(cast(0, z.dtype), z - expand_dims(threshold, 1))  # type: ignore[no-any-return]


def sparsemax_loss(logits: Any, sparsemax: Any, labels: Any, name: str | None = None) -> Tensor:
    """The loss of which ``sparsemax - labels`` is the gradient by the logits, one number for each row.

    ``logits``, ``sparsemax`` (their `sparsemax`) and ``labels`` (probabilities): [batch, classes].
    """
    with name_scope(name, "sparsemax_loss", [logits, sparsemax, labels]):
        z = convert_to_tensor(logits, name="logits")
        p = convert_to_tensor(sparsemax, name="sparsemax")
        q = convert_to_tensor(labels, name="labels")
        support = where(p > 0, p * (z - 0.5 * p), zeros_like(p))
        of_labels = where(q > 0, q * (0.5 * q - z), zeros_like(q))
        return reduce_sum(support + of_labels, axis=1)


__getattr__ = explain_absent(__name__)

"""Labels are checked where they enter a head: the error names the row of the batch."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.tensor import Tensor
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.conditionals import cond
from dataflow.ops.control_flow import no_op
from dataflow.ops.gather_scatter import gather
from dataflow.ops.logging_ops import Assert
from dataflow.ops.reduce import argmin, reduce_all
from dataflow.ops.string import as_string, string_join


def check_labels(labels: Tensor, valid: Tensor, message: str) -> Any:
    """An operation that fails unless all of ``valid`` (bool, of the shape of ``labels``) is true.

    `InvalidArgumentError` then says ``message``, and of the first label that is not valid the row
    in the batch and the value.
    """
    holds = reduce_all(valid)

    def fail() -> Any:
        # Built within the branch, so that nothing of it is computed while the labels are good.
        at = argmin(cast(array.reshape(valid, [-1]), dtypes.int32), 0)
        per_row = array.size(labels) // array.shape(labels)[0]
        row = cast(at, dtypes.int32) // per_row
        value = gather(array.reshape(labels, [-1]), at)
        text = string_join(
            [
                f"{message}. Row ",
                as_string(row),
                " of the batch (counted from 0) has the label [",
                as_string(value, shortest=labels.dtype.is_floating),
                "]",
            ]
        )
        return Assert(holds, [text])

    return cond(holds, no_op, fail, name="check_labels").op

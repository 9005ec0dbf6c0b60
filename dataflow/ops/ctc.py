"""Connectionist temporal classification (Graves et al. 2006): the loss and two decoders."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.op_signature import Defaulted
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.casts import cast
from dataflow.ops.identity import prevent_gradient_op
from dataflow.ops.loss import is_zero
from dataflow.ops.renamed_arguments import renamed
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.shapes import Dims, list_dims, merge

_FLOAT = Defaulted(dtypes.float32, frozenset({dtypes.float32, dtypes.float64}))


def _time_batch_classes(inputs: Tensor, sequence_length: Tensor) -> Any:
    dims = inputs.dims if inputs.dims is not None else (None, None, None)
    if len(dims) != 3:
        raise ValueError(f"inputs must be [time, batch, classes], got {list_dims(dims)}")
    try:
        batch = merge(dims[1:2], sequence_length.dims)
    except ValueError as e:
        raise ValueError(
            f"sequence_length must be a vector with one entry for each of the {dims[1]} sequences, "
            f"got {list_dims(sequence_length.dims)}"
        ) from e
    assert batch is not None
    return dims[0], batch[0], dims[2]


@define_op(
    "CTCLoss",
    "inputs: T, labels_indices: int64, labels_values: int32, sequence_length: int32 -> "
    "loss: T, gradient: T",
    T=_FLOAT,
)
def ctc_loss_op(
    inputs: Tensor,
    labels_indices: Tensor,
    labels_values: Tensor,
    sequence_length: Tensor,
    *,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
) -> list[Dims]:
    """-log of the probability that the frames spell the labels, over all alignments.

    The last class is the blank. Shape: inputs [time, batch, classes] (logits), the labels as the
    parts of a sparse [batch, longest] tensor, sequence_length [batch]; loss [batch], gradient of
    the shape of the inputs. Dtype: kept. Gradient: ``dloss * gradient`` to the inputs, once.
    """
    time, batch, classes = _time_batch_classes(inputs, sequence_length)
    return [(batch,), (time, batch, classes)]


@ctc_loss_op.gradient
def ctc_loss_gradient(op: Operation, grad_loss: Any, grad_gradient: Any) -> list[Any]:
    if grad_gradient is not None and not is_zero(grad_gradient):
        raise LookupError(f"{op.name!r}: the CTC loss has no second derivative")
    once = prevent_gradient_op(op.outputs[1], message="The CTC loss has no second derivative.")
    return [array_ops.expand_dims(grad_loss, -1) * once, None, None, None]


@define_op(
    "CTCGreedyDecoder",
    "inputs: T, sequence_length: int32 -> decoded_indices: int64, decoded_values: int64, "
    "decoded_shape: int64, log_probability: T",
    T=_FLOAT,
    later_attrs={"blank_index": -1},
)
def ctc_greedy_decoder_op(
    inputs: Tensor,
    sequence_length: Tensor,
    *,
    merge_repeated: bool = False,
    blank_index: int = -1,
) -> list[Dims]:
    """The most likely class of each frame, blanks taken out.

    Shape: inputs [time, batch, classes]; the parts of a sparse [batch, longest] tensor, and
    [batch, 1] with the negative sum of the largest logits. Dtype: int64, that of the inputs.
    Not differentiable.
    """
    _, batch, _ = _time_batch_classes(inputs, sequence_length)
    return [(None, 2), (None,), (2,), (batch, 1)]


@define_op(
    "CTCBeamSearchDecoder",
    "inputs: T, sequence_length: int32 -> decoded_indices: top_paths * int64, "
    "decoded_values: top_paths * int64, decoded_shape: top_paths * int64, log_probability: T",
    T=_FLOAT,
)
def ctc_beam_search_decoder_op(
    inputs: Tensor,
    sequence_length: Tensor,
    *,
    beam_width: int,
    top_paths: int,
    merge_repeated: bool = True,
) -> list[Dims]:
    """The most likely label sequences, by a beam search over their prefixes.

    The last class is the blank. Shape: inputs [time, batch, classes]; for each of ``top_paths``
    the parts of a sparse [batch, longest] tensor; [batch, top_paths] log probabilities.
    Dtype: int64, that of the inputs. Not differentiable.
    """
    if beam_width < 1 or not 1 <= top_paths <= beam_width:
        raise ValueError(
            f"beam_width ({beam_width}) must be positive, top_paths ({top_paths}) no larger"
        )
    _, batch, _ = _time_batch_classes(inputs, sequence_length)
    parts: list[Dims] = [(None, 2)] * top_paths + [(None,)] * top_paths + [(2,)] * top_paths
    return [*parts, (batch, top_paths)]


not_differentiable(ctc_greedy_decoder_op, ctc_beam_search_decoder_op)


def ctc_loss(
    labels: Any,
    inputs: Any = None,
    sequence_length: Any = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: Any = None,
) -> Tensor:
    """The CTC loss of each sequence, [batch]. ``labels`` is an int32 `SparseTensor`.

    ``inputs``: logits [time, batch, classes], or [batch, time, classes] with
    ``time_major=False``; the last class is the blank. Raises `TypeError` for dense labels.
    """
    if not isinstance(labels, SparseTensor):
        raise TypeError("Expected argument 1 (labels) to be a SparseTensor")
    inputs = renamed("logits", logits, "inputs", inputs)
    if not time_major:
        inputs = array_ops.transpose(inputs, [1, 0, 2])
    loss, _ = ctc_loss_op(
        inputs,
        labels.indices,
        labels.values,
        sequence_length,
        preprocess_collapse_repeated=preprocess_collapse_repeated,
        ctc_merge_repeated=ctc_merge_repeated,
        ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs,
    )
    return loss  # type: ignore[no-any-return]


def ctc_greedy_decoder(
    inputs: Any,
    sequence_length: TensorLike,
    merge_repeated: bool = True,
    blank_index: int | None = None,
) -> tuple[list[SparseTensor], Tensor]:
    """``([decoded], neg_sum_logits)`` of logits [time, batch, classes]; see `CTCGreedyDecoder`."""
    result = ctc_greedy_decoder_op(
        inputs,
        sequence_length,
        merge_repeated=merge_repeated,
        blank_index=-1 if blank_index is None else blank_index,
    )
    return [SparseTensor(*result[:3])], result[3]


def ctc_beam_search_decoder(
    inputs: Any,
    sequence_length: TensorLike,
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
) -> tuple[list[SparseTensor], Tensor]:
    """``(paths, log_probabilities)`` of logits [time, batch, classes], the best path first."""
    inputs = convert_to_tensor(inputs, name="inputs")
    indices, values, shapes, scores = ctc_beam_search_decoder_op(
        inputs,
        sequence_length,
        beam_width=beam_width,
        top_paths=top_paths,
        merge_repeated=merge_repeated,
    )
    parts = zip(indices, values, shapes, strict=True)
    return [SparseTensor(i, v, s) for i, v, s in parts], scores


def ctc_beam_search_decoder_v2(
    inputs: Any, sequence_length: TensorLike, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Tensor]:
    """`ctc_beam_search_decoder` that leaves repeated labels in the paths."""
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, False)


def collapse_repeated(
    labels: TensorLike, seq_length: Any, name: str | None = None
) -> tuple[Any, Any]:
    """Labels without neighbors that repeat, [batch, time], padded with 0, and their lengths."""
    from dataflow.ops.comparison import logical_and, not_equal
    from dataflow.ops.cumulative import cumsum
    from dataflow.ops.reduce import reduce_max, reduce_sum

    with op_scope(name, "collapse_repeated_labels", [labels, seq_length]):
        labels = convert_to_tensor(labels, name="labels")
        seq_length = convert_to_tensor(seq_length, name="seq_length")
        first = array_ops.ones_like(labels[:, :1], dtypes.bool_)
        changes = array_ops.concat([first, not_equal(labels[:, 1:], labels[:, :-1])], 1)
        size = array_ops.shape(labels)
        changes = logical_and(changes, array_ops.sequence_mask(seq_length, size[1]))
        lengths = reduce_sum(cast(changes, seq_length.dtype), 1)
        width = cast(reduce_max(lengths), dtypes.int32)
        kept = array_ops.where(changes)
        column = cumsum(cast(changes, dtypes.int64), 1) - 1
        places = array_ops.concat(
            [kept[:, :1], array_ops.expand_dims(array_ops.gather_nd(column, kept), 1)], 1
        )
        shape = cast(array_ops.stack([size[0], width]), dtypes.int64)
        found = array_ops.scatter_nd(places, array_ops.gather_nd(labels, kept), shape)
        return found, lengths


def ctc_unique_labels(labels: Any, name: str | None = None) -> tuple[Any, Any]:
    """Of each row the labels without repeats (padded with 0), and where each stands among them."""
    from dataflow.ops.functional import map_fn

    with op_scope(name, "ctc_unique_labels", [labels]):
        labels = convert_to_tensor(labels, name="labels")

        def row(x: Tensor) -> list[Tensor]:
            values, places = array_ops.unique(x)
            missing = array_ops.size(places) - array_ops.size(values)
            padded = cast(array_ops.pad(values, [[0, missing]]), dtypes.int64)
            return [padded, places]

        found = map_fn(row, labels, dtype=[dtypes.int64, dtypes.int32])
        return tuple(found)


def ctc_loss_v2(
    labels: Any,
    logits: Any,
    label_length: Any,
    logit_length: Any,
    logits_time_major: bool = True,
    unique: Any = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Tensor:
    """The CTC loss, [batch], of labels as a matrix with lengths, or as a SparseTensor.

    ``blank_index``: the class that stands for no label; 0 by default for a matrix, and to be given
    for a SparseTensor (`ValueError`). ``unique`` is not needed here. The gradient reaches ``logits``.
    """
    with op_scope(name, "ctc_loss", []):
        logits = convert_to_tensor(logits, name="logits")
        num_classes = logits.dims[-1]
        if not isinstance(labels, SparseTensor):
            labels = convert_to_tensor(labels, name="labels")
            mask = array_ops.sequence_mask(label_length, array_ops.shape(labels)[1])
            shape = array_ops.shape(labels, out_type=dtypes.int64)
            values = cast(array_ops.boolean_mask(labels, mask), dtypes.int32)
            labels = SparseTensor(array_ops.where(mask), values, shape)
            blank_index = 0 if blank_index is None else blank_index
        elif blank_index is None:
            raise ValueError("blank_index must be given when using SparseTensor labels.")
        blank = blank_index + num_classes if blank_index < 0 else blank_index
        if blank != num_classes - 1:  # the op has it last
            parts = [logits[..., :blank], logits[..., blank + 1 :], logits[..., blank : blank + 1]]
            logits = array_ops.concat(parts, -1)
            values = array_ops.where(labels.values < blank, labels.values, labels.values - 1)
            labels = SparseTensor(labels.indices, values, labels.dense_shape)
        return ctc_loss(labels, logits, logit_length, time_major=logits_time_major)

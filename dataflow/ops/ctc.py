"""Connectionist temporal classification (Graves et al. 2006): the loss and two decoders."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.registry import Defaulted, define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.ops import array as array_ops
from dataflow.ops.array_basics import prevent_gradient_op
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
def ctc_loss_gradient(op: Any, grad_loss: Any, grad_gradient: Any) -> list[Any]:
    if grad_gradient is not None and not is_zero(grad_gradient):
        raise LookupError(f"{op.name!r}: the CTC loss has no second derivative")
    once = prevent_gradient_op(op.outputs[1], message="The CTC loss has no second derivative.")
    return [array_ops.expand_dims(grad_loss, -1) * once, None, None, None]


@define_op(
    "CTCGreedyDecoder",
    "inputs: T, sequence_length: int32 -> decoded_indices: int64, decoded_values: int64, "
    "decoded_shape: int64, log_probability: T",
    T=_FLOAT,
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
    inputs: Any, sequence_length: Any, merge_repeated: bool = True, blank_index: int | None = None
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
    sequence_length: Any,
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
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Tensor]:
    """`ctc_beam_search_decoder` that leaves repeated labels in the paths."""
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, False)

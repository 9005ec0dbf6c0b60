"""Recurrent estimators: a network over columns of sequences, with the logits of its last step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dataflow import dtypes
from dataflow.estimator.canned import check_features, optimizer_instance, ps_partitioner
from dataflow.estimator.class_heads import class_head
from dataflow.estimator.estimator import Estimator
from dataflow.estimator.extenders import clip_gradients_by_norm
from dataflow.estimator.heads import Head
from dataflow.estimator.model_fn import EstimatorSpec
from dataflow.feature_column.layers import input_layer
from dataflow.feature_column.sequence import concatenate_context_input, sequence_input_layer
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.layers.core import dense
from dataflow.losses import Reduction
from dataflow.ops import array
from dataflow.ops.gather_scatter import gather_nd
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.initializers import glorot_uniform_initializer
from dataflow.ops.math import cast
from dataflow.ops.summary import histogram
from dataflow.ops.variable_scope import variable_scope
from dataflow.rnn.base_cell import RNNCell
from dataflow.rnn.cell_wrappers import MultiRNNCell
from dataflow.rnn.cells import BasicLSTMCell, BasicRNNCell, GRUCell
from dataflow.rnn.loops import dynamic_rnn
from dataflow.train.global_step import get_global_step
from dataflow.train.optimizer import Optimizer

#: The arguments of an optimizer that is given by name, and the norm to which its gradients are clipped.
_DEFAULT_LEARNING_RATE = 0.05
_DEFAULT_CLIP_NORM = 5.0

_CELL_TYPES: dict[str, type[RNNCell]] = {
    "basic_rnn": BasicRNNCell,
    "lstm": BasicLSTMCell,
    "gru": GRUCell,
}
#: `cell_type` was not given.
USE_DEFAULT = object()


def _cell_function(
    rnn_cell_fn: Callable[[str], Any] | None, num_units: Any, cell_type: Any
) -> Callable[[str], Any]:
    """A function of the mode that makes the cell. Raises `ValueError` for ``rnn_cell_fn`` beside the others."""
    if rnn_cell_fn is not None:
        if num_units or cell_type is not USE_DEFAULT:
            raise ValueError("num_units and cell_type must not be specified when using rnn_cell_fn")
        return rnn_cell_fn
    name = "basic_rnn" if cell_type is USE_DEFAULT else cell_type
    kind = _CELL_TYPES.get(name, name) if isinstance(name, str) else name

    def make(mode: str) -> Any:
        if not (isinstance(kind, type) and issubclass(kind, RNNCell)):
            raise ValueError(f"Supported cell types are {list(_CELL_TYPES)}; got {cell_type}")
        cells = [kind(num_units=units) for units in num_units]
        return cells[0] if len(cells) == 1 else MultiRNNCell(cells)

    return make


def _concatenate_context_input(sequence_input: Any, context_input: Any) -> Tensor:
    """`concatenate_context_input`; the sequences [batch, steps, m] come first here.

    Raises `ValueError` where they are not of rank 3 and the context of rank 2, `TypeError` where
    one is not float32.
    """
    for name, value, rank in (
        ("sequence_input", sequence_input, 3),
        ("context_input", context_input, 2),
    ):
        if value.shape.ndims not in (None, rank):
            raise ValueError(f"{name} must have rank {rank}, its shape is {value.shape}")
        if value.dtype != dtypes.float32:
            raise TypeError(f"{name} must have dtype float32; got {value.dtype}.")
    return concatenate_context_input(context_input, sequence_input)


def _select_last_activations(activations: Tensor, sequence_lengths: TensorLike | None) -> Tensor:
    """The outputs [batch, n] of each sequence's last step, from those of all [batch, steps, n]."""
    with name_scope("select_last_activations"):
        shape = array.shape(activations, out_type=dtypes.int64)
        lengths = shape[1] if sequence_lengths is None else cast(sequence_lengths, dtypes.int64)
        rows = array.range_(shape[0])
        last: Tensor = gather_nd(activations, array.stack([rows, rows * 0 + lengths - 1], axis=1))
        last.set_shape([activations.shape[0], activations.shape[2]])
        return last


def _rnn_logit_fn_builder(
    output_units: int,
    rnn_cell_fn: Callable[[str], Any],
    sequence_feature_columns: Sequence[Any],
    context_feature_columns: Sequence[Any],
    input_layer_partitioner: Any,
    return_sequences: bool = False,
) -> Callable[..., tuple[Tensor, Tensor]]:
    """A function of features and mode: (logits [batch, units], or [batch, steps, units]; a mask).

    The mask, bool [batch, steps], is true at the steps within each sequence's length.
    Raises `ValueError` if units is not an integer.
    """
    if not isinstance(output_units, int):
        raise ValueError(f"output_units must be an int. Given type: {type(output_units)}")

    def rnn_logit_fn(features: Any, mode: str) -> tuple[Tensor, Tensor]:
        with variable_scope(
            "sequence_input_layer",
            values=list(features.values()),
            partitioner=input_layer_partitioner,
        ):
            inputs, lengths = sequence_input_layer(features, sequence_feature_columns)
            histogram("sequence_length", lengths)
            if context_feature_columns:
                context = input_layer(features, context_feature_columns)
                inputs = _concatenate_context_input(inputs, context)
        outputs, _ = dynamic_rnn(
            rnn_cell_fn(mode), inputs, sequence_length=lengths, dtype=dtypes.float32
        )
        if not return_sequences:
            outputs = _select_last_activations(outputs, lengths)
        with variable_scope("logits", values=[outputs]):
            initializer = glorot_uniform_initializer()
            logits = dense(outputs, output_units, kernel_initializer=initializer)
        return logits, array.sequence_mask(lengths)

    return rnn_logit_fn


def rnn_model_fn(
    features: Any,
    labels: Any,
    mode: str,
    head: Head,
    rnn_cell_fn: Callable[[str], Any],
    sequence_feature_columns: Sequence[Any],
    context_feature_columns: Sequence[Any],
    optimizer: Any,
    partitioner: Any,
    config: Any,
) -> EstimatorSpec:
    """A recurrent network; gradients of an optimizer given by name are clipped to norm 5."""
    check_features(features)
    if not isinstance(optimizer, Optimizer):
        optimizer = clip_gradients_by_norm(
            optimizer_instance(optimizer, _DEFAULT_LEARNING_RATE), _DEFAULT_CLIP_NORM
        )
    scope_partitioner = ps_partitioner(config, 256 << 10)
    with variable_scope("rnn", values=list(features.values()), partitioner=scope_partitioner):
        logit_fn = _rnn_logit_fn_builder(
            head.logits_dimension,
            rnn_cell_fn,
            sequence_feature_columns,
            context_feature_columns,
            partitioner or ps_partitioner(config, 64 << 20),
        )
        logits, _ = logit_fn(features=features, mode=mode)
        return head.create_estimator_spec(
            features,
            mode,
            logits,
            labels,
            train_op_fn=lambda loss: optimizer.minimize(loss, global_step=get_global_step()),
        )


class RNNEstimator(Estimator):
    """A recurrent network; ``head`` (`tf.contrib.estimator.multi_class_head`, ...) interprets its logits.

    ``num_units`` lists the layers' widths, and ``cell_type`` is "basic_rnn", "lstm", "gru" or a
    class; or ``rnn_cell_fn(mode)`` makes the cell. ``context_feature_columns`` are the same in all
    steps. Raises `ValueError` where cells are described in both ways, and for
    ``return_sequences``, as there is no head of sequences.
    """

    def __init__(
        self,
        head: Any,
        sequence_feature_columns: Sequence[Any],
        context_feature_columns: Sequence[Any] | None = None,
        num_units: Any = None,
        cell_type: Any = USE_DEFAULT,
        rnn_cell_fn: Callable[[str], Any] | None = None,
        return_sequences: bool = False,
        model_dir: str | None = None,
        optimizer: Any = "Adagrad",
        input_layer_partitioner: Any = None,
        config: Any = None,
    ) -> None:
        if return_sequences:
            raise ValueError(
                "Provided head must be a `_SequentialHead` object when `return_sequences` is set to True."
            )
        cells = _cell_function(rnn_cell_fn, num_units, cell_type)
        sequences = tuple(sequence_feature_columns or [])
        context = tuple(context_feature_columns or [])

        def model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
            return rnn_model_fn(
                features, labels, mode, head, cells, sequences, context, optimizer,
                input_layer_partitioner, config,
            )  # fmt: skip

        super().__init__(model_fn, model_dir, config)


class RNNClassifier(RNNEstimator):
    """A recurrent network for classes of sequences; predictions are those of `tf.estimator.DNNClassifier`."""

    def __init__(
        self,
        sequence_feature_columns: Sequence[Any],
        context_feature_columns: Sequence[Any] | None = None,
        num_units: Any = None,
        cell_type: Any = USE_DEFAULT,
        rnn_cell_fn: Callable[[str], Any] | None = None,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        optimizer: Any = "Adagrad",
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        input_layer_partitioner: Any = None,
        config: Any = None,
    ) -> None:
        super().__init__(
            class_head(n_classes, weight_column, label_vocabulary, loss_reduction),
            sequence_feature_columns, context_feature_columns, num_units, cell_type, rnn_cell_fn,
            model_dir=model_dir, optimizer=optimizer,
            input_layer_partitioner=input_layer_partitioner, config=config,
        )  # fmt: skip

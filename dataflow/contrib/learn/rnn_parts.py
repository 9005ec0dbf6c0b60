"""What contrib's estimators of recurrent networks share: cells by name, masks, predictions, names of states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.contrib import metrics
from dataflow.contrib.learn.keys import ProblemType
from dataflow.contrib.learn.prediction_key import PredictionKey
from dataflow.graph import nest
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import maximum
from dataflow.ops.selection import boolean_mask, sequence_mask
from dataflow.rnn.cells import (
    BasicRNNCell,
    DropoutWrapper,
    GRUCell,
    LSTMCell,
    MultiRNNCell,
    RNNCell,
)
from dataflow.shapes import dimension_value

_CELLS = {"basic_rnn": BasicRNNCell, "lstm": LSTMCell, "gru": GRUCell}


class PredictionType:
    """What is predicted: one value for a sequence, or one for each of its steps."""

    SINGLE_VALUE = 1
    MULTIPLE_VALUE = 2


class RNNKeys:
    """Names of features and predictions."""

    FINAL_STATE_KEY = "final_state"
    LABELS_KEY = "__labels__"
    SEQUENCE_LENGTH_KEY = "sequence_length"
    STATE_PREFIX = "rnn_cell_state"


def state_name(i: int) -> str:
    """What part ``i`` of a state is called among features and predictions."""
    return f"{RNNKeys.STATE_PREFIX}_{i}"


def _single_cell(cell_type: Any, num_units: int) -> Any:
    kind = _CELLS.get(cell_type, cell_type)
    if not isinstance(kind, type) or not issubclass(kind, RNNCell):
        raise ValueError(
            f"The supported cell types are {sorted(_CELLS)} and classes of RNNCell, got {cell_type!r}."
        )
    made: Any = kind
    return made(num_units)


def construct_rnn_cell(
    num_units: int | Sequence[int],
    cell_type: Any = "basic_rnn",
    dropout_keep_probabilities: Sequence[float] | None = None,
) -> Any:
    """A cell, or with several ``num_units`` cells on top of each other.

    ``cell_type``: "basic_rnn", "lstm", "gru" or a class. ``dropout_keep_probabilities``: one for the input of
    each cell, and one for the output of the last. Raises `ValueError` for another type, and for another number.
    """
    units = [num_units] if isinstance(num_units, int) else list(num_units)
    cells = [_single_cell(cell_type, n) for n in units]
    if dropout_keep_probabilities:
        cells = apply_dropout(cells, dropout_keep_probabilities)
    return cells[0] if len(cells) == 1 else MultiRNNCell(cells)


def apply_dropout(
    cells: Sequence[Any], dropout_keep_probabilities: Sequence[float], random_seed: Any = None
) -> list[Any]:
    """The cells with dropout on each one's input, and on the last one's output."""
    keep = list(dropout_keep_probabilities)
    if len(keep) != len(cells) + 1:
        raise ValueError(
            "The number of dropout probabilities must be one greater than the number of cells. Got "
            f"{len(cells)} cells and {len(keep)} dropout probabilities."
        )
    outputs = [1.0] * (len(cells) - 1) + keep[-1:]
    return [
        DropoutWrapper(cell, input_keep_prob=before, output_keep_prob=after, seed=random_seed)
        for cell, before, after in zip(cells, keep[:-1], outputs, strict=True)
    ]


def dict_to_state_tuple(input_dict: dict[str, Any], cell: Any) -> Any:
    """The state that features have under `state_name`s, as the cell's; None where they have none.

    Raises `ValueError` where they have a part of it, or one that is no matrix.
    """
    sizes = nest.flatten(cell.state_size)
    with name_scope("Initial_State"):
        parts = []
        for i in range(len(sizes)):
            if input_dict.get(state_name(i)) is None:
                continue
            part = convert_to_tensor(input_dict[state_name(i)])
            if part.shape.ndims not in (None, 2):
                raise ValueError(f"{state_name(i)} must be [batch, size], it is {part.shape}.")
            parts.append(part)
    if not parts:
        return None
    if len(parts) != len(sizes):
        raise ValueError(
            f"The state has {len(sizes)} parts; the features have {len(parts)} of them."
        )
    return nest.pack_like(cell.state_size, parts)


def state_tuple_to_dict(state: Any) -> dict[str, Any]:
    """The parts of a state by `state_name`."""
    return {state_name(i): part for i, part in enumerate(nest.flatten(state))}


def mask_activations_and_labels(
    activations: Tensor, labels: Any, sequence_lengths: Any
) -> tuple[Tensor, Tensor]:
    """The steps that are no padding, one after another: [steps, ...] of [batch, padded length, ...]."""
    labels = convert_to_tensor(labels)
    with name_scope("mask_activations_and_labels"):
        if sequence_lengths is None:
            rows: Tensor = array.reshape(activations, [-1, dimension_value(activations.shape[-1])])
            return rows, array.reshape(labels, [-1])
        mask = sequence_mask(sequence_lengths, array.shape(activations)[1])
        return boolean_mask(activations, mask), boolean_mask(labels, mask)


def select_last_activations(activations: Tensor, sequence_lengths: Any) -> Tensor:
    """The activations at the last step of each sequence: [batch, n] of [batch, padded length, n].

    Of a sequence without steps it is the first. ``sequence_lengths`` None: no sequence is padded.
    """
    with name_scope("select_last_activations"):
        if sequence_lengths is None:
            last: Tensor = activations[:, -1]
            return last
        lengths = cast(sequence_lengths, dtypes.int32)
        places = maximum(lengths - np.int32(1), np.int32(0))
        rows = array.range_(array.shape(activations)[0])
        found: Tensor = array.gather_nd(activations, array.stack([rows, places], 1))
        return found


def single_value_predictions(
    activations: Tensor,
    sequence_length: Any,
    target_column: Any,
    problem_type: int,
    predict_probabilities: bool,
) -> dict[str, Tensor]:
    """What the last steps predict, [batch]; probabilities are [batch, classes]."""
    last = select_last_activations(activations, sequence_length)
    return _predictions(last, target_column, problem_type, predict_probabilities)


def multi_value_predictions(
    activations: Tensor, target_column: Any, problem_type: int, predict_probabilities: bool
) -> dict[str, Tensor]:
    """What each step predicts, [batch, padded length]; probabilities are [batch, padded length, classes]."""
    with name_scope("multi_value_predictions"):
        shape = array.shape(activations)
        rows = array.reshape(activations, [-1, dimension_value(activations.shape[-1])])
        found = _predictions(rows, target_column, problem_type, predict_probabilities)

        def of_steps(values: Tensor) -> Tensor:
            inner = array.shape(values)[1:]
            made: Tensor = array.reshape(values, array.concat([shape[:2], inner], 0))
            made.set_shape(activations.shape[:2].concatenate(values.shape[1:]))
            return made

        return {key: of_steps(values) for key, values in found.items()}


def _predictions(
    logits: Tensor, target_column: Any, problem_type: int, predict_probabilities: bool
) -> dict[str, Tensor]:
    predictions = target_column.logits_to_predictions(logits, proba=False)
    if problem_type != ProblemType.CLASSIFICATION:
        return {PredictionKey.SCORES: predictions}
    found = {PredictionKey.CLASSES: predictions}
    if predict_probabilities:
        probabilities = target_column.logits_to_predictions(logits, proba=True)
        found[PredictionKey.PROBABILITIES] = probabilities
    return found


def eval_metric_ops(
    problem_type: int,
    prediction_type: int,
    sequence_length: Any,
    prediction_dict: dict[str, Tensor],
    labels: Any,
) -> dict[str, Any]:
    """The accuracy of classes, of all steps that are no padding; a regression has no metrics."""
    if problem_type != ProblemType.CLASSIFICATION:
        return {}
    classes, labels = prediction_dict[PredictionKey.CLASSES], convert_to_tensor(labels)
    if prediction_type == PredictionType.MULTIPLE_VALUE:
        steps = array.expand_dims(classes, 2)
        if sequence_length is not None:
            labels = array.reshape(labels, array.shape(classes))
        classes, labels = mask_activations_and_labels(steps, labels, sequence_length)
        classes = array.reshape(classes, [-1])
    labels = array.reshape(cast(labels, dtypes.int64), array.shape(classes))
    return {"accuracy": metrics.streaming_accuracy(classes, labels)}

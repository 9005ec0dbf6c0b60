"""`tf.contrib.learn.DynamicRnnEstimator`: a recurrent network over sequences, by feature columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dataflow import dtypes
from dataflow.contrib.column_inputs import input_from_feature_columns
from dataflow.contrib.feature_column_sums import check_feature_columns
from dataflow.contrib.layers import fully_connected
from dataflow.contrib.learn.estimator import Estimator
from dataflow.contrib.learn.keys import ProblemType
from dataflow.contrib.learn.model_fn import ModelFnOps
from dataflow.contrib.learn.modes import ModeKeys
from dataflow.contrib.learn.rnn_parts import (
    PredictionType,
    RNNKeys,
    construct_rnn_cell,
    dict_to_state_tuple,
    eval_metric_ops,
    mask_activations_and_labels,
    multi_value_predictions,
    select_last_activations,
    single_value_predictions,
    state_tuple_to_dict,
)
from dataflow.contrib.optimize_loss import OPTIMIZER_SUMMARIES, optimize_loss
from dataflow.contrib.sequence_columns import sequence_input_from_feature_columns
from dataflow.contrib.target_columns import TargetColumn, multi_class_target, regression_target
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops import array
from dataflow.ops.graph_functions import name_scope
from dataflow.rnn.loops import dynamic_rnn
from dataflow.train.momentum import MomentumOptimizer


def build_sequence_input(
    features: dict[Any, Any],
    sequence_feature_columns: Sequence[Any],
    context_feature_columns: Sequence[Any] | None,
    weight_collections: Any = None,
    scope: Any = None,
) -> Tensor:
    """The columns' numbers, [batch, padded length, n]; those of the context are in each step."""
    features = dict(features)
    steps = sequence_input_from_feature_columns(
        features, sequence_feature_columns, weight_collections, scope=scope
    )
    if not context_feature_columns:
        return steps
    context = input_from_feature_columns(
        features, context_feature_columns, weight_collections, scope=scope
    )
    repeated = array.tile(array.expand_dims(context, 1), [1, array.shape(steps)[1], 1])
    joined: Tensor = array.concat([steps, repeated], 2)
    return joined


def construct_rnn(
    initial_state: Any,
    sequence_input: Tensor,
    cell: Any,
    num_label_columns: int,
    dtype: DTypeLike = dtypes.float32,
    parallel_iterations: int | None = 32,
    swap_memory: bool = True,
) -> tuple[Tensor, Any]:
    """(Activations [batch, padded length, ``num_label_columns``], the final state) of a cell and a linear layer."""
    with name_scope("RNN"):
        outputs, final_state = dynamic_rnn(
            cell,
            sequence_input,
            initial_state=initial_state,
            dtype=dtype,
            parallel_iterations=parallel_iterations,
            swap_memory=swap_memory,
        )
        activations = fully_connected(outputs, num_label_columns, activation_fn=None)
        return activations, final_state


def output_alternatives(
    prediction_type: int, problem_type: int, prediction_dict: dict[str, Any]
) -> dict[str, Any] | None:
    """What is exported of one value for a sequence: its predictions, without the states."""
    if prediction_type != PredictionType.SINGLE_VALUE:
        return None
    own = {k: v for k, v in prediction_dict.items() if not k.startswith(RNNKeys.STATE_PREFIX)}
    return {"dynamic_rnn_output": (problem_type, own)}


def dynamic_rnn_model_fn(
    cell_type: Any,
    num_units: int | Sequence[int],
    target_column: TargetColumn,
    problem_type: int,
    prediction_type: int,
    optimizer: Any,
    sequence_feature_columns: Sequence[Any],
    context_feature_columns: Sequence[Any] | None = None,
    predict_probabilities: bool = False,
    learning_rate: Any = None,
    gradient_clipping_norm: Any = None,
    dropout_keep_probabilities: Sequence[float] | None = None,
    sequence_length_key: str = RNNKeys.SEQUENCE_LENGTH_KEY,
    dtype: DTypeLike = dtypes.float32,
    parallel_iterations: int | None = None,
    swap_memory: bool = True,
    name: str = "DynamicRNNModel",
) -> Callable[..., ModelFnOps]:
    """A model function (features, labels, mode) for `tf.contrib.learn.Estimator`."""
    single = prediction_type == PredictionType.SINGLE_VALUE

    def loss_of(activations: Tensor, labels: Any, lengths: Any, features: Any) -> Tensor:
        if single:
            last = select_last_activations(activations, lengths)
            return target_column.loss(last, labels, features)
        steps, labels = mask_activations_and_labels(activations, labels, lengths)
        return target_column.loss(steps, labels, features)

    def model_fn(features: Any, labels: Any, mode: str) -> ModelFnOps:
        with name_scope(name):
            dropout = dropout_keep_probabilities if mode == ModeKeys.TRAIN else None
            cell = construct_rnn_cell(num_units, cell_type, dropout)
            lengths = features.get(sequence_length_key)
            given = build_sequence_input(
                features, sequence_feature_columns, context_feature_columns
            )
            activations, final_state = construct_rnn(
                dict_to_state_tuple(features, cell),
                given,
                cell,
                target_column.num_label_columns,
                dtype,
                parallel_iterations,
                swap_memory,
            )
            asked = (target_column, problem_type, predict_probabilities)
            if single:
                predictions = single_value_predictions(activations, lengths, *asked)
            else:
                predictions = multi_value_predictions(activations, *asked)
            found = {
                "output_alternatives": output_alternatives(
                    prediction_type, problem_type, predictions
                )
            }
            predictions.update(state_tuple_to_dict(final_state))
            loss: Any = None
            train_op = None
            if mode != ModeKeys.INFER:
                loss = loss_of(activations, labels, lengths, features)
                found["eval_metric_ops"] = eval_metric_ops(
                    problem_type, prediction_type, lengths, predictions, labels
                )
            if mode == ModeKeys.TRAIN:
                train_op = optimize_loss(
                    loss,
                    None,
                    learning_rate,
                    optimizer,
                    clip_gradients=gradient_clipping_norm,
                    summaries=OPTIMIZER_SUMMARIES,
                )
            return ModelFnOps(mode, predictions, loss, train_op, **found)

    return model_fn


class DynamicRnnEstimator(Estimator):
    """Classes or numbers for sequences, or for each of their steps, by a recurrent network.

    ``problem_type``: `ProblemType.CLASSIFICATION` (with ``num_classes``) or LINEAR_REGRESSION;
    ``prediction_type``: `PredictionType`. Features are [batch, padded length, ...] for the columns of sequences, and
    [batch, ...] for those of the context; ``sequence_length``, [batch], says how long each is. States that a
    prediction has (``rnn_cell_state_0``, ...) may be features of the next: the network goes on from there.
    ``num_units``, ``cell_type``, ``dropout_keep_probabilities``: as of `construct_rnn_cell`.
    Raises `ValueError` for other types, and for classes whose number is not given.
    """

    def __init__(
        self,
        problem_type: int,
        prediction_type: int,
        sequence_feature_columns: Sequence[Any],
        context_feature_columns: Sequence[Any] | None = None,
        num_classes: int | None = None,
        num_units: Any = None,
        cell_type: Any = "basic_rnn",
        optimizer: Any = "SGD",
        learning_rate: Any = 0.1,
        predict_probabilities: bool = False,
        momentum: float | None = None,
        gradient_clipping_norm: Any = 5.0,
        dropout_keep_probabilities: Sequence[float] | None = None,
        model_dir: str | None = None,
        feature_engineering_fn: Any = None,
        config: Any = None,
    ) -> None:
        if prediction_type not in (PredictionType.SINGLE_VALUE, PredictionType.MULTIPLE_VALUE):
            raise ValueError(
                "prediction_type must be one of PredictionType.MULTIPLE_VALUE or "
                f"PredictionType.SINGLE_VALUE; got {prediction_type}"
            )
        if problem_type == ProblemType.LINEAR_REGRESSION:
            target = regression_target()
        elif problem_type == ProblemType.CLASSIFICATION:
            if not num_classes:
                raise ValueError("For CLASSIFICATION problem_type, num_classes must be specified.")
            target = multi_class_target(num_classes)
        else:
            raise ValueError(
                "problem_type must be either ProblemType.LINEAR_REGRESSION or "
                f"ProblemType.CLASSIFICATION; got {problem_type}"
            )
        check_feature_columns(sequence_feature_columns)
        if optimizer == "Momentum":
            optimizer = MomentumOptimizer(learning_rate, momentum)
        model_fn = dynamic_rnn_model_fn(
            cell_type,
            num_units,
            target,
            problem_type,
            prediction_type,
            optimizer,
            sequence_feature_columns,
            context_feature_columns,
            predict_probabilities,
            learning_rate,
            gradient_clipping_norm,
            dropout_keep_probabilities,
        )
        super().__init__(model_fn, model_dir, config, None, feature_engineering_fn)

"""What is added to the losses of adversarial networks: penalties, and sums with losses of other kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dataflow import losses as basic
from dataflow.autodiff.gradients import gradients
from dataflow.contrib.model_variables import get_trainable_variables
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.arithmetic import maximum
from dataflow.ops.elementary import abs_ as absolute, sqrt, square
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.identity import stop_gradient
from dataflow.ops.norms import global_norm
from dataflow.ops.random import random_uniform
from dataflow.ops.reduce import reduce_max, reduce_mean, reduce_sum
from dataflow.ops.summary import scalar
from dataflow.ops.tensor_values import constant_value
from dataflow.ops.variable_scope import variable_scope
from dataflow.ops.variable_store import AUTO_REUSE

_MEAN = basic.Reduction.SUM_BY_NONZERO_WEIGHTS


def wasserstein_gradient_penalty(
    real_data: TensorLike,
    generated_data: TensorLike,
    generator_inputs: Any,
    discriminator_fn: Callable[..., Any],
    discriminator_scope: Any,
    epsilon: float = 1e-10,
    target: float = 1.0,
    one_sided: bool = False,
    weights: TensorLike = 1.0,
    scope: Any = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """How far the discriminator's slope between real and generated data is from ``target``, squared.

    Data is of shape [batch, ...] of known rank (`ValueError`). A point between each pair is drawn; with
    ``one_sided`` slopes below the target cost nothing. Gulrajani et al., "Improved Training of
    Wasserstein GANs", 2017.
    """
    with name_scope(scope, "wasserstein_gradient_penalty", (real_data, generated_data)) as inner:
        real, generated = convert_to_tensor(real_data), convert_to_tensor(generated_data)
        for name, data in (("real_data", real), ("generated_data", generated)):
            if data.shape.ndims is None:
                raise ValueError(f"`{name}` can't have unknown rank.")
        differences = generated - real
        batch = differences.shape.as_list()[0]
        if batch is None:
            batch = array.shape(differences)[0]
        alpha = random_uniform(array.stack([batch] + [1] * (differences.shape.ndims - 1)))
        between = real + alpha * differences
        with (
            name_scope(""),  # the discriminator's nodes have the names that they have elsewhere
            variable_scope(discriminator_scope, "gpenalty_dscope", reuse=AUTO_REUSE),
        ):
            outputs = discriminator_fn(between, generator_inputs)
        if isinstance(outputs, tuple):
            outputs = outputs[0]
        slopes = gradients(outputs, between)[0]
        squares = reduce_sum(square(slopes), axis=list(range(1, slopes.shape.ndims)))
        away = sqrt(squares + epsilon) / target - 1.0
        if one_sided:
            away = maximum(0.0, away)
        penalty = basic.compute_weighted_loss(
            square(away), weights, inner, loss_collection, reduction
        )
        if add_summaries:
            scalar("gradient_penalty_loss", penalty)
        return penalty


def mutual_information_penalty(
    structured_generator_inputs: Sequence[Any],
    predicted_distributions: Sequence[Any],
    weights: TensorLike = 1.0,
    scope: Any = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """Minus the log-probability of the structured inputs under the predicted distributions.

    Raises `ValueError` where those are no list of as many distributions as inputs.
    """
    if not isinstance(predicted_distributions, (list, tuple)):
        raise ValueError(
            "`distributions` must be a list or tuple. Instead, found "
            f"{type(predicted_distributions)}."
        )
    for item in predicted_distributions:
        if not callable(getattr(item, "log_prob", None)):
            raise ValueError(
                f"`distributions` must be a list of `Distributions`. Instead, found {type(item)}."
            )
    if len(structured_generator_inputs) != len(predicted_distributions):
        raise ValueError(
            f"`structured_generator_inputs` length {len(structured_generator_inputs)} must be the "
            f"same as `predicted_distributions` length {len(predicted_distributions)}."
        )
    with name_scope(scope, "mutual_information_loss") as inner:
        logs = [
            reduce_mean(distribution.log_prob(noise))
            for distribution, noise in zip(
                predicted_distributions, structured_generator_inputs, strict=True
            )
        ]
        loss = -1 * basic.compute_weighted_loss(
            array.stack(logs), weights, inner, loss_collection, reduction
        )
        if add_summaries:
            scalar("mutual_information_penalty", loss)
    return loss


def _norm(tensors: Sequence[Any]) -> Any:
    """The norm of all tensors together, without overflow; 0.0 where all are None."""
    known = [tensor for tensor in tensors if tensor is not None]
    if not known:
        return 0.0
    largest = reduce_max(array.stack([reduce_max(absolute(tensor)) for tensor in known]))
    return largest * global_norm([tensor / largest for tensor in known])


def combine_adversarial_loss(
    main_loss: Any,
    adversarial_loss: Any,
    weight_factor: Any = None,
    gradient_ratio: Any = None,
    gradient_ratio_epsilon: float = 1e-6,
    variables: Sequence[Any] | None = None,
    scalar_summaries: bool = True,
    gradient_summaries: bool = True,
    scope: Any = None,
) -> Any:
    """``main_loss`` plus ``adversarial_loss`` with a weight, scalars.

    The weight is ``weight_factor``, or such that the norm of the main loss's gradients by ``variables``
    is ``gradient_ratio`` times that of the adversarial one's; both or none is a `ValueError`.
    """
    for loss in (main_loss, adversarial_loss):
        loss.shape.assert_is_compatible_with([])
    if weight_factor is None and gradient_ratio is None:
        raise ValueError("`weight_factor` and `gradient_ratio` cannot both be `None.`")
    if weight_factor is not None and gradient_ratio is not None:
        raise ValueError("`weight_factor` and `gradient_ratio` cannot both be specified.")
    by = get_trainable_variables() if variables is None else variables
    used = weight_factor if weight_factor is not None else gradient_ratio
    with name_scope(scope, "adversarial_loss", [main_loss, adversarial_loss]):
        if gradient_summaries or gradient_ratio is not None:
            main_norm = _norm(gradients(main_loss, by))
            adversarial_norm = _norm(gradients(adversarial_loss, by))
        if scalar_summaries:
            scalar("main_loss", main_loss)
            scalar("adversarial_loss", adversarial_loss)
        if gradient_summaries:
            scalar("main_loss_gradients", main_norm)
            scalar("adversarial_loss_gradients", adversarial_norm)
        if constant_value(convert_to_tensor(used)) == 0:
            return main_loss
        if weight_factor is not None:
            return main_loss + stop_gradient(weight_factor) * adversarial_loss
        weight = main_norm / (adversarial_norm + gradient_ratio_epsilon) / gradient_ratio
        scalar("adversarial_coefficient", weight)
        return main_loss + stop_gradient(weight) * adversarial_loss


def cycle_consistency_loss(
    data_x: TensorLike,
    reconstructed_data_x: TensorLike,
    data_y: TensorLike,
    reconstructed_data_y: TensorLike,
    scope: Any = None,
    add_summaries: bool = False,
) -> Any:
    """The mean difference, without its sign, of data and what both generators made of it."""
    with name_scope(scope, "cycle_consistency_loss"):
        of_x = basic.absolute_difference(data_x, reconstructed_data_x)
        of_y = basic.absolute_difference(data_y, reconstructed_data_y)
        loss = (of_x + of_y) / 2.0
        if add_summaries:
            scalar("cycle_consistency_loss_x2x", of_x)
            scalar("cycle_consistency_loss_y2y", of_y)
            scalar("cycle_consistency_loss", loss)
    return loss

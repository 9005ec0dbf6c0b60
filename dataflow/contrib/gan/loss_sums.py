"""The losses of whole models of ``tf.contrib.gan``: adversarial ones, penalties and regularization."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from dataflow import losses as basic
from dataflow.contrib.gan import losses
from dataflow.contrib.gan.losses import wargs
from dataflow.contrib.gan.namedtuples import (
    ACGANModel,
    CycleGANLoss,
    CycleGANModel,
    GANLoss,
    GANModel,
    InfoGANModel,
)
from dataflow.graph.tensor import Tensor
from dataflow.ops.assertions import assert_greater_equal
from dataflow.ops.graph_functions import control_dependencies, name_scope
from dataflow.ops.identity import identity
from dataflow.ops.reduce import reduce_mean, reduce_sum
from dataflow.ops.summary import scalar
from dataflow.ops.variable_scope import variable_scope

_STARGAN_GENERATOR_LOSS = losses.stargan_generator_loss_wrapper(wargs.wasserstein_generator_loss)
_STARGAN_DISCRIMINATOR_LOSS = losses.stargan_discriminator_loss_wrapper(
    wargs.wasserstein_discriminator_loss
)


def _checked(weight: Any, name: str) -> Any:
    """A weight that is not negative: a number is looked at now, a scalar tensor when it is computed."""
    if isinstance(weight, Tensor):
        weight.shape.assert_is_compatible_with([])
        with control_dependencies([assert_greater_equal(weight, 0.0)]):
            return identity(weight)
    if weight is not None and weight < 0:
        raise ValueError(f"`{name}` must be greater than 0. Instead, was {weight}")
    return weight


def _counts(weight: Any) -> bool:
    return isinstance(weight, Tensor) or (weight is not None and weight > 0)


def _taken_by(function: Callable[..., Any], values: dict[str, Any]) -> dict[str, Any]:
    """Those of the values that the function has arguments for."""
    found = inspect.signature(function).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in found.values()):
        return values
    return {name: value for name, value in values.items() if name in found}


def tensor_pool_adjusted_model(model: Any, tensor_pool_fn: Callable[..., Any]) -> Any:
    """``model`` whose generated data, with its inputs, came out of a pool of earlier data.

    Raises `ValueError` for a model of another kind than `GANModel`, `ACGANModel` and `InfoGANModel`.
    """
    if not isinstance(model, (GANModel, ACGANModel, InfoGANModel)):
        raise ValueError(f"Tensor pool does not support `model`: {type(model)}.")
    given = [model.generator_inputs, model.generated_data]
    if isinstance(model, InfoGANModel):
        given.append(model.structured_generator_inputs)
    inputs, generated, *structured = tensor_pool_fn(tuple(given))
    changed = {"generator_inputs": inputs, "generated_data": generated}
    network = model.discriminator_fn
    if isinstance(model, InfoGANModel):
        network = model.discriminator_and_aux_fn
    with variable_scope(model.discriminator_scope, reuse=True):
        outputs = network(generated, inputs)
    if isinstance(model, GANModel):
        changed["discriminator_gen_outputs"] = outputs
    else:
        changed["discriminator_gen_outputs"], further = outputs
        if isinstance(model, InfoGANModel):
            changed["structured_generator_inputs"] = structured[0]
            changed["predicted_distributions"] = further
        else:
            changed["discriminator_gen_classification_logits"] = further
    return model._replace(**changed)


def _regularization(scope: Any) -> Any:
    return basic.get_regularization_loss(scope.name) if scope else 0


def gan_loss(
    model: Any,
    generator_loss_fn: Callable[..., Any] = losses.wasserstein_generator_loss,
    discriminator_loss_fn: Callable[..., Any] = losses.wasserstein_discriminator_loss,
    gradient_penalty_weight: Any = None,
    gradient_penalty_epsilon: float = 1e-10,
    gradient_penalty_target: float = 1.0,
    gradient_penalty_one_sided: bool = False,
    mutual_information_penalty_weight: Any = None,
    aux_cond_generator_weight: Any = None,
    aux_cond_discriminator_weight: Any = None,
    tensor_pool_fn: Callable[..., Any] | None = None,
    reduction: str = basic.Reduction.SUM_BY_NONZERO_WEIGHTS,
    add_summaries: bool = True,
) -> GANLoss:
    """The losses of a model's two networks, each with the regularization of its scope.

    A weight that is given adds the gradient penalty (to the discriminator's loss), the mutual
    information (to both, of an `InfoGANModel`), and the classes' losses (of an `ACGANModel`); a negative
    weight, or one for a model of another kind, is a `ValueError`. With ``tensor_pool_fn``, as
    `features.tensor_pool`, the discriminator sees generated data of earlier steps.
    """
    penalty = _checked(gradient_penalty_weight, "gradient_penalty_weight")
    information = _checked(mutual_information_penalty_weight, "infogan_weight")
    of_generator = _checked(aux_cond_generator_weight, "aux_cond_generator_weight")
    of_discriminator = _checked(aux_cond_discriminator_weight, "aux_cond_discriminator_weight")
    if _counts(information) and not isinstance(model, InfoGANModel):
        raise ValueError(
            "When `mutual_information_penalty_weight` is provided, `model` must be an "
            f"`InfoGANModel`. Instead, was {type(model)}."
        )
    if (_counts(of_generator) or _counts(of_discriminator)) and not isinstance(model, ACGANModel):
        raise ValueError(
            "When `aux_cond_generator_weight` or `aux_cond_discriminator_weight` is provided, "
            f"`model` must be an `ACGANModel`. Instead, was {type(model)}."
        )
    pooled = tensor_pool_adjusted_model(model, tensor_pool_fn) if tensor_pool_fn else model
    options = {"reduction": reduction, "add_summaries": add_summaries}
    generator = generator_loss_fn(model, **_taken_by(generator_loss_fn, options))
    discriminator = discriminator_loss_fn(pooled, **_taken_by(discriminator_loss_fn, options))
    if _counts(penalty):
        discriminator += penalty * losses.wasserstein_gradient_penalty(
            pooled,
            epsilon=gradient_penalty_epsilon,
            target=gradient_penalty_target,
            one_sided=gradient_penalty_one_sided,
            **options,
        )
    if _counts(information):
        of_model = losses.mutual_information_penalty(model, **options)
        of_pool = of_model
        if tensor_pool_fn is not None:
            of_pool = losses.mutual_information_penalty(pooled, **options)
        generator += information * of_model
        discriminator += information * of_pool
    if _counts(of_generator):
        generator += of_generator * losses.acgan_generator_loss(model, **options)
    if _counts(of_discriminator):
        discriminator += of_discriminator * losses.acgan_discriminator_loss(pooled, **options)
    return GANLoss(
        generator + _regularization(model.generator_scope),
        discriminator + _regularization(model.discriminator_scope),
    )


def cyclegan_loss(
    model: CycleGANModel,
    generator_loss_fn: Callable[..., Any] = losses.least_squares_generator_loss,
    discriminator_loss_fn: Callable[..., Any] = losses.least_squares_discriminator_loss,
    cycle_consistency_loss_fn: Callable[..., Any] = losses.cycle_consistency_loss,
    cycle_consistency_loss_weight: Any = 10.0,
    **kwargs: Any,
) -> CycleGANLoss:
    """`gan_loss` of both directions, each generator's with the cycle's consistency added.

    ``kwargs`` are those of `gan_loss`. Raises `ValueError` for another model.
    """
    if not isinstance(model, CycleGANModel):
        raise ValueError(f"`model` must be a `CycleGANModel`. Instead, was {type(model)}.")
    cycle = cycle_consistency_loss_fn(model, add_summaries=kwargs.get("add_summaries", True))
    added = _checked(cycle_consistency_loss_weight, "cycle_consistency_loss_weight") * cycle

    def one_way(part: GANModel) -> GANLoss:
        loss = gan_loss(
            part,
            generator_loss_fn=generator_loss_fn,
            discriminator_loss_fn=discriminator_loss_fn,
            **kwargs,
        )
        return loss._replace(generator_loss=loss.generator_loss + added)

    with name_scope("cyclegan_loss_x2y"):
        x2y = one_way(model.model_x2y)
    with name_scope("cyclegan_loss_y2x"):
        y2x = one_way(model.model_y2x)
    return CycleGANLoss(x2y, y2x)


def stargan_loss(
    model: Any,
    generator_loss_fn: Callable[..., Any] = _STARGAN_GENERATOR_LOSS,
    discriminator_loss_fn: Callable[..., Any] = _STARGAN_DISCRIMINATOR_LOSS,
    gradient_penalty_weight: Any = 10.0,
    gradient_penalty_epsilon: float = 1e-10,
    gradient_penalty_target: float = 1.0,
    gradient_penalty_one_sided: bool = False,
    reconstruction_loss_fn: Callable[..., Any] = basic.absolute_difference,
    reconstruction_loss_weight: Any = 10.0,
    classification_loss_fn: Callable[..., Any] = basic.softmax_cross_entropy,
    classification_loss_weight: Any = 1.0,
    classification_one_hot: bool = True,
    add_summaries: bool = True,
) -> GANLoss:
    """The losses of a `StarGANModel`: adversarial, of its domains, and of what it reconstructs.

    ``classification_loss_fn(onehot_labels=, logits=)``; with ``classification_one_hot`` False its result
    is of shape [batch, domains].
    """

    def of_domains(labels: Any, logits: Any, name: str) -> Any:
        with name_scope(name):
            loss = classification_loss_fn(onehot_labels=labels, logits=logits)
            if not classification_one_hot:
                loss = reduce_sum(loss, axis=1)
            loss = reduce_mean(loss)
            if add_summaries:
                scalar(name, loss)
            return loss

    model.input_data_domain_label.shape.assert_has_rank(2)
    model.input_data_domain_label.shape[1:].assert_is_fully_defined()
    generator = generator_loss_fn(model, add_summaries=add_summaries)
    discriminator = discriminator_loss_fn(model, add_summaries=add_summaries)
    if _counts(gradient_penalty_weight):
        penalty = losses.stargan_gradient_penalty_wrapper(wargs.wasserstein_gradient_penalty)
        discriminator += gradient_penalty_weight * penalty(
            model,
            epsilon=gradient_penalty_epsilon,
            target=gradient_penalty_target,
            one_sided=gradient_penalty_one_sided,
            add_summaries=add_summaries,
        )
    reconstruction = reconstruction_loss_fn(model.input_data, model.reconstructed_data)
    generator += reconstruction * reconstruction_loss_weight
    if add_summaries:
        scalar("reconstruction_loss", reconstruction)
    generator += classification_loss_weight * of_domains(
        model.generated_data_domain_target,
        model.discriminator_generated_data_domain_predication,
        "generator_classification_loss",
    )
    discriminator += classification_loss_weight * of_domains(
        model.input_data_domain_label,
        model.discriminator_input_data_domain_predication,
        "discriminator_classification_loss",
    )
    return GANLoss(generator, discriminator)

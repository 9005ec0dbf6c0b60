"""The models of ``tf.contrib.gan``: a generator and a discriminator, made from their functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dataflow import dtypes
from dataflow.contrib.gan.namedtuples import (
    ACGANModel,
    CycleGANModel,
    GANModel,
    InfoGANModel,
    StarGANModel,
)
from dataflow.contrib.model_variables import get_trainable_variables
from dataflow.graph.conversion import convert_to_tensor
from dataflow.ops.concat_split import concat
from dataflow.ops.gather_scatter import one_hot
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.random import random_uniform
from dataflow.ops.variable_scope import variable_scope
from dataflow.ops.variable_store import AUTO_REUSE

GENERATOR, DISCRIMINATOR = "Generator", "Discriminator"


def tensors_of(value: Any) -> Any:
    """A tensor, or a list or dict of tensors, of what a program gives as a network's inputs."""
    if isinstance(value, (list, tuple)):
        return [convert_to_tensor(item) for item in value]
    if isinstance(value, dict):
        return {key: convert_to_tensor(item) for key, item in value.items()}
    return convert_to_tensor(value)


def _check_shapes(generated: Any, real: Any) -> None:
    if not generated.shape.is_compatible_with(real.shape):
        raise ValueError(
            f"Generator output shape ({generated.shape}) must be the same shape as real data "
            f"({real.shape})."
        )


def gan_model(
    generator_fn: Callable[..., Any],
    discriminator_fn: Callable[..., Any],
    real_data: Any,
    generator_inputs: Any,
    generator_scope: Any = GENERATOR,
    discriminator_scope: Any = DISCRIMINATOR,
    check_shapes: bool = True,
) -> GANModel:
    """The model of ``generator_fn(inputs)`` and ``discriminator_fn(data, inputs)``.

    ``real_data``: tensor of shape [batch, ...]; the generator makes data of the same shape, else a
    `ValueError` unless ``check_shapes`` is False. Both scopes may have been used before.
    """
    with variable_scope(generator_scope, reuse=AUTO_REUSE) as generator:
        generator_inputs = tensors_of(generator_inputs)
        generated = generator_fn(generator_inputs)
    with variable_scope(discriminator_scope, reuse=AUTO_REUSE) as discriminator:
        of_generated = discriminator_fn(generated, generator_inputs)
    with variable_scope(discriminator, reuse=True):
        real_data = tensors_of(real_data)
        of_real = discriminator_fn(real_data, generator_inputs)
    if check_shapes:
        _check_shapes(generated, real_data)
    return GANModel(
        generator_inputs,
        generated,
        get_trainable_variables(generator),
        generator,
        generator_fn,
        real_data,
        of_real,
        of_generated,
        get_trainable_variables(discriminator),
        discriminator,
        discriminator_fn,
    )


def infogan_model(
    generator_fn: Callable[..., Any],
    discriminator_fn: Callable[..., Any],
    real_data: Any,
    unstructured_generator_inputs: Sequence[Any],
    structured_generator_inputs: Sequence[Any],
    generator_scope: Any = GENERATOR,
    discriminator_scope: Any = DISCRIMINATOR,
) -> InfoGANModel:
    """A model that learns what its structured inputs mean (Chen et al., "InfoGAN", 2016).

    ``discriminator_fn`` returns its outputs, and a list of distributions: one for each structured
    input, else a `ValueError`. Inputs are lists of tensors of shape [batch, ...].
    """
    with variable_scope(generator_scope) as generator:
        unstructured = tensors_of(unstructured_generator_inputs)
        structured = tensors_of(structured_generator_inputs)
        inputs = unstructured + structured
        generated = generator_fn(inputs)
    with variable_scope(discriminator_scope) as discriminator:
        of_generated, predicted = discriminator_fn(generated, inputs)
    if not isinstance(predicted, (list, tuple)):
        raise ValueError(
            f"`predicted_distributions` must be a list. Instead, found {type(predicted)}."
        )
    if len(predicted) != len(structured):
        raise ValueError(
            f"Length of `predicted_distributions` {len(predicted)} must be the same as the length "
            f"of structured noise {len(structured)}."
        )
    with variable_scope(discriminator, reuse=True):
        real_data = convert_to_tensor(real_data)
        of_real, _ = discriminator_fn(real_data, inputs)
    _check_shapes(generated, real_data)
    return InfoGANModel(
        inputs,
        generated,
        get_trainable_variables(generator),
        generator,
        generator_fn,
        real_data,
        of_real,
        of_generated,
        get_trainable_variables(discriminator),
        discriminator,
        lambda data, conditioning: discriminator_fn(data, conditioning)[0],
        structured,
        predicted,
        discriminator_fn,
    )


def _outputs_and_classes(outputs: Any) -> tuple[Any, Any]:
    try:
        real_or_not, classes = outputs
    except (TypeError, ValueError):
        raise TypeError(
            "A discriminator function for ACGAN must output a tuple consisting of "
            "(discrimination logits, classification logits)."
        ) from None
    return real_or_not, classes


def acgan_model(
    generator_fn: Callable[..., Any],
    discriminator_fn: Callable[..., Any],
    real_data: Any,
    generator_inputs: Any,
    one_hot_labels: Any,
    generator_scope: Any = GENERATOR,
    discriminator_scope: Any = DISCRIMINATOR,
    check_shapes: bool = True,
) -> ACGANModel:
    """A model whose discriminator also classifies (Odena et al., "Conditional Image Synthesis", 2016).

    ``discriminator_fn`` returns a pair: its outputs, and logits of shape [batch, classes], else a
    `TypeError`; ``one_hot_labels``: tensor of shape [batch, classes].
    """
    with variable_scope(generator_scope) as generator:
        generator_inputs = tensors_of(generator_inputs)
        generated = generator_fn(generator_inputs)
    with variable_scope(discriminator_scope) as discriminator:
        with name_scope(f"{discriminator.name}/generated/"):
            of_generated, generated_classes = _outputs_and_classes(
                discriminator_fn(generated, generator_inputs)
            )
    with variable_scope(discriminator, reuse=True):
        with name_scope(f"{discriminator.name}/real/"):
            real_data = convert_to_tensor(real_data)
            of_real, real_classes = _outputs_and_classes(
                discriminator_fn(real_data, generator_inputs)
            )
    if check_shapes:
        _check_shapes(generated, real_data)
    return ACGANModel(
        generator_inputs,
        generated,
        get_trainable_variables(generator),
        generator,
        generator_fn,
        real_data,
        of_real,
        of_generated,
        get_trainable_variables(discriminator),
        discriminator,
        discriminator_fn,
        one_hot_labels,
        real_classes,
        generated_classes,
    )


def cyclegan_model(
    generator_fn: Callable[..., Any],
    discriminator_fn: Callable[..., Any],
    data_x: Any,
    data_y: Any,
    generator_scope: str = GENERATOR,
    discriminator_scope: str = DISCRIMINATOR,
    model_x2y_scope: str = "ModelX2Y",
    model_y2x_scope: str = "ModelY2X",
    check_shapes: bool = True,
) -> CycleGANModel:
    """Two models, one from ``data_x`` to data like ``data_y`` and one back (Zhu et al., 2017)."""

    def one_way(inputs: Any, real: Any, scope: str) -> GANModel:
        with variable_scope(scope):
            return gan_model(
                generator_fn,
                discriminator_fn,
                real_data=real,
                generator_inputs=inputs,
                generator_scope=generator_scope,
                discriminator_scope=discriminator_scope,
                check_shapes=check_shapes,
            )

    x2y = one_way(data_x, data_y, model_x2y_scope)
    y2x = one_way(data_y, data_x, model_y2x_scope)
    with variable_scope(y2x.generator_scope, reuse=True):
        reconstructed_x = y2x.generator_fn(x2y.generated_data)
    with variable_scope(x2y.generator_scope, reuse=True):
        reconstructed_y = x2y.generator_fn(y2x.generated_data)
    return CycleGANModel(x2y, y2x, reconstructed_x, reconstructed_y)


def stargan_model(
    generator_fn: Callable[..., Any],
    discriminator_fn: Callable[..., Any],
    input_data: Any,
    input_data_domain_label: Any,
    generator_scope: Any = GENERATOR,
    discriminator_scope: Any = DISCRIMINATOR,
) -> StarGANModel:
    """One generator between many domains (Choi et al., "StarGAN", 2017).

    ``generator_fn(data, labels)``; ``discriminator_fn(data, number_of_domains)`` returns its outputs
    and logits of domains. ``input_data_domain_label``: tensor, or a list of tensors to join, of shape
    [batch, domains], both known (`ValueError`); the target domains are drawn at random.
    """

    def joined(value: Any) -> Any:
        found = tensors_of(value)
        return concat(found, 0) if isinstance(found, list) else found

    data, labels = joined(input_data), joined(input_data_domain_label)
    labels.shape.assert_has_rank(2)
    labels.shape.assert_is_fully_defined()
    batch, domains = labels.shape.as_list()
    with variable_scope(generator_scope) as generator:
        drawn = random_uniform([batch], minval=0, maxval=domains, dtype=dtypes.int32)
        target = one_hot(drawn, domains)
        generated = generator_fn(data, target)
    with variable_scope(generator, reuse=True):
        reconstructed = generator_fn(generated, labels)
    with variable_scope(discriminator_scope) as discriminator:
        generated_source, generated_domain = discriminator_fn(generated, domains)
    with variable_scope(discriminator, reuse=True):
        input_source, input_domain = discriminator_fn(data, domains)
    return StarGANModel(
        data,
        labels,
        generated,
        target,
        reconstructed,
        input_source,
        generated_source,
        input_domain,
        generated_domain,
        get_trainable_variables(generator),
        generator,
        generator_fn,
        get_trainable_variables(discriminator),
        discriminator,
        discriminator_fn,
    )

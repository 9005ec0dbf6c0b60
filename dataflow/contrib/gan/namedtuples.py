"""What the functions of ``tf.contrib.gan`` give each other: models, losses, and operations that train."""

from __future__ import annotations

from typing import Any, NamedTuple


class GANModel(NamedTuple):
    """A generator and a discriminator with their inputs, outputs, variables and scopes.

    ``generator_inputs`` is a tensor, or a list or dict of them; data is of shape [batch, ...].
    """

    generator_inputs: Any
    generated_data: Any
    generator_variables: Any
    generator_scope: Any
    generator_fn: Any
    real_data: Any
    discriminator_real_outputs: Any
    discriminator_gen_outputs: Any
    discriminator_variables: Any
    discriminator_scope: Any
    discriminator_fn: Any


class InfoGANModel(NamedTuple):
    """A `GANModel` whose discriminator also predicts distributions of the structured inputs."""

    generator_inputs: Any
    generated_data: Any
    generator_variables: Any
    generator_scope: Any
    generator_fn: Any
    real_data: Any
    discriminator_real_outputs: Any
    discriminator_gen_outputs: Any
    discriminator_variables: Any
    discriminator_scope: Any
    discriminator_fn: Any
    structured_generator_inputs: Any
    predicted_distributions: Any
    discriminator_and_aux_fn: Any


class ACGANModel(NamedTuple):
    """A `GANModel` whose discriminator also classifies: logits of shape [batch, classes]."""

    generator_inputs: Any
    generated_data: Any
    generator_variables: Any
    generator_scope: Any
    generator_fn: Any
    real_data: Any
    discriminator_real_outputs: Any
    discriminator_gen_outputs: Any
    discriminator_variables: Any
    discriminator_scope: Any
    discriminator_fn: Any
    one_hot_labels: Any
    discriminator_real_classification_logits: Any
    discriminator_gen_classification_logits: Any


class CycleGANModel(NamedTuple):
    """Two `GANModel`, from x to y and back, and what comes back after both generators."""

    model_x2y: Any
    model_y2x: Any
    reconstructed_x: Any
    reconstructed_y: Any


class StarGANModel(NamedTuple):
    """A generator from any domain to any other, whose discriminator predicts the domain too.

    Labels of domains are of shape [batch, domains].
    """

    input_data: Any
    input_data_domain_label: Any
    generated_data: Any
    generated_data_domain_target: Any
    reconstructed_data: Any
    discriminator_input_data_source_predication: Any
    discriminator_generated_data_source_predication: Any
    discriminator_input_data_domain_predication: Any
    discriminator_generated_data_domain_predication: Any
    generator_variables: Any
    generator_scope: Any
    generator_fn: Any
    discriminator_variables: Any
    discriminator_scope: Any
    discriminator_fn: Any


class GANLoss(NamedTuple):
    """The losses of the two networks, scalars."""

    generator_loss: Any
    discriminator_loss: Any


class CycleGANLoss(NamedTuple):
    """The `GANLoss` of each direction of a `CycleGANModel`."""

    loss_x2y: Any
    loss_y2x: Any


class GANTrainOps(NamedTuple):
    """What trains each network, what counts a step, and the hooks that both need."""

    generator_train_op: Any
    discriminator_train_op: Any
    global_step_inc_op: Any
    train_hooks: Any = ()


class GANTrainSteps(NamedTuple):
    """How many steps each network makes while the global step grows by one."""

    generator_train_steps: int
    discriminator_train_steps: int

"""The operations that train the two networks of a model of ``tf.contrib.gan``, and the loop that runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dataflow.contrib.gan.namedtuples import CycleGANModel, GANTrainOps, GANTrainSteps
from dataflow.contrib.slim.learning import train_step
from dataflow.contrib.training import create_train_op
from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.initializers import zeros_initializer
from dataflow.ops.variable_scope import get_variable
from dataflow.train.global_step import get_or_create_global_step
from dataflow.train.monitored_session import MonitoredTrainingSession
from dataflow.train.session_run_hook import SessionRunHook
from dataflow.train.sync_replicas import SyncReplicasOptimizer

_ONE_EACH = GANTrainSteps(1, 1)
#: Takes `GANTrainOps`, gives the hooks that run them.
GetHooks = Callable[[GANTrainOps], list[Any]]


def _update_ops(
    given: Iterable[Any] | None, scopes: Sequence[str], check_for_unused_ops: bool
) -> list[list[Any]]:
    """The update operations of each scope; one that is in none is a `ValueError` if so asked."""
    graph = default_graph()
    wanted = list(graph.get_collection(GraphKeys.UPDATE_OPS) if given is None else given)
    of_scopes = [graph.get_collection(GraphKeys.UPDATE_OPS, scope) for scope in scopes]
    if check_for_unused_ops:
        unused = [op for op in wanted if not any(op in found for found in of_scopes)]
        if unused:
            raise ValueError(f"There are unused update ops: {unused}")
    return [[op for op in dict.fromkeys(found) if op in wanted] for found in of_scopes]


def _train_network(
    name: str,
    loss: Any,
    optimizer: Any,
    variables: Sequence[Any],
    update_ops: list[Any],
    hooks: list[Any],
    is_chief: bool,
    **kwargs: Any,
) -> Any:
    """The operation that trains one network; workers in step get a hook and a step of their own."""
    step = None
    if isinstance(optimizer, SyncReplicasOptimizer):
        global_step = get_or_create_global_step()
        step = get_variable(
            f"dummy_global_step_{name}",
            shape=[],
            dtype=global_step.dtype.base_dtype,
            initializer=zeros_initializer(),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES],
        )
        update_ops = [*update_ops, step.assign(global_step)]
        hooks.append(optimizer.make_session_run_hook(is_chief))
    with name_scope(f"{name}_train"):
        return create_train_op(
            loss,
            optimizer,
            variables_to_train=variables,
            global_step=step,
            update_ops=update_ops,
            **kwargs,
        )


def gan_train_ops(
    model: Any,
    loss: Any,
    generator_optimizer: Any,
    discriminator_optimizer: Any,
    check_for_unused_update_ops: bool = True,
    is_chief: bool = True,
    **kwargs: Any,
) -> GANTrainOps:
    """The operations that train each network by its loss, and the one that counts a step.

    ``kwargs`` are those of `tf.contrib.training.create_train_op`. Each network runs the update
    operations of its scope; one that is in neither scope is a `ValueError`, unless
    ``check_for_unused_update_ops`` is False. Of a `CycleGANModel` each is a pair of operations.
    """
    if isinstance(model, CycleGANModel):
        common: dict[str, Any] = {
            "generator_optimizer": generator_optimizer,
            "discriminator_optimizer": discriminator_optimizer,
            "check_for_unused_update_ops": check_for_unused_update_ops,
            "is_chief": is_chief,
            **kwargs,
        }
        with name_scope("cyclegan_x2y_train"):
            x2y = gan_train_ops(model.model_x2y, loss.loss_x2y, **common)
        with name_scope("cyclegan_y2x_train"):
            y2x = gan_train_ops(model.model_y2x, loss.loss_y2x, **common)
        return GANTrainOps(
            (x2y.generator_train_op, y2x.generator_train_op),
            (x2y.discriminator_train_op, y2x.discriminator_train_op),
            get_or_create_global_step().assign_add(1),
        )
    counted = get_or_create_global_step().assign_add(1)
    of_generator, of_discriminator = _update_ops(
        kwargs.pop("update_ops", None),
        [model.generator_scope.name, model.discriminator_scope.name],
        check_for_unused_update_ops,
    )
    hooks: list[Any] = []
    generator = _train_network(
        "generator",
        loss.generator_loss,
        generator_optimizer,
        model.generator_variables,
        of_generator,
        hooks,
        is_chief,
        **kwargs,
    )
    discriminator = _train_network(
        "discriminator",
        loss.discriminator_loss,
        discriminator_optimizer,
        model.discriminator_variables,
        of_discriminator,
        hooks,
        is_chief,
        **kwargs,
    )
    return GANTrainOps(generator, discriminator, counted, hooks)


class RunTrainOpsHook(SessionRunHook):
    """Runs ``train_ops``, an operation or a list of them, ``train_steps`` times before each run."""

    def __init__(self, train_ops: Any, train_steps: int) -> None:
        self._train_ops = train_ops if isinstance(train_ops, (list, tuple)) else [train_ops]
        self._train_steps = train_steps

    def before_run(self, run_context: Any) -> None:
        """Run the operations."""
        for _ in range(self._train_steps):
            run_context.session.run(self._train_ops)


def get_sequential_train_hooks(train_steps: GANTrainSteps = _ONE_EACH) -> GetHooks:
    """What makes hooks that train the generator, and then the discriminator."""

    def hooks(train_ops: GANTrainOps) -> list[Any]:
        return [
            RunTrainOpsHook(train_ops.generator_train_op, train_steps.generator_train_steps),
            RunTrainOpsHook(
                train_ops.discriminator_train_op, train_steps.discriminator_train_steps
            ),
            *train_ops.train_hooks,
        ]

    return hooks


def get_joint_train_hooks(train_steps: GANTrainSteps = _ONE_EACH) -> GetHooks:
    """What makes hooks that train both networks in one run, then the one that has steps left."""
    both = min(train_steps)

    def hooks(train_ops: GANTrainOps) -> list[Any]:
        generator, discriminator = train_ops.generator_train_op, train_ops.discriminator_train_op
        return [
            RunTrainOpsHook([generator, discriminator], both),
            RunTrainOpsHook(generator, train_steps.generator_train_steps - both),
            RunTrainOpsHook(discriminator, train_steps.discriminator_train_steps - both),
            *train_ops.train_hooks,
        ]

    return hooks


_SEQUENTIAL = get_sequential_train_hooks()


def gan_train(
    train_ops: GANTrainOps,
    logdir: str | None,
    get_hooks_fn: GetHooks = _SEQUENTIAL,
    master: str = "",
    is_chief: bool = True,
    scaffold: Any = None,
    hooks: Iterable[Any] | None = None,
    chief_only_hooks: Any = None,
    save_checkpoint_secs: float | None = 600,
    save_summaries_steps: int | None = 100,
    config: Any = None,
) -> Any:
    """Train within a `MonitoredTrainingSession` until a hook stops it; returns the last global step.

    ``logdir``: the folder of checkpoints and summaries; None needs ``save_checkpoint_secs`` (seconds)
    and ``save_summaries_steps`` None too (`ValueError`).
    """
    if logdir is None and is_chief:
        if save_summaries_steps:
            raise ValueError("logdir cannot be None when save_summaries_steps is not None")
        if save_checkpoint_secs:
            raise ValueError("logdir cannot be None when save_checkpoint_secs is not None")
    with MonitoredTrainingSession(
        master=master,
        is_chief=is_chief,
        checkpoint_dir=logdir,
        scaffold=scaffold,
        hooks=[*(hooks or ()), *get_hooks_fn(train_ops)],
        chief_only_hooks=chief_only_hooks,
        save_checkpoint_secs=save_checkpoint_secs,
        save_summaries_steps=save_summaries_steps,
        config=config,
    ) as session:
        step = None
        while not session.should_stop():
            step = session.run(train_ops.global_step_inc_op)
    return step


def get_sequential_train_steps(train_steps: GANTrainSteps = _ONE_EACH) -> Callable[..., Any]:
    """A ``train_step_fn`` for `slim.learning.train`: the generator's steps, then the discriminator's."""

    def step(
        session: Any, train_ops: GANTrainOps, global_step: Any, train_step_kwargs: dict[str, Any]
    ) -> tuple[Any, Any]:
        options = dict(train_step_kwargs)
        stop = options.pop("should_stop", None)
        total = 0
        for train_op, times in (
            (train_ops.generator_train_op, train_steps.generator_train_steps),
            (train_ops.discriminator_train_op, train_steps.discriminator_train_steps),
        ):
            for _ in range(times):
                total += train_step(session, train_op, global_step, options)[0]
        session.run(train_ops.global_step_inc_op)
        return total, False if stop is None else session.run(stop)

    return step

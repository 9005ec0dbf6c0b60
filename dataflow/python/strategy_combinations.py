"""``tensorflow.python.distribute.combinations`` and ``strategy_combinations``: tests once for each strategy.

A combination that needs more GPUs than there are, or a TPU, is skipped.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dataflow import train
from dataflow.distribute import MirroredStrategy, OneDeviceStrategy
from dataflow.distribute.strategies import CentralStorageStrategy, TPUStrategy
from dataflow.distribute.strategy import default_strategy as default
from dataflow.keras.moment_optimizers import Adam
from dataflow.keras.optimizer_rules import SGD, Adagrad, RMSprop
from dataflow.python import test_combinations
from dataflow.python.eager import context
from dataflow.python.test_combinations import (
    EagerGraphCombination,
    NamedObject as NamedObject,
    OptionalParameter,
    ParameterModifier,
    TestCombination,
    TFVersionCombination,
    combine as combine,
    times as times,
)

__all__ = [
    "GPUCombination",
    "NamedDistribution",
    "NamedGPUCombination",
    "NamedObject",
    "NamedTPUCombination",
    "TPUCombination",
    "combine",
    "generate",
    "times",
]


class NamedDistribution:
    """A strategy that a test is run with, made anew for each, and the name that it has in the test's name."""

    def __init__(
        self,
        name: str,
        distribution_fn: Callable[[], Any],
        required_gpus: int | None = None,
        required_tpu: bool = False,
    ) -> None:
        self._name, self._distribution_fn = name, distribution_fn
        self.required_gpus, self.required_tpu = required_gpus, required_tpu

    @property
    def strategy(self) -> Any:
        """A new strategy."""
        return self._distribution_fn()

    def __repr__(self) -> str:
        return self._name


class _Strategy(ParameterModifier):
    """The test gets the strategy itself."""

    def modified_arguments(
        self, kwargs: dict[str, Any], requested_parameters: Any
    ) -> dict[str, Any]:
        """A strategy for each `NamedDistribution`."""
        return {k: v.strategy for k, v in kwargs.items() if isinstance(v, NamedDistribution)}


class NamedGPUCombination(TestCombination):
    """``required_gpus``, or what a `NamedDistribution` needs: skipped where there are fewer."""

    def should_execute_combination(self, kwargs: dict[str, Any]) -> tuple[bool, str | None]:
        """Whether there are as many GPUs. Raises `ValueError` for strategies beside ``required_gpus``."""
        strategies = [v for v in kwargs.values() if isinstance(v, NamedDistribution)]
        wanted = kwargs.get("required_gpus")
        if strategies and wanted:
            raise ValueError(
                "Do not use `required_gpus` and arguments of type NamedDistribution together."
            )
        needed = max([int(wanted or 0), *(s.required_gpus or 0 for s in strategies)])
        found = context.num_gpus()
        if found < needed:
            return False, f"Only {found} of {needed} required GPUs are available."
        return True, None

    def parameter_modifiers(self) -> list[ParameterModifier]:
        """A test need not have the parameter."""
        return [OptionalParameter("required_gpus")]


class GPUCombination(NamedGPUCombination):
    """`NamedGPUCombination`, with strategies for `NamedDistribution`."""

    def parameter_modifiers(self) -> list[ParameterModifier]:
        """The strategies, and what a test need not have."""
        return [_Strategy(), *super().parameter_modifiers()]


class NamedTPUCombination(TestCombination):
    """``required_tpu`` or ``required_tpus``: always skipped, as there are no TPUs here."""

    def should_execute_combination(self, kwargs: dict[str, Any]) -> tuple[bool, str | None]:
        """Whether no TPU is needed. Raises `ValueError` where it is said twice."""
        strategies = [v for v in kwargs.values() if isinstance(v, NamedDistribution)]
        names = [name for name in ("required_tpus", "required_tpu") if name in kwargs]
        if len(names) > 1:
            raise ValueError("Give `required_tpus` or `required_tpu`, not both.")
        wanted = any(kwargs[name] for name in names)
        if strategies and wanted:
            raise ValueError(
                "Do not use `required_tpus` and arguments of type NamedDistribution together."
            )
        if wanted or any(s.required_tpu for s in strategies):
            return False, "Test requires a TPU, but it's not available."
        return True, None

    def parameter_modifiers(self) -> list[ParameterModifier]:
        """A test need not have the parameters."""
        return [OptionalParameter("required_tpus"), OptionalParameter("required_tpu")]


class TPUCombination(NamedTPUCombination):
    """`NamedTPUCombination`, with strategies for `NamedDistribution`."""

    def parameter_modifiers(self) -> list[ParameterModifier]:
        """The strategies, and what a test need not have."""
        return [_Strategy(), *super().parameter_modifiers()]


generate = functools.partial(
    test_combinations.generate,
    test_combinations=(
        EagerGraphCombination(),
        TFVersionCombination(),
        GPUCombination(),
        TPUCombination(),
    ),
)


def _mirrored(name: str, *devices: str) -> NamedDistribution:
    gpus = sum("gpu" in device for device in devices)
    return NamedDistribution(name, lambda: MirroredStrategy(list(devices)), gpus or None)


def _one(name: str, device: str) -> NamedDistribution:
    return NamedDistribution(
        name, lambda: OneDeviceStrategy(device), 1 if "gpu" in device else None
    )


def _tpu(name: str) -> NamedDistribution:
    return NamedDistribution(name, TPUStrategy, required_tpu=True)


default_strategy = NamedDistribution("Default", default)
one_device_strategy = _one("OneDeviceCPU", "/cpu:0")
one_device_strategy_gpu = _one("OneDeviceGPU", "/gpu:0")
tpu_strategy = _tpu("TPU")
tpu_strategy_one_step = _tpu("TPUOneStep")
tpu_strategy_one_core = _tpu("TPUOneCore")
tpu_strategy_one_step_one_core = _tpu("TPUOneStepOneCore")
mirrored_strategy_with_one_cpu = _mirrored("Mirrored1CPU", "/cpu:0")
mirrored_strategy_with_one_gpu = _mirrored("Mirrored1GPU", "/gpu:0")
mirrored_strategy_with_gpu_and_cpu = _mirrored("MirroredCPUAndGPU", "/gpu:0", "/cpu:0")
mirrored_strategy_with_two_gpus = _mirrored("Mirrored2GPUs", "/gpu:0", "/gpu:1")
central_storage_strategy_with_two_gpus = NamedDistribution(
    "CentralStorage2GPUs", lambda: CentralStorageStrategy(["/gpu:0", "/gpu:1"]), 2
)
central_storage_strategy_with_gpu_and_cpu = NamedDistribution(
    "CentralStorageCPUAndGPU", lambda: CentralStorageStrategy(["/gpu:0", "/cpu:0"]), 1
)

gradient_descent_optimizer_v1_fn = NamedObject(
    "GradientDescentV1", lambda: train.GradientDescentOptimizer(0.2)
)
adagrad_optimizer_v1_fn = NamedObject("AdagradV1", lambda: train.AdagradOptimizer(0.001))
adam_optimizer_v1_fn = NamedObject("AdamV1", lambda: train.AdamOptimizer(0.001, epsilon=1))
rmsprop_optimizer_v1_fn = NamedObject("RmsPropV1", lambda: train.RMSPropOptimizer(0.001))
optimizers_v1 = [gradient_descent_optimizer_v1_fn, adagrad_optimizer_v1_fn]

gradient_descent_optimizer_keras_v2_fn = NamedObject("GradientDescentKerasV2", lambda: SGD(0.2))
adagrad_optimizer_keras_v2_fn = NamedObject("AdagradKerasV2", lambda: Adagrad(0.001))
adam_optimizer_keras_v2_fn = NamedObject("AdamKerasV2", lambda: Adam(0.001, epsilon=1.0))
rmsprop_optimizer_keras_v2_fn = NamedObject("RmsPropKerasV2", lambda: RMSprop(0.001))
optimizers_v2 = [gradient_descent_optimizer_keras_v2_fn, adagrad_optimizer_keras_v2_fn]
optimizers_v1_and_v2 = optimizers_v1 + optimizers_v2

graph_and_eager_modes = ["graph", "eager"]
_several = [
    one_device_strategy,
    mirrored_strategy_with_gpu_and_cpu,
    mirrored_strategy_with_two_gpus,
]
_minus_default_and_tpu = [
    one_device_strategy,
    one_device_strategy_gpu,
    mirrored_strategy_with_gpu_and_cpu,
    mirrored_strategy_with_two_gpus,
]
strategies_minus_tpu = [default_strategy, *_minus_default_and_tpu]
tpu_strategies = [tpu_strategy, tpu_strategy_one_step]


def distributions_and_v1_optimizers() -> list[dict[str, Any]]:
    """Several strategies with the optimizers of `tf.train`."""
    return combine(distribution=_several, optimizer_fn=optimizers_v1)


def distributions_and_v2_optimizers() -> list[dict[str, Any]]:
    """Several strategies with the optimizers of `tf.keras`."""
    return combine(distribution=_several, optimizer_fn=optimizers_v2)


def distributions_and_v1_and_v2_optimizers() -> list[dict[str, Any]]:
    """Several strategies with both kinds of optimizers."""
    return combine(distribution=_several, optimizer_fn=optimizers_v1_and_v2)


def strategy_minus_tpu_combinations() -> list[dict[str, Any]]:
    """All strategies but TPUs', in both modes."""
    return combine(distribution=strategies_minus_tpu, mode=graph_and_eager_modes)


def tpu_strategy_combinations() -> list[dict[str, Any]]:
    """TPUs' strategies, in a graph."""
    return combine(distribution=tpu_strategies, mode=["graph"])


def all_strategy_combinations() -> list[dict[str, Any]]:
    """All strategies."""
    return strategy_minus_tpu_combinations() + tpu_strategy_combinations()


def all_strategy_minus_default_and_tpu_combinations() -> list[dict[str, Any]]:
    """All strategies but the default one and TPUs', in both modes."""
    return combine(distribution=_minus_default_and_tpu, mode=graph_and_eager_modes)


def all_strategy_combinations_minus_default() -> list[dict[str, Any]]:
    """All strategies but the default one."""
    return all_strategy_minus_default_and_tpu_combinations() + tpu_strategy_combinations()

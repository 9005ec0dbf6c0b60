"""`tf.keras.optimizers.schedules`: learning rates that follow the number of steps."""

from __future__ import annotations

from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.ops.math import cast
from dataflow.train import learning_rate_decay

__all__ = ["ExponentialDecay", "InverseTimeDecay", "LearningRateSchedule"]
__all__ += ["PiecewiseConstantDecay", "PolynomialDecay", "deserialize", "serialize"]


class LearningRateSchedule:
    """Define ``__call__(step)``, which returns the rate as a tensor, and ``get_config``."""

    def __call__(self, step: Any) -> Any:
        raise NotImplementedError("Learning rate schedule must override __call__")

    def get_config(self) -> dict[str, Any]:
        """The arguments."""
        raise NotImplementedError("Learning rate schedule must override get_config")

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LearningRateSchedule:
        """The schedule of a config."""
        return cls(**config)


class _Decay(LearningRateSchedule):
    """One of `tf.train`'s decays with its arguments, the step apart."""

    _function: Any

    def _keep(self, arguments: dict[str, Any]) -> None:
        """Keeps ``locals()`` of ``__init__``."""
        self._settings = {k: v for k, v in arguments.items() if k != "self"}
        self._first = self._settings.pop("initial_learning_rate")

    def __call__(self, step: Any) -> Any:
        return type(self)._function(self._first, step, **self._settings)

    def get_config(self) -> dict[str, Any]:
        return {"initial_learning_rate": self._first, **self._settings}


class _RateDecay(_Decay):
    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        decay_rate: Any,
        staircase: bool = False,
        name: str | None = None,
    ) -> None:
        self._keep(locals())


class ExponentialDecay(_RateDecay):
    """``initial_learning_rate * decay_rate ** (step / decay_steps)``; in steps if ``staircase``."""

    _function = staticmethod(learning_rate_decay.exponential_decay.of_now)


class InverseTimeDecay(_RateDecay):
    """``initial_learning_rate / (1 + decay_rate * step / decay_steps)``."""

    _function = staticmethod(learning_rate_decay.inverse_time_decay.of_now)


class PolynomialDecay(_Decay):
    """From ``initial_learning_rate`` to ``end_learning_rate`` in ``decay_steps`` steps."""

    _function = staticmethod(learning_rate_decay.polynomial_decay.of_now)

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        end_learning_rate: Any = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        name: str | None = None,
    ) -> None:
        self._keep(locals())


class PiecewiseConstantDecay(LearningRateSchedule):
    """``values[i]`` up to step ``boundaries[i]``, the last value after them."""

    def __init__(self, boundaries: Any, values: Any, name: str | None = None) -> None:
        if len(boundaries) != len(values) - 1:
            raise ValueError(
                "The length of boundaries should be 1 less than the length of values; got "
                f"{len(boundaries)} and {len(values)}."
            )
        self._settings: dict[str, Any] = {
            "boundaries": list(boundaries),
            "values": list(values),
            "name": name,
        }

    def __call__(self, step: Any) -> Any:
        step = convert_to_tensor(step)
        settings = dict(self._settings)
        settings["boundaries"] = [cast(b, step.dtype) for b in settings["boundaries"]]
        return learning_rate_decay.piecewise_constant.of_now(step, **settings)

    def get_config(self) -> dict[str, Any]:
        return dict(self._settings)


class CosineDecay(_Decay):
    """Half a cosine from ``initial_learning_rate`` to ``alpha`` times it (Loshchilov, Hutter 2016)."""

    _function = staticmethod(learning_rate_decay.cosine_decay.of_now)

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        alpha: float = 0.0,
        name: str | None = None,
    ) -> None:
        self._keep(locals())


class CosineDecayRestarts(_Decay):
    """`CosineDecay` again and again, ``t_mul`` times longer and from ``m_mul`` times the rate."""

    _function = staticmethod(learning_rate_decay.cosine_decay_restarts.of_now)

    def __init__(
        self,
        initial_learning_rate: Any,
        first_decay_steps: Any,
        t_mul: float = 2.0,
        m_mul: float = 1.0,
        alpha: float = 0.0,
        name: str | None = None,
    ) -> None:
        self._keep(locals())


class LinearCosineDecay(_Decay):
    """A straight line times a cosine (Bello et al. 2017)."""

    _function = staticmethod(learning_rate_decay.linear_cosine_decay.of_now)

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        num_periods: float = 0.5,
        alpha: float = 0.0,
        beta: float = 0.001,
        name: str | None = None,
    ) -> None:
        self._keep(locals())


class NoisyLinearCosineDecay(_Decay):
    """`LinearCosineDecay` with noise, whose variance falls with the steps."""

    _function = staticmethod(learning_rate_decay.noisy_linear_cosine_decay.of_now)

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        initial_variance: float = 1.0,
        variance_decay: float = 0.55,
        num_periods: float = 0.5,
        alpha: float = 0.0,
        beta: float = 0.001,
        name: str | None = None,
    ) -> None:
        self._keep(locals())


_CLASSES: dict[str, Any] = {
    c.__name__: c
    for c in (ExponentialDecay, InverseTimeDecay, PolynomialDecay, PiecewiseConstantDecay)
}
_CLASSES.update(
    (c.__name__, c)
    for c in (CosineDecay, CosineDecayRestarts, LinearCosineDecay, NoisyLinearCosineDecay)
)


def serialize(learning_rate_schedule: Any) -> dict[str, Any]:
    """The schedule as JSON can hold it."""
    from dataflow.layers.serialization import serialize as as_config

    return as_config(learning_rate_schedule)  # type: ignore[no-any-return]


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The schedule that `serialize` described."""
    from dataflow.layers.serialization import custom_object_scope, deserialize as make

    with custom_object_scope(custom_objects or {}):
        return make("learning rate schedule", config, _CLASSES)

"""`tf.data.Options`: how a dataset is computed, with the attributes of TensorFlow 1.14 and 1.15."""

from __future__ import annotations

import enum
from typing import Any


class AutoShardPolicy(enum.IntEnum):
    """`tf.data.experimental.AutoShardPolicy`: how a dataset is shared out to workers."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class ExternalStatePolicy(enum.Enum):
    """`tf.data.experimental.ExternalStatePolicy`: what a saved iterator does about state elsewhere."""

    WARN = 0
    IGNORE = 1
    FAIL = 2


class _Group:
    """Attributes of fixed names, None until they are set; an unknown name is an `AttributeError`."""

    _names: tuple[str, ...] = ()
    #: What the values of some of them must be.
    _kinds: dict[str, type] = {}

    def __init__(self) -> None:
        for name in self._names:
            object.__setattr__(self, name, None)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._names:
            raise AttributeError(
                f"Cannot set the property {name!r} on {type(self).__name__}; there are "
                f"{', '.join(self._names)}."
            )
        kind = self._kinds.get(name)
        if kind is not None and not isinstance(value, kind):
            raise TypeError(f"Property {name!r} must be of type {kind.__name__}, got: {value!r}")
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


class MapVectorizationOptions(_Group):
    """Of `OptimizationOptions.map_vectorization`: whether maps are computed for whole batches."""

    _names = ("enabled", "use_choose_fastest")


class StatsOptions(_Group):
    """`Options.experimental_stats`: what to measure of a dataset. It is kept, and has no effect."""

    _names = ("aggregator", "counter_prefix", "latency_all_edges", "prefix")


class OptimizationOptions(_Group):
    """`tf.data.experimental.OptimizationOptions`: which rewrites of a dataset's graph are applied."""

    _names = (
        "apply_default_optimizations",
        "autotune",
        "autotune_buffers",
        "autotune_cpu_budget",
        "filter_fusion",
        "filter_with_random_uniform_fusion",
        "hoist_random_uniform",
        "map_and_batch_fusion",
        "map_and_filter_fusion",
        "map_fusion",
        "map_parallelization",
        "map_vectorization",
        "noop_elimination",
        "parallel_batch",
        "shuffle_and_repeat_fusion",
    )

    _kinds = {
        **dict.fromkeys(_names, bool),
        "autotune_cpu_budget": int,
        "map_vectorization": MapVectorizationOptions,
    }

    def __init__(self) -> None:
        super().__init__()
        self.map_vectorization = MapVectorizationOptions()


class ThreadingOptions(_Group):
    """`tf.data.experimental.ThreadingOptions`: how many threads a dataset has."""

    _names = ("max_intra_op_parallelism", "private_threadpool_size")
    _kinds = dict.fromkeys(_names, int)


class DistributeOptions(_Group):
    """`tf.data.experimental.DistributeOptions`: how a dataset is shared out to workers."""

    _names = ("auto_shard", "auto_shard_policy", "num_devices")


class Options(_Group):
    """Options for `Dataset.with_options`.

    They never change the elements here: elements come in order, and rewrites are the session's.
    """

    _names = (
        "experimental_allow_stateful",
        "experimental_deterministic",
        "experimental_distribute",
        "experimental_external_state_policy",
        "experimental_optimization",
        "experimental_slack",
        "experimental_stateful_whitelist",
        "experimental_stats",
        "experimental_threading",
    )
    _kinds = {
        "experimental_deterministic": bool,
        "experimental_slack": bool,
        "experimental_optimization": OptimizationOptions,
        "experimental_threading": ThreadingOptions,
    }

    def __init__(self) -> None:
        super().__init__()
        self.experimental_distribute = DistributeOptions()
        self.experimental_optimization = OptimizationOptions()
        self.experimental_stats = StatsOptions()
        self.experimental_threading = ThreadingOptions()

    def merge(self, options: Options) -> Options:
        """New options with the settings of both; where both set one, ``options`` wins."""
        result = Options()
        for source in (self, options):
            _overlay(result, source)
        return result


def _overlay(target: Any, source: Any) -> None:
    for name, value in vars(source).items():
        if isinstance(value, _Group):
            _overlay(getattr(target, name), value)
        elif value is not None:
            setattr(target, name, value)

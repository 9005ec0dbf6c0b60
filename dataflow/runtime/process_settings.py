"""What `tf.config` sets for this process: sessions made without a config, and eager code, begin with it."""

from __future__ import annotations

import copy
import threading
from typing import Any

from dataflow.runtime.config import ConfigProto, RewriterConfig

#: Options of `RewriterConfig` that are switches of their own there, not DEFAULT, ON or OFF.
_PLAIN = ("disable_model_pruning", "disable_meta_optimizer", "min_graph_nodes")


class _Settings:
    """The settings, and whether eager code has begun with them."""

    def __init__(self) -> None:
        self.config = ConfigProto()
        self.rewrites: dict[str, Any] = {}
        #: How devices are shown, by the device's name, as `set_parts` was given it.
        self.parts: dict[str, Any] = {}
        self.are_in_use = False


_settings = _Settings()
_of_thread = threading.local()


def new_config() -> ConfigProto:
    """A `ConfigProto` with the settings of the process."""
    return copy.deepcopy(_settings.config)


def begin() -> None:
    """Eager code takes the settings now: threads and devices stay as they are."""
    _settings.are_in_use = True


def _refuse_late(what: str) -> None:
    if _settings.are_in_use:
        raise RuntimeError(
            f"{what} cannot be modified after initialization. Set it before the first eager operation and "
            "before tf.config.experimental.list_logical_devices()."
        )


def set_num_threads(option: str, what: str, num_threads: int) -> None:
    """Sets ``intra_op_parallelism_threads`` or ``inter_op_parallelism_threads``; 0: all cores."""
    if num_threads == getattr(_settings.config, option):
        return
    _refuse_late(what)
    if isinstance(num_threads, bool) or not isinstance(num_threads, int) or num_threads < 0:
        raise ValueError(f"{what} must be a number of threads from 0 on, got {num_threads!r}")
    setattr(_settings.config, option, num_threads)


def num_threads(option: str) -> int:
    """The setting of one of `set_num_threads`' options."""
    return int(getattr(_settings.config, option))


def set_soft_placement(enabled: bool) -> None:
    """Whether an op that a device has no kernel for may run on the CPU."""
    _settings.config.allow_soft_placement = bool(enabled)


def soft_placement() -> bool:
    """The setting of `set_soft_placement`; False unless it was set."""
    return bool(_settings.config.allow_soft_placement)


def set_jit_level(enabled: bool) -> None:
    """Whether sessions ask for just-in-time compilation, as ``global_jit_level`` does."""
    _settings.config.graph_options.optimizer_options.global_jit_level = int(bool(enabled))


def jit_is_on() -> bool:
    """The setting of `set_jit_level`."""
    return bool(_settings.config.graph_options.optimizer_options.global_jit_level > 0)


def set_rewrites(options: dict[str, Any]) -> None:
    """Switches groups of rewrites on (True) and off; names that `RewriterConfig` does not have change nothing."""
    rewriter = _settings.config.graph_options.rewrite_options
    for name, value in options.items():
        if not hasattr(rewriter, name):
            continue
        _settings.rewrites[name] = value
        if name in _PLAIN:
            setattr(rewriter, name, value)
        else:
            setattr(rewriter, name, RewriterConfig.ON if value else RewriterConfig.OFF)


def rewrites() -> dict[str, Any]:
    """What `set_rewrites` set, and the switches that are always shown."""
    return {"disable_model_pruning": False, "disable_meta_optimizer": False, **_settings.rewrites}


def set_parts(device: str, parts: Any, *, num_cpus: int = 0, gpu_fraction: float = 0.0) -> None:
    """How a device is shown: as ``num_cpus`` CPUs, which are one and the same, or with a part of a GPU's memory."""
    _refuse_late("Virtual devices")
    if num_cpus:
        _settings.config.device_count["CPU"] = num_cpus
    else:
        _settings.config.gpu_options.per_process_gpu_memory_fraction = gpu_fraction
    _settings.parts[device] = parts


def parts_of(device: str) -> Any:
    """What `set_parts` was given for the device; None: nothing."""
    return _settings.parts.get(device)


def set_device_policy(policy: str) -> None:
    """What happens to inputs on another device: kept for this thread and told back; they are copied, always."""
    _of_thread.device_policy = policy


def device_policy() -> str:
    """The policy of this thread; ``"silent"`` unless it was set."""
    return getattr(_of_thread, "device_policy", "silent")


def set_synchronous(enabled: bool) -> None:
    """Whether eager operations end before the next begins: kept for this thread; they do, always."""
    _of_thread.is_synchronous = enabled


def is_synchronous() -> bool:
    """The setting of this thread; True unless it was set."""
    return getattr(_of_thread, "is_synchronous", True)


def reset() -> None:
    """All as in a process that begins; for tests."""
    _settings.__init__()  # type: ignore[misc]
    _of_thread.__dict__.clear()

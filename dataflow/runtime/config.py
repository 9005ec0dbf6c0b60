"""`ConfigProto` and its parts: options of sessions, with TensorFlow's names.

Plain Python objects rather than protocol buffers: they can be made without loading TensorBoard.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any


class Options:
    """A group of named options with defaults; unknown names are refused with a hint."""

    _defaults: dict[str, Any] = {}

    def __init__(self, **options: Any) -> None:
        values: dict[str, Any] = {}
        for name, default in self._defaults.items():
            is_group = isinstance(default, type) and issubclass(default, Options)
            values[name] = default() if is_group else copy.copy(default)
        self.__dict__.update(values)
        for name, value in options.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._defaults:
            import difflib

            close = difflib.get_close_matches(name, self._defaults, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise ValueError(f"{type(self).__name__} has no option {name!r}.{hint}")
        object.__setattr__(self, name, value)

    def CopyFrom(self, other: Options) -> None:
        """Takes over all options of ``other``."""
        if type(other) is not type(self):
            raise TypeError(f"cannot copy {type(other).__name__} to {type(self).__name__}")
        self.__dict__.update(copy.deepcopy(other.__dict__))

    def MergeFrom(self, other: Options) -> None:
        """Takes over the options of ``other`` that are not as they are by default; lists grow by its items."""
        if type(other) is not type(self):
            raise TypeError(f"cannot merge {type(other).__name__} into {type(self).__name__}")
        plain = type(other)()
        for name, value in vars(other).items():
            mine = getattr(self, name)
            if value == getattr(plain, name):
                continue
            if isinstance(value, Options):
                mine.MergeFrom(value)
            elif isinstance(value, list):
                mine.extend(copy.deepcopy(value))
            elif isinstance(value, dict):
                mine.update(value)
            else:
                setattr(self, name, copy.deepcopy(value))

    def merge_message(self, message: Any) -> None:
        """Takes over what a protocol buffer of the same kind says; fields that are no option here are left out."""
        for field, value in message.ListFields():
            mine = getattr(self, field.name, None)
            if isinstance(mine, Options):
                mine.merge_message(value)
            elif isinstance(mine, dict):
                mine.update(value)
            elif field.name in self._defaults and not isinstance(mine, list):
                setattr(self, field.name, value)

    @classmethod
    def new_message(cls) -> Any:
        """An empty protocol buffer of this kind; None where TensorBoard, which has their classes, is not installed."""
        kind = _message_class(cls.__name__)
        return None if kind is None else kind()

    if TYPE_CHECKING:
        # Options are attributes whose names stand in ``_defaults``.
        def __getattr__(self, name: str) -> Any: ...

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__dict__ == other.__dict__

    def __str__(self) -> str:
        """As TensorFlow prints it: the text of the message, without what is as it was."""
        message = _message_class(type(self).__name__)
        if message is None:
            return repr(self)
        return str(_filled(message(), self))

    def __repr__(self) -> str:
        parts = [f"{k}={v!r}" for k, v in self.__dict__.items() if v != type(self)().__dict__[k]]
        return f"{type(self).__name__}({', '.join(parts)})"


def _message_class(name: str) -> Any:
    """TensorBoard's class of these options; None where it is not installed, or has none."""
    try:
        from tensorboard.compat.proto import config_pb2, debug_pb2, rewriter_config_pb2
    except ImportError:
        return None
    files = (config_pb2, debug_pb2, rewriter_config_pb2)
    return next((getattr(file, name) for file in files if hasattr(file, name)), None)


def _filled(message: Any, options: Options) -> Any:
    """The message, with the options that differ from their defaults and that it knows."""
    plain = type(options)()
    for name, value in vars(options).items():
        if value == getattr(plain, name) or name not in message.DESCRIPTOR.fields_by_name:
            continue
        field = getattr(message, name)
        if isinstance(value, Options):
            field.SetInParent()
            _filled(field, value)
        elif isinstance(value, OptionsList):
            for item in value:
                _filled(field.add(), item)
        elif isinstance(value, dict):
            field.update(value)
        elif isinstance(value, (list, tuple)):
            field.extend(value)
        elif hasattr(value, "SerializeToString"):
            field.ParseFromString(value.SerializeToString())
        else:
            setattr(message, name, value)
    return message


class OptionsList(list[Any]):
    """A list of option groups of one class; ``add`` makes one."""

    def __init__(self, kind: type[Options]) -> None:
        super().__init__()
        self._kind = kind

    def __copy__(self) -> OptionsList:
        return OptionsList(self._kind)

    def add(self, **options: Any) -> Any:
        """Appends a group with these options; returns it."""
        self.append(self._kind(**options))
        return self[-1]


class ThreadPoolOptionProto(Options):
    """A pool of threads; accepted, and not acted upon."""

    _defaults = {"num_threads": 0, "global_name": ""}


class ConfigExperimental(Options):
    """``ConfigProto.Experimental``: options that choose among TensorFlow's own parts, accepted for old code."""

    _defaults = {
        "collective_group_leader": "",
        "executor_type": "",
        "recv_buf_max_chunk": 0,
        "use_numa_affinity": False,
        "collective_deterministic_sequential_execution": False,
        "collective_nccl": False,
        "share_session_state_in_clusterspec_propagation": False,
        "disable_thread_spinning": False,
        "share_cluster_devices_in_session": False,
        "optimize_for_static_graph": False,
    }


class GPUExperimental(Options):
    """``GPUOptions.Experimental``: options of TensorFlow's own allocators, accepted for old code."""

    _defaults = {
        "virtual_devices": [],
        "use_unified_memory": False,
        "num_dev_to_dev_copy_streams": 0,
        "collective_ring_order": "",
        "timestamped_allocator": False,
    }


class RunExperimental(Options):
    """``RunOptions.Experimental``, accepted for old code."""

    _defaults = {"collective_graph_key": 0, "use_run_handler_pool": False}


class GPUOptions(Options):
    """How a session uses GPUs; ``per_process_gpu_memory_fraction`` 0 means no limit.

    ``use_cuda_graphs`` (not TensorFlow's): whether plans whose shapes repeat are captured once and
    replayed.
    """

    _defaults = {
        "per_process_gpu_memory_fraction": 0.0,
        "allow_growth": False,
        "allocator_type": "",
        "deferred_deletion_bytes": 0,
        "visible_device_list": "",
        "polling_active_delay_usecs": 0,
        "force_gpu_compatible": False,
        "use_cuda_graphs": True,
        "experimental": GPUExperimental,
    }
    Experimental = GPUExperimental


class OptimizerOptions(Options):
    """Which rewrites a session applies (``opt_level`` L1 on, L0 off)."""

    L1 = 0
    L0 = -1
    DEFAULT = 0
    OFF = -1
    ON_1 = 1
    ON_2 = 2
    _defaults = {
        "do_common_subexpression_elimination": True,
        "do_constant_folding": True,
        "do_function_inlining": True,
        "max_folded_constant_in_bytes": 10 * 1024 * 1024,
        "opt_level": 0,
        "global_jit_level": 0,
        "cpu_global_jit": False,
    }


class RewriterConfig(Options):
    """RewriteOptions for groups of rewrites: ``DEFAULT``, ``ON`` or ``OFF``.

    - ``disable_meta_optimizer``: True turns all of them off.
    - ``arithmetic_optimization``: equations such as ``x * 1 -> x``.
    - ``constant_folding``: nodes of constants are computed once.
    - ``common_subgraph_elimination``: equal nodes with equal inputs become one.
    - ``dependency_optimization``: control edges that order nothing go.
    - ``loop_optimization``: conditionals with a constant predicate become the branch taken.
    - ``remapping``: several nodes become one kernel.
    - ``debug_stripper``: assertions and checks go; off unless ``ON``.
    - ``memory_optimization``: a value's buffer is used again; ``NO_MEM_OPT`` turns it off.
    - ``min_graph_nodes``: smaller plans stay as they are.

    The other options are accepted, as programs for TensorFlow set them, and change nothing.
    """

    DEFAULT = 0
    ON = 1
    OFF = 2
    AGGRESSIVE = 3
    DEFAULT_MEM_OPT = 0
    NO_MEM_OPT = 1
    MANUAL = 2
    HEURISTICS = 3
    SWAPPING_HEURISTICS = 4
    RECOMPUTATION_HEURISTICS = 5
    SCHEDULING_HEURISTICS = 6
    _defaults = {
        "disable_meta_optimizer": False,
        "constant_folding": 0,
        "arithmetic_optimization": 0,
        "dependency_optimization": 0,
        "loop_optimization": 0,
        "function_optimization": 0,
        "remapping": 0,
        "layout_optimizer": 0,
        "shape_optimization": 0,
        "memory_optimization": 0,
        "disable_model_pruning": False,
        "min_graph_nodes": 0,
        "common_subgraph_elimination": 0,
        "debug_stripper": 0,
        "scoped_allocator_optimization": 0,
        "pin_to_host_optimization": 0,
        "implementation_selector": 0,
        "auto_mixed_precision": 0,
        "meta_optimizer_iterations": 0,
    }


class GraphOptions(Options):
    """Options for the treatment of the graph before it runs."""

    _defaults = {
        "optimizer_options": OptimizerOptions,
        "rewrite_options": RewriterConfig,
        "enable_recv_scheduling": False,
        "build_cost_model": 0,
        "build_cost_model_after": 0,
        "infer_shapes": False,
        "place_pruned_graph": False,
        "enable_bfloat16_sendrecv": False,
        "timeline_step": 0,
    }


class RPCOptions(Options):
    """How tasks talk to each other; taken and not looked at."""

    _defaults = {
        "use_rpc_for_inprocess_master": False,
        "compression_algorithm": "",
        "compression_level": 0,
    }


class ConfigProto(Options):
    """Options of a session, as ``tf.Session(config=tf.ConfigProto(...))`` takes them.

    ``watch_numerics`` (not TensorFlow's): whether a fetched scalar that is NaN or infinite is
    answered with a warning that names the node which made it (`runtime.nan_origin`).
    """

    _defaults = {
        "device_count": {},
        "intra_op_parallelism_threads": 0,
        "inter_op_parallelism_threads": 0,
        "use_per_session_threads": False,
        "placement_period": 0,
        "device_filters": [],
        "gpu_options": GPUOptions,
        "allow_soft_placement": False,
        "log_device_placement": False,
        "graph_options": GraphOptions,
        "operation_timeout_in_ms": 0,
        "watch_numerics": True,
        "isolate_session_state": False,
        "share_cluster_devices_in_session": False,
        "cluster_def": None,
        "rpc_options": RPCOptions,
        "session_inter_op_thread_pool": OptionsList(ThreadPoolOptionProto),
        "experimental": ConfigExperimental,
    }
    Experimental = ConfigExperimental


class DebugOptions(Options):
    """What TensorFlow's debugger watches; accepted, and not acted upon."""

    _defaults = {
        "debug_tensor_watch_opts": [],
        "global_step": 0,
        "reset_disk_byte_usage": False,
    }


class RunOptions(Options):
    """Options of one `Session.run`: tracing and a time-out."""

    NO_TRACE = 0
    SOFTWARE_TRACE = 1
    HARDWARE_TRACE = 2
    FULL_TRACE = 3
    _defaults = {
        "trace_level": 0,
        "timeout_in_ms": 0,
        "inter_op_thread_pool": 0,
        "output_partition_graphs": False,
        "debug_options": DebugOptions,
        "report_tensor_allocations_upon_oom": False,
        "experimental": RunExperimental,
    }
    Experimental = RunExperimental

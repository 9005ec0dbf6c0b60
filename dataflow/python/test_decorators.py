"""Decorators and questions of ``tensorflow.python.framework.test_util`` that tests of programs use."""

from __future__ import annotations

import contextlib
import functools
import itertools
import unittest
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from dataflow.graph.conversion import is_tensor_like
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.graph import Graph
from dataflow.ops.array import reshape, transpose
from dataflow.python.test_modes import (
    also_run_as_tf_function,
    assert_no_new_pyobjects_executing_eagerly,
    assert_no_new_tensors,
    run_all_in_graph_and_eager_modes,
    run_in_graph_and_eager_modes,
)
from dataflow.test import TestCase as TensorFlowTestCase, is_gpu_available

__all__ = [
    "GpuSupportsHalfMatMulAndConv",
    "IsBuiltWithROCm",
    "IsGoogleCudaEnabled",
    "IsMklEnabled",
    "NCHWToNHWC",
    "NCHW_VECT_CToNHWC",
    "NHWCToNCHW",
    "NHWCToNCHW_VECT_C",
    "TensorFlowTestCase",
    "also_run_as_tf_function",
    "assert_no_garbage_created",
    "assert_no_new_pyobjects_executing_eagerly",
    "assert_no_new_tensors",
    "assert_ops_in_graph",
    "deprecated_graph_mode_only",
    "device",
    "disable_all_xla",
    "disable_control_flow_v2",
    "disable_xla",
    "enable_c_shapes",
    "enable_control_flow_v2",
    "enable_output_all_intermediates",
    "enable_tf_xla_constant_folding",
    "for_all_test_methods",
    "force_cpu",
    "force_gpu",
    "generate_combinations_with_testcase_name",
    "get_node_def_from_graph",
    "is_gpu_available",
    "is_xla_enabled",
    "no_xla_auto_jit",
    "run_all_in_graph_and_eager_modes",
    "run_all_in_graph_mode_only",
    "run_cuda_only",
    "run_deprecated_v1",
    "run_gpu_only",
    "run_in_graph_and_eager_modes",
    "run_v1_only",
    "run_v2_only",
    "skip_if",
    "use_deterministic_cudnn",
    "use_gpu",
    "with_c_shapes",
    "with_control_flow_v2",
    "with_forward_compatibility_horizons",
    "xla_allow_fallback",
]


def _as_it_is(reason: Any = None) -> Any:
    """For ``@run_v1_only("why")`` and ``@run_deprecated_v1``: what is decorated stays as it is."""
    return reason if callable(reason) else lambda decorated: decorated


run_v1_only = run_deprecated_v1 = run_all_in_graph_mode_only = deprecated_graph_mode_only = (
    _as_it_is
)
disable_xla = disable_all_xla = xla_allow_fallback = build_as_function_and_v1_graph = _as_it_is
disable_control_flow_v2 = enable_control_flow_v2 = assert_no_garbage_created = _as_it_is
no_xla_auto_jit = enable_tf_xla_constant_folding = with_control_flow_v2 = _as_it_is
use_deterministic_cudnn = enable_output_all_intermediates = _as_it_is
enable_c_shapes = with_c_shapes = _as_it_is


def for_all_test_methods(decorator: Any, *args: Any, **kwargs: Any) -> Any:
    """A class decorator: ``decorator(*args, **kwargs)`` for each of its test methods."""

    def decorate(cls: type) -> type:
        for name, value in list(vars(cls).items()):
            if name.startswith("test") and name != "test_session" and callable(value):
                setattr(cls, name, decorator(*args, **kwargs)(value))
        return cls

    return decorate


def skip_if(condition: Any) -> Any:
    """Skips the test where ``condition``, a truth value or a function, says so."""

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def run(self: Any, *args: Any, **kwargs: Any) -> None:
            if not (condition() if callable(condition) else condition):
                method(self, *args, **kwargs)

        return run

    return decorate


def run_gpu_only(func: Callable[..., Any] | None = None) -> Any:
    """Skips the test where there is no GPU."""
    if func is None:
        return run_gpu_only

    @functools.wraps(func)
    def run(self: Any, *args: Any, **kwargs: Any) -> None:
        if not is_gpu_available():
            self.skipTest("Test requires GPU")
        func(self, *args, **kwargs)

    return run


run_cuda_only = run_gpu_only


def run_v2_only(func: Callable[..., Any] | None = None) -> Any:
    """Skips a test of TensorFlow 2's behavior."""
    skip = unittest.skip("Test is only compatible with v2")
    return skip if func is None else skip(func)


def with_forward_compatibility_horizons(*horizons: Any) -> Any:
    """Runs a test once for each date, or None, to which `tf.compat.forward_compatible` looks ahead."""

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def run(self: Any, *args: Any, **kwargs: Any) -> None:
            from dataflow.compat import forward_compatibility_horizon

            for horizon in horizons:
                with (
                    forward_compatibility_horizon(*horizon) if horizon else contextlib.nullcontext()
                ):
                    method(self, *args, **kwargs)

        return run

    return decorate


@contextlib.contextmanager
def device(use_gpu: bool) -> Iterator[None]:
    """Nodes of the block stand on the GPU where ``use_gpu`` and there is one, or else on the CPU."""
    with default_graph().device(
        "/device:GPU:0" if use_gpu and is_gpu_available() else "/device:CPU:0"
    ):
        yield


def use_gpu() -> Any:
    """Nodes of the block stand on the GPU, where there is one."""
    return device(use_gpu=True)


def force_gpu() -> Any:
    """Nodes of the block stand on the GPU."""
    return default_graph().device("/device:GPU:0")


def force_cpu() -> Any:
    """Nodes of the block stand on the CPU."""
    return default_graph().device("/device:CPU:0")


def _reordered(value: Any, order: dict[int, list[int]]) -> Any:
    """A tensor, or the sizes of one, with the dimensions in the order for that rank."""
    if is_tensor_like(value):
        return transpose(value, order[value.shape.rank])
    return [value[axis] for axis in order[len(value)]]


def NHWCToNCHW(input_tensor: Any) -> Any:
    """A tensor or a list of sizes in NHWC (or NDHWC), with the channels second."""
    return _reordered(input_tensor, {4: [0, 3, 1, 2], 5: [0, 4, 1, 2, 3]})


def NCHWToNHWC(input_tensor: Any) -> Any:
    """A tensor or a list of sizes in NCHW (or NCDHW), with the channels last."""
    return _reordered(input_tensor, {4: [0, 2, 3, 1], 5: [0, 2, 3, 4, 1]})


def _four_at_a_time(sizes: list[int]) -> list[int]:
    """NHWC (or NDHWC) sizes with the channels split into groups of 4; `ValueError` where that cannot be."""
    if sizes[-1] % 4:
        raise ValueError(
            "Last dimension of input must be evenly divisible by 4 to convert to NCHW_VECT_C."
        )
    return [*sizes[:-1], sizes[-1] // 4, 4]


def NHWCToNCHW_VECT_C(input_shape_or_tensor: Any) -> Any:
    """A tensor or sizes in NHWC (or NDHWC), with groups of 4 channels second and within them last."""
    orders = {5: [0, 3, 1, 2, 4], 6: [0, 4, 1, 2, 3, 5]}
    if is_tensor_like(input_shape_or_tensor):
        sizes = _four_at_a_time(input_shape_or_tensor.shape.as_list())
        return transpose(reshape(input_shape_or_tensor, sizes), orders[len(sizes)])
    sizes = _four_at_a_time(list(input_shape_or_tensor))
    return [sizes[axis] for axis in orders[len(sizes)]]


def NCHW_VECT_CToNHWC(input_shape_or_tensor: Any) -> Any:
    """The inverse of `NHWCToNCHW_VECT_C`."""
    is_tensor = is_tensor_like(input_shape_or_tensor)
    sizes = input_shape_or_tensor.shape.as_list() if is_tensor else list(input_shape_or_tensor)
    if sizes[-1] != 4:
        raise ValueError("Last dimension of NCHW_VECT_C must be 4.")
    order = {5: [0, 2, 3, 1, 4], 6: [0, 2, 3, 4, 1, 5]}[len(sizes)]
    *rest, groups = (sizes[axis] for axis in order[:-1])
    merged = [*rest, groups * 4]
    return reshape(transpose(input_shape_or_tensor, order), merged) if is_tensor else merged


def assert_ops_in_graph(expected_ops: dict[str, str], graph: Graph) -> dict[str, Any]:
    """The NodeDefs of ``graph`` by name; raises `ValueError` where one of ``expected_ops`` differs or is absent."""
    found = {}
    for node in graph.as_graph_def().node:
        if node.name in expected_ops:
            if expected_ops[node.name] != node.op:
                raise ValueError(
                    f"Expected op for node {node.name} is different. {expected_ops[node.name]} vs {node.op}"
                )
            found[node.name] = node
    if set(expected_ops) != set(found):
        raise ValueError(
            f"Not all expected ops are present. Expected {expected_ops.keys()}, found {found.keys()}"
        )
    return found


def generate_combinations_with_testcase_name(**kwargs: Any) -> list[Any]:
    """For ``@parameterized.named_parameters``: each choice of one value a keyword, and a name of it."""
    keys = sorted(kwargs)
    combinations = []
    for values in itertools.product(*(kwargs[key] for key in keys)):
        pairs = list(zip(keys, values, strict=True))
        letters = ("".join(c for c in str(part) if c.isalnum()) for pair in pairs for part in pair)
        words = list(letters)
        name = "".join(f"_{k}_{v}" for k, v in zip(words[::2], words[1::2], strict=True))
        combinations.append(OrderedDict([*pairs, ("testcase_name", f"_test{name}")]))
    return combinations


def is_xla_enabled() -> bool:
    """Whether XLA compiles graphs: never."""
    return False


IsMklEnabled = IsBuiltWithROCm = is_xla_enabled


def IsGoogleCudaEnabled() -> bool:
    """Whether there is a GPU."""
    return is_gpu_available()


def get_node_def_from_graph(node_name: str, graph_def: Any) -> Any:
    """The NodeDef of this name, or None."""
    return next((node for node in graph_def.node if node.name == node_name), None)


def GpuSupportsHalfMatMulAndConv() -> bool:
    """Whether there is a GPU, each of which has arithmetic of float16."""
    return is_gpu_available()


def InstallStackTraceHandler() -> None:
    """Nothing to do: Python prints its own traces."""

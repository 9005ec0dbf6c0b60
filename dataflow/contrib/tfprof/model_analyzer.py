"""``tf.contrib.tfprof.model_analyzer``: counts of parameters and floating-point operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dataflow.profiler.options import ProfileOptionBuilder
from dataflow.profiler.profiler import profile

#: Options: parameters of the variables that are trained, and floating-point operations.
TRAINABLE_VARS_PARAMS_STAT_OPTIONS = ProfileOptionBuilder.trainable_variables_parameter()
FLOAT_OPS_OPTIONS = ProfileOptionBuilder.float_operation()


def print_model_analysis(
    graph: Any,
    run_meta: Any = None,
    op_log: None = None,
    tfprof_cmd: str = "scope",
    tfprof_options: Mapping[str, Any] = TRAINABLE_VARS_PARAMS_STAT_OPTIONS,
) -> Any:
    """`tf.profiler.profile` under its older names; options of pictures and files are left out.

    Raises `ValueError` for another view and for unknown options.
    """
    options = {k: v for k, v in tfprof_options.items() if k not in ("viz", "dump_to_file")}
    return profile(graph, run_meta, op_log, cmd=tfprof_cmd, options=options)

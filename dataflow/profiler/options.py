"""Options of the profiler as a dict, and their builder."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

#: What each option is by default; a builder starts here.
_DEFAULTS: dict[str, Any] = {
    "max_depth": 100,
    "min_bytes": 0,
    "min_peak_bytes": 0,
    "min_residual_bytes": 0,
    "min_output_bytes": 0,
    "min_micros": 0,
    "min_accelerator_micros": 0,
    "min_cpu_micros": 0,
    "min_params": 0,
    "min_float_ops": 0,
    "min_occurrence": 0,
    "order_by": "name",
    "account_type_regexes": [".*"],
    "start_name_regexes": [".*"],
    "trim_name_regexes": [],
    "show_name_regexes": [".*"],
    "hide_name_regexes": [],
    "account_displayed_op_only": False,
    "select": ["micros"],
    "step": -1,
    "output": "stdout",
}
#: What nodes can be ordered by, and what of them can be shown.
ATTRIBUTES = ("micros", "bytes", "params", "float_ops", "occurrence")
_ALSO_KNOWN = {"name", "device", "op_types", "accelerator_micros", "cpu_micros", "input_shapes"} | {
    "peak_bytes",
    "residual_bytes",
    "output_bytes",
}


def complete(options: Mapping[str, Any]) -> dict[str, Any]:
    """``options`` with the defaults of the rest.

    Raises `ValueError` for an option that there is none of, and for an attribute that no node has.
    """
    for key in options:
        if key not in _DEFAULTS:
            raise ValueError(
                f"Unknown option {key!r} of tf.profiler; use one of {list(_DEFAULTS)}."
            )
    result = _DEFAULTS | dict(options)
    known = {*ATTRIBUTES, *_ALSO_KNOWN}
    for attribute in [result["order_by"], *result["select"]]:
        if attribute not in known:
            raise ValueError(
                f"Unknown attribute {attribute!r} of a node in tf.profiler's options; use one of "
                f"{sorted(known)}."
            )
    kind = result["output"].split(":")[0]
    if kind not in ("stdout", "none", "file", "timeline"):
        raise ValueError(
            "tf.profiler writes to 'stdout', 'none', 'file:outfile=PATH' or 'timeline:outfile=PATH', got "
            f"{result['output']!r}."
        )
    return result


class ProfileOptionBuilder:
    """Options for `tf.profiler.profile`: ``Builder(Builder.float_operation()).order_by("name").build()``."""

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        self._options: dict[str, Any] = copy.deepcopy(_DEFAULTS | dict(options or {}))

    @staticmethod
    def trainable_variables_parameter() -> dict[str, Any]:
        """Options that count the parameters of trainable variables."""
        return _DEFAULTS | {
            "max_depth": 10000,
            "account_type_regexes": ["_trainable_variables"],
            "account_displayed_op_only": True,
            "select": ["params"],
        }

    @staticmethod
    def float_operation() -> dict[str, Any]:
        """Options that count floating-point operations; shapes must be known before the run."""
        return _DEFAULTS | {
            "max_depth": 10000,
            "min_float_ops": 1,
            "order_by": "float_ops",
            "account_displayed_op_only": True,
            "select": ["float_ops"],
        }

    @staticmethod
    def time_and_memory(
        min_micros: int = 1,
        min_bytes: int = 1,
        min_accelerator_micros: int = 0,
        min_cpu_micros: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> dict[str, Any]:
        """Options that show microseconds and bytes, of a run with a `tf.RunMetadata`."""
        return _DEFAULTS | {
            "max_depth": 10000,
            "min_micros": min_micros,
            "min_bytes": min_bytes,
            "min_accelerator_micros": min_accelerator_micros,
            "min_cpu_micros": min_cpu_micros,
            "min_peak_bytes": min_peak_bytes,
            "min_residual_bytes": min_residual_bytes,
            "min_output_bytes": min_output_bytes,
            "order_by": "micros",
            "account_displayed_op_only": True,
            "select": ["micros", "bytes"],
        }

    def build(self) -> dict[str, Any]:
        """A copy of the options so far."""
        return copy.deepcopy(self._options)

    def _with(self, **changes: Any) -> ProfileOptionBuilder:
        self._options.update(changes)
        return self

    def with_max_depth(self, max_depth: int) -> ProfileOptionBuilder:
        """Shows no node deeper than ``max_depth``."""
        return self._with(max_depth=max_depth)

    def with_min_memory(
        self,
        min_bytes: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> ProfileOptionBuilder:
        """Shows only nodes whose outputs have at least so many bytes."""
        return self._with(
            min_bytes=min_bytes,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
        )

    def with_min_execution_time(
        self, min_micros: int = 0, min_accelerator_micros: int = 0, min_cpu_micros: int = 0
    ) -> ProfileOptionBuilder:
        """Shows only nodes that took at least so many microseconds."""
        return self._with(
            min_micros=min_micros,
            min_accelerator_micros=min_accelerator_micros,
            min_cpu_micros=min_cpu_micros,
        )

    def with_min_parameters(self, min_params: int) -> ProfileOptionBuilder:
        """Shows only nodes with at least so many parameters."""
        return self._with(min_params=min_params)

    def with_min_occurrence(self, min_occurrence: int) -> ProfileOptionBuilder:
        """Shows only op types of which there are at least so many nodes (in the view "op")."""
        return self._with(min_occurrence=min_occurrence)

    def with_min_float_operations(self, min_float_ops: int) -> ProfileOptionBuilder:
        """Shows only nodes with at least so many floating-point operations."""
        return self._with(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes: Sequence[str]) -> ProfileOptionBuilder:
        """Counts only nodes whose op type, device or ``_trainable_variables`` matches one of these."""
        return self._with(account_type_regexes=list(account_type_regexes))

    def with_node_names(
        self,
        start_name_regexes: Sequence[str] | None = None,
        show_name_regexes: Sequence[str] | None = None,
        hide_name_regexes: Sequence[str] | None = None,
        trim_name_regexes: Sequence[str] | None = None,
    ) -> ProfileOptionBuilder:
        """Begins at, shows, hides, and cuts off below the nodes whose names match."""
        given = {
            "start_name_regexes": start_name_regexes,
            "show_name_regexes": show_name_regexes,
            "hide_name_regexes": hide_name_regexes,
            "trim_name_regexes": trim_name_regexes,
        }
        return self._with(**{k: list(v) for k, v in given.items() if v is not None})

    def account_displayed_op_only(self, is_true: bool) -> ProfileOptionBuilder:
        """Whether totals leave out what is not shown."""
        return self._with(account_displayed_op_only=is_true)

    def with_empty_output(self) -> ProfileOptionBuilder:
        """Prints nothing; what `tf.profiler.profile` returns has the numbers."""
        return self._with(output="none")

    def with_stdout_output(self) -> ProfileOptionBuilder:
        """Prints the report."""
        return self._with(output="stdout")

    def with_file_output(self, outfile: str) -> ProfileOptionBuilder:
        """Writes the report into a file."""
        return self._with(output=f"file:outfile={outfile}")

    def with_timeline_output(self, timeline_file: str) -> ProfileOptionBuilder:
        """Writes a Chrome trace of each step into ``{timeline_file}_{step}``; needs a `tf.RunMetadata`."""
        return self._with(output=f"timeline:outfile={timeline_file}")

    def with_pprof_output(self, pprof_file: str) -> ProfileOptionBuilder:
        """Refused: pprof's files of Python lines; raises `ValueError`. Write a report or a timeline."""
        raise ValueError(
            f"tf.profiler writes no pprof file ({pprof_file!r}); use with_file_output for the report of "
            "profile_python, or with_timeline_output."
        )

    def order_by(self, attribute: str) -> ProfileOptionBuilder:
        """Orders the nodes below one: by "name", or by a number, largest first."""
        return self._with(order_by=attribute)

    def select(self, attributes: Sequence[str]) -> ProfileOptionBuilder:
        """Shows these of each node: "micros", "bytes", "params", "float_ops", "occurrence"."""
        return self._with(select=list(attributes))

    def with_step(self, step: int) -> ProfileOptionBuilder:
        """Takes the times of the step that `Profiler.add_step` was told of; -1 is the mean of all."""
        return self._with(step=step)

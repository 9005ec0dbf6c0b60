"""The table of passes agrees with the files of passes and with `RewriteOptions`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dataflow as tf
from dataflow.rewrites import engine, passes
from dataflow.rewrites.options import RewriteOptions
from dataflow.rewrites.passes import PASSES, Pass, Rewriting
from dataflow.rewrites.prune import needed_operations
from dataflow.runtime.config import RewriterConfig

FOLDER = Path(passes.__file__).parent
ON_OR_OFF = {
    name for name, value in RewriteOptions._field_defaults.items() if isinstance(value, bool)
}
#: Options that turn off no pass, and where they are looked at instead.
NO_PASS = {"reuse", "call_lists"}  # runtime/codegen.py, runtime/plan_recorder.py


def test_every_file_with_a_pass_is_in_the_table() -> None:
    files = {
        path.stem
        for path in FOLDER.glob("*.py")
        if any(
            isinstance(node, ast.FunctionDef) and node.name == "run"
            for node in ast.parse(path.read_text(encoding="utf-8")).body
        )
    }
    assert files == {row.name for row in PASSES}


def test_every_switch_has_a_pass_and_every_pass_a_switch() -> None:
    assert {name for row in PASSES for name in row.options} == ON_OR_OFF - NO_PASS
    assert all(row.options for row in PASSES)


def test_every_switch_is_described() -> None:
    source = (FOLDER / "options.py").read_text(encoding="utf-8")
    described = set(re.findall(r"^    #: .*\n    (\w+): ", source, re.MULTILINE))
    assert described == set(RewriteOptions._fields)


def ran(monkeypatch: pytest.MonkeyPatch, options: RewriteOptions, **settings: Any) -> list[str]:
    """The names of the passes that run with these options, in order; none of them finds anything."""
    names: list[str] = []

    def recorder(row: Pass) -> Callable[[Rewriting], None]:
        return lambda plan: names.append(row.name)

    with monkeypatch.context() as patch:
        for stage in ("FIRST", "SIMPLIFICATION", "FUSION"):
            rows = tuple(row._replace(run=recorder(row)) for row in getattr(passes, stage))
            patch.setattr(passes, stage, rows)
        with tf.Graph().as_default():
            fetch = tf.tanh(tf.constant(1.0))
            ops = needed_operations([fetch], [], [])
            engine.apply(ops, [fetch], [], [], options, **settings)
    return names


#: Passes that wait for nodes on a GPU.
GPU_ONLY = ("repeated_rows",)


def rows(options: RewriteOptions, leave_out: tuple[str, ...] = ()) -> list[str]:
    """The table for a plan on the CPU that nothing has changed yet."""
    again = {"rules", "common_subexpressions"}  # their second rows wait for a hit
    names: list[str] = []
    for row in PASSES:
        if (row.name in names and row.name in again) or row.name in leave_out:
            continue
        if any(getattr(options, name) for name in row.options):
            names.append(row.name)
    return names


@pytest.mark.parametrize("name", sorted(ON_OR_OFF))
def test_a_switch_turns_its_passes_off_and_no_other(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = RewriteOptions(debug_ops=True)._replace(**{name: False})
    left = ran(monkeypatch, options)
    assert left == rows(options, leave_out=GPU_ONLY)
    gone = {row.name for row in PASSES if row.options == (name,)} - set(GPU_ONLY)
    assert not gone & set(left)
    assert bool(gone) == (name not in NO_PASS | {"constant_folding"})


@pytest.mark.parametrize("name", sorted(ON_OR_OFF))
def test_only_one_switch_is_on(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options = RewriteOptions.only(name)
    assert {field for field in ON_OR_OFF if getattr(options, field)} == {name}
    wanted = {row.name for row in PASSES if name in row.options} - set(GPU_ONLY)
    assert set(ran(monkeypatch, options)) == wanted


def test_rows_of_a_table_are_looked_at_again_only_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = tf.get_default_graph()
    with graph.as_default():
        node = tf.constant(1.0).op
    assert "repeated_rows" in ran(monkeypatch, RewriteOptions(), gpu_nodes={node})
    assert "repeated_rows" not in ran(monkeypatch, RewriteOptions())


OPTIONS = {name for name, value in RewriterConfig._defaults.items()}
#: What turns a group off, where that is not ``OFF``; ``debug_stripper`` is off.
NOT_THE_DEFAULT = {
    "disable_meta_optimizer": True,
    "disable_model_pruning": True,
    "memory_optimization": RewriterConfig.NO_MEM_OPT,
    "min_graph_nodes": 10,
    "meta_optimizer_iterations": 3,
    "debug_stripper": RewriterConfig.ON,
}


@pytest.mark.parametrize("option", sorted(OPTIONS))
def test_the_options_that_change_something_are_those_described(option: str) -> None:
    config = tf.ConfigProto()
    value = NOT_THE_DEFAULT.get(option, RewriterConfig.OFF)
    setattr(config.graph_options.rewrite_options, option, value)
    changes = RewriteOptions.from_config(config) != RewriteOptions.from_config(tf.ConfigProto())
    assert changes == (f"``{option}``: " in (RewriterConfig.__doc__ or ""))


def test_sums_of_repeated_rows_know_how_many_rows_the_table_has() -> None:
    """The GPU's kernel leaves out an index that is not below that number (0: not known)."""
    with tf.Graph().as_default() as graph:
        table = tf.Variable(tf.zeros([7, 3]))
        loss = tf.reduce_sum(tf.nn.embedding_lookup(table, [1, 4, 1]))
        train = tf.train.AdagradOptimizer(0.1).minimize(loss)
        ops = needed_operations([], [train], [])
        nodes = set(graph.get_operations())
        result = engine.apply(ops, [], [train], [], RewriteOptions(), gpu_nodes=nodes)
    (summed,) = [op for op in result.ops if op.type == "_SumRepeatedRows"]
    assert summed.attrs["num_rows"] == 7

"""The nodes that save and restore: ``save/SaveV2``, ``save/RestoreV2``, ``save/restore_all``."""

from __future__ import annotations

import uuid
from typing import Any

from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.ops import array
from dataflow.ops.checkpoint import (
    merge_v2_checkpoints,
    restore_v2,
    save_v2,
    sharded_filename,
)
from dataflow.ops.control_flow import group, with_dependencies
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.sources import constant, placeholder_with_default
from dataflow.train.saveables import SaveableObject

_CPU = "/device:CPU:0"


def build_saver_def(
    saveables: list[SaveableObject],
    *,
    reshape: bool,
    sharded: bool,
    max_to_keep: int,
    keep_checkpoint_every_n_hours: float,
    name: str | None,
    filename: str | None,
) -> Any:
    """Adds the nodes and returns the ``SaverDef`` that names them."""
    from tensorboard.compat.proto.saver_pb2 import SaverDef

    with name_scope(name, "save", [s.specs[0].tensor for s in saveables]):
        prefix = placeholder_with_default(filename or "model", shape=(), name="filename")
        prefix = placeholder_with_default(prefix, shape=(), name="Const")
        groups = _by_device(saveables) if sharded else [("", saveables)]
        if len(groups) > 1:
            saved = _sharded_save(prefix, groups)
            shards = []
            for device, items in groups:
                with _on(device):
                    shards.append(restore_saveables(prefix, items, reshape, "restore_shard"))
            restored = group(*shards, name="restore_all")
        else:
            saved = _save(prefix, saveables)
            restored = restore_saveables(prefix, saveables, reshape, "restore_all")
        return SaverDef(
            filename_tensor_name=prefix.name,
            save_tensor_name=saved.name,
            restore_op_name=restored.name,
            max_to_keep=max_to_keep,
            sharded=sharded,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            version=SaverDef.V2,
        )


def _by_device(saveables: list[SaveableObject]) -> list[tuple[str, list[SaveableObject]]]:
    """Groups of what lives on one task, sorted."""
    groups: dict[str, list[SaveableObject]] = {}
    for item in saveables:
        parts = [p for p in str(item.device).split("/") if p.startswith(("job:", "task:"))]
        task = "".join(f"/{p}" for p in parts)
        groups.setdefault(task, []).append(item)
    return sorted(groups.items())


def _on(task: str) -> Any:
    return default_graph().device(task + _CPU)


def _save(prefix: Tensor, saveables: list[SaveableObject]) -> Tensor:
    specs = [spec for item in saveables for spec in item.specs]
    save = save_v2(
        prefix,
        [spec.name for spec in specs],
        [spec.slice_spec for spec in specs],
        [spec.tensor() if callable(spec.tensor) else spec.tensor for spec in specs],
        name="SaveV2",
    )
    return with_dependencies([save], prefix)  # type: ignore[no-any-return]


def _sharded_save(prefix: Tensor, groups: list[tuple[str, list[SaveableObject]]]) -> Tensor:
    """Each task writes its own shard under a temporary name; the last one merges them."""
    from dataflow.ops.string import string_join

    temporary = string_join([prefix, f"_temp_{uuid.uuid4().hex}/part"])
    num_shards = constant(len(groups), name="num_shards")
    names, saves = [], []
    for shard, (task, items) in enumerate(groups):
        with _on(task):
            name = sharded_filename(temporary, shard, num_shards)
            names.append(name)
            saves.append(_save(name, items))
    with default_graph().control_dependencies([s.op for s in saves]), _on(groups[-1][0]):
        merge = merge_v2_checkpoints(array.stack(names), prefix)
        with default_graph().control_dependencies([merge]):
            return array.identity(prefix)


def restore_saveables(
    prefix: Tensor, saveables: list[SaveableObject], reshape: bool, name: str
) -> Any:
    specs = [spec for item in saveables for spec in item.specs]
    with default_graph().device(_CPU):
        tensors = restore_v2(
            prefix,
            [spec.name for spec in specs],
            [spec.slice_spec for spec in specs],
            dtypes=[spec.dtype.base_dtype for spec in specs],
            name="RestoreV2",
        )
    assigns, position = [], 0
    for item in saveables:
        count = len(item.specs)
        shapes = None
        if reshape:
            shapes = [_shape_of(spec.tensor) for spec in item.specs]
        assigns.append(item.restore(list(tensors[position : position + count]), shapes))
        position += count
    return group(*assigns, name=name)


def _shape_of(tensor: Any) -> Any:
    static = tensor.get_shape()
    return static.as_list() if static.is_fully_defined() else array.shape(tensor)


def restored_by(restore_op: Any) -> dict[str, tuple[Any, str]]:
    """What a restore operation will assign: name -> (shape of the whole or ``None``, dtype's name).

    Read from the graph, so that it holds for imported graphs too.
    """
    from dataflow.formats.checkpoint_reader import Part
    from dataflow.ops.static_value import static_value

    expected: dict[str, tuple[Any, str]] = {}
    stack, seen = [restore_op], set()
    while stack:
        op = stack.pop()
        if op in seen:
            continue
        seen.add(op)
        if op.type == "NoOp":
            stack.extend(op.control_inputs)
            continue
        for tensor in op.inputs:
            source = tensor.op
            if source.type != "RestoreV2":
                if source.type in ("Reshape", "Identity"):
                    stack.append(source)
                continue
            names, specs = static_value(source.inputs[1]), static_value(source.inputs[2])
            if names is None or specs is None:
                continue
            name = _decoded(names[tensor.value_index])
            spec = _decoded(specs[tensor.value_index])
            shape: Any = None
            if spec:
                shape = Part(spec).full_shape
            elif op.type == "Assign" and op.attrs.get("validate_shape", True):
                shape = op.inputs[0].dims
            expected[name] = (shape, tensor.dtype.base_dtype.name)
    return expected


def _decoded(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)

"""Variables that start with the values of a checkpoint: `init_from_checkpoint`, `warm_start`."""

from __future__ import annotations

import re
from typing import Any

from dataflow.graph.default_stacks import default_graph
from dataflow.ops.checkpoint import restore_v2
from dataflow.ops.partitioned_variable import PartitionedVariable
from dataflow.ops.state import assign
from dataflow.ops.variable_lists import global_variables, trainable_variables
from dataflow.ops.variable_store import variable_store
from dataflow.ops.variables import Variable
from dataflow.train.checkpoint_management import load_checkpoint, prefix_of


def init_from_checkpoint(ckpt_dir_or_file: Any, assignment_map: dict[str, Any]) -> None:
    """Makes the initializers of variables read a checkpoint; run them as usual afterwards.

    ``assignment_map`` maps a name in the checkpoint to a variable (or its name), or a scope there
    to a scope here, both with a ``/`` at the end; ``"/"`` is the whole checkpoint or graph.

    Raises `ValueError` for a name that is not there and for shapes that differ.
    """
    prefix = prefix_of(ckpt_dir_or_file)
    shapes = load_checkpoint(prefix).get_variable_to_shape_map()
    known = {v.op.name: v for v in global_variables()} | dict(variable_store().variables)
    for source, target in sorted(assignment_map.items()):
        if isinstance(target, (Variable, PartitionedVariable)) or (
            isinstance(target, list) and all(isinstance(v, Variable) for v in target)
        ):
            _assign_one(prefix, shapes, source, target)
            continue
        variable = known[target] if target in known else _parts(known, target)
        if variable is not None:
            _assign_one(prefix, shapes, source, variable)
            continue
        if not source.endswith("/") or not target.endswith("/"):
            raise ValueError(
                f"Assignment map with scope only name {target} should map to scope only {source}. "
                "Should be 'scope/': 'other_scope/'."
                if "/" in (source[-1:], target[-1:])
                else f"There is no variable {target!r} in the graph to initialize from {source!r}."
            )
        _assign_scope(prefix, shapes, source, target, known)


def _parts(known: dict[str, Any], name: str) -> list[Any] | None:
    parts = [v for n, v in known.items() if re.fullmatch(re.escape(name) + r"/part_\d+", n)]
    return parts or None


def _assign_scope(
    prefix: str, shapes: dict[str, Any], source: str, target: str, known: dict[str, Any]
) -> None:
    inside, outside = target.strip("/"), source.strip("/")
    done = set()
    for name, variable in sorted(known.items()):
        if inside and not name.startswith(inside + "/"):
            continue
        rest = name[len(inside) + 1 :] if inside else name
        info = variable._get_save_slice_info() if isinstance(variable, Variable) else None
        if info is not None:
            rest = re.sub(r"/part_\d+$", "", rest)
        full = f"{outside}/{rest}" if outside else rest
        if full not in shapes:
            if not inside and not outside:
                continue
            raise ValueError(
                f"Tensor {full} ({name} in this graph) is not found in {prefix} checkpoint: "
                f"{sorted(shapes)[:20]}"
            )
        if (full, name) not in done:
            done.add((full, name))
            _assign_one(prefix, shapes, full, variable)


def _assign_one(prefix: str, shapes: dict[str, Any], source: str, target: Any) -> None:
    if source not in shapes:
        raise ValueError(
            f"Tensor {source} is not found in {prefix} checkpoint: {sorted(shapes)[:20]}"
        )
    variables = [target] if isinstance(target, Variable) else list(target)
    for variable in variables:
        info = variable._get_save_slice_info()
        wanted = list(info.full_shape) if info is not None else variable.get_shape().as_list()
        if wanted != list(shapes[source]):
            raise ValueError(
                f"Shape of variable {variable.name} ({wanted}) doesn't match with shape of tensor "
                f"{source} ({list(shapes[source])}) from checkpoint reader."
            )
    for variable in variables:
        info = variable._get_save_slice_info()
        graph = default_graph()
        with graph.name_scope(None), graph.control_dependencies(None):
            with graph.device(variable.device):
                restored = restore_v2(
                    prefix,
                    [source],
                    [info.spec if info is not None else ""],
                    dtypes=[variable.dtype.base_dtype],
                    name="checkpoint_initializer",
                )[0]
                restored.set_shape(variable.get_shape())
                variable._initializer_op = assign(variable, restored).op
                variable._initial_value = restored


def warm_start(
    ckpt_to_initialize_from: Any,
    vars_to_warm_start: Any = ".*",
    var_name_to_vocab_info: Any = None,
    var_name_to_prev_var_name: dict[str, str] | None = None,
) -> None:
    """`init_from_checkpoint` for the trainable variables whose names match.

    ``vars_to_warm_start``: a regular expression, or a list of them, of names or of variables.
    Raises `NotImplementedError` for ``var_name_to_vocab_info``.
    """
    if var_name_to_vocab_info:
        raise NotImplementedError("warm_start: var_name_to_vocab_info is not supported.")
    if vars_to_warm_start is None:
        return
    wanted = vars_to_warm_start if isinstance(vars_to_warm_start, list) else [vars_to_warm_start]
    variables: list[Any] = []
    for item in wanted:
        if isinstance(item, Variable):
            variables.append(item)
            continue
        pool = (
            trainable_variables()
            if not isinstance(vars_to_warm_start, list)
            else global_variables()
        )
        variables += [v for v in pool if re.match(item, v.op.name)]
    renamed = var_name_to_prev_var_name or {}
    for variable in dict.fromkeys(variables):
        info = variable._get_save_slice_info()
        name = info.full_name if info is not None else variable.op.name
        init_from_checkpoint(ckpt_to_initialize_from, {renamed.get(name, name): variable})

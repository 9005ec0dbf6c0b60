"""Variables that start with the values of a checkpoint: `init_from_checkpoint`, `warm_start`."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from dataflow import logging
from dataflow.formats.local_paths import local_path
from dataflow.graph.default_stacks import default_graph
from dataflow.ops.array import gather, slice_, transpose, where
from dataflow.ops.checkpoint import restore_v2
from dataflow.ops.initializers import zeros_initializer
from dataflow.ops.partitioned_variable import PartitionedVariable
from dataflow.ops.state import assign
from dataflow.ops.variable_lists import global_variables, trainable_variables
from dataflow.ops.variable_store import variable_store
from dataflow.ops.variables import Variable
from dataflow.train.checkpoint_management import load_checkpoint, prefix_of
from dataflow.train.object_restore import keys_by_name
from dataflow.train.saveables import OBJECT_GRAPH_KEY


class VocabInfo(NamedTuple):
    """Which words the rows of a variable stand for, now and in a checkpoint; for `warm_start`.

    ``new_vocab``, ``old_vocab``: text files with a word a line, of which the first ``new_vocab_size`` and
    ``old_vocab_size`` (-1: all) count. After the rows of words come ``num_oov_buckets`` others.
    ``backup_initializer`` makes rows that the checkpoint does not have; they are 0 where it is None.
    ``axis``: 0 for rows, 1 where words are columns.
    """

    new_vocab: Any
    new_vocab_size: int
    num_oov_buckets: int
    old_vocab: Any
    old_vocab_size: int = -1
    backup_initializer: Any = None
    axis: int = 0


def words_of(path: str, size: int) -> list[bytes]:
    """The first ``size`` lines of a file (-1: all of them)."""
    with open(local_path(path), "rb") as file:
        words = file.read().splitlines()
    if size > len(words):
        raise ValueError(f"{path} has {len(words)} words, fewer than {size}")
    return words if size == -1 else words[:size]


def assign_by_words(prefix: str, source: str, variable: Variable, info: VocabInfo) -> None:
    """Makes the initializer put each word's row of the checkpoint where the word is now."""
    shapes = load_checkpoint(prefix).get_variable_to_shape_map()
    if source not in shapes:
        raise ValueError(
            f"Tensor {source} is not found in {prefix} checkpoint: {sorted(shapes)[:20]}"
        )
    axis = info.axis
    part = variable._get_save_slice_info()
    sizes: list[Any] = variable.get_shape().as_list()
    whole: list[Any] = sizes if part is None else list(part.full_shape)
    old_sizes: list[Any] = list(shapes[source])
    wanted = info.new_vocab_size + info.num_oov_buckets
    others = [shape[:axis] + shape[axis + 1 :] for shape in (whole, old_sizes)]
    if axis not in (0, 1):
        raise ValueError(
            f"{variable.name}: words are rows (axis=0) or columns (axis=1), got axis={axis}"
        )
    if whole[axis] != wanted or others[0] != others[1]:
        raise ValueError(
            f"{variable.name} has shape {whole}, the checkpoint's {source} {old_sizes}, and there are "
            f"{info.new_vocab_size} words and {info.num_oov_buckets} other rows along axis {axis}"
        )
    places = {word: i for i, word in enumerate(words_of(info.old_vocab, info.old_vocab_size))}
    found = [places.get(word, -1) for word in words_of(info.new_vocab, info.new_vocab_size)]
    rows = np.array(found + [-1] * info.num_oov_buckets, np.int32)
    start = [0] * len(sizes) if part is None else list(part.var_offset)
    rows = rows[start[axis] : start[axis] + sizes[axis]]
    dtype = variable.dtype.base_dtype
    graph = default_graph()
    with graph.name_scope(None), graph.control_dependencies(None), graph.device(variable.device):
        restored = restore_v2(prefix, [source], [""], dtypes=[dtype], name="checkpoint_initializer")
        restored[0].set_shape(old_sizes)
        backup = (info.backup_initializer or zeros_initializer())(sizes, dtype=dtype)
        begin = [0 if i == axis else offset for i, offset in enumerate(start)]
        kept = [-1 if i == axis else size for i, size in enumerate(sizes)]
        read = restored[0] if part is None else slice_(restored[0], begin, kept)
        moved = gather(read, np.maximum(rows, 0), axis=axis)
        swap = [1, 0, *range(2, len(sizes))] if axis else list(range(len(sizes)))
        value = where(rows >= 0, transpose(moved, swap), transpose(backup, swap))
        value = transpose(value, swap) if axis else value
        variable._initializer_op = assign(variable, value).op
        variable._initial_value = value


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
    ``var_name_to_vocab_info``: a `VocabInfo` for each variable whose rows stand for words, and whose words are others now.
    Without ``vars_to_warm_start`` only those start. Raises `ValueError` for names, shapes or words that
    are not there.
    """
    logging.info("Warm-starting from: %s", ckpt_to_initialize_from)
    infos, renamed = var_name_to_vocab_info or {}, var_name_to_prev_var_name or {}
    variables = {}
    for variable in _to_warm_start(vars_to_warm_start):
        info = variable._get_save_slice_info()
        variables[variable] = info.full_name if info is not None else variable.op.name
    started = [name for name in variables.values() if vars_to_warm_start or name in infos]
    keys = _keys_of_objects(ckpt_to_initialize_from, set(variables.values()))
    for variable, name in variables.items():
        source = renamed.get(name, keys.get(name, name))
        if words := infos.get(name):
            assign_by_words(prefix_of(ckpt_to_initialize_from), source, variable, words)
        elif vars_to_warm_start:
            init_from_checkpoint(ckpt_to_initialize_from, {source: variable})
    logging.info("Warm-started %d variables.", len(set(started)))
    for argument, names in (
        ("var_name_to_prev_var_name", renamed),
        ("var_name_to_vocab_info", infos),
    ):
        if unused := sorted(set(names) - set(variables.values())):
            raise ValueError(
                f"{argument} names variables that are not warm-started: {', '.join(unused)}. "
                f"There are: {', '.join(sorted(set(variables.values())))}."
            )


def _keys_of_objects(ckpt_dir_or_file: Any, names: set[str]) -> dict[str, str]:
    """Name -> key of the variables of a checkpoint of objects; empty for another checkpoint.

    Raises `ValueError` where the objects do not have all names.
    """
    reader = load_checkpoint(prefix_of(ckpt_dir_or_file))
    if not reader.has_tensor(OBJECT_GRAPH_KEY):
        return {}
    keys = keys_by_name(reader)
    if missing := sorted(names - set(keys)):
        raise ValueError(
            "Attempting to warm-start from an object-based checkpoint, but found that the "
            f"checkpoint did not contain values for all variables. Missing: {', '.join(missing)}."
        )
    return keys


def _to_warm_start(vars_to_warm_start: Any) -> list[Any]:
    """The variables that ``vars_to_warm_start`` means; all that are trainable for None."""
    if not isinstance(vars_to_warm_start, list):
        logging.info("Warm-starting variables only in TRAINABLE_VARIABLES.")
    pattern = ".*" if vars_to_warm_start is None else vars_to_warm_start
    wanted = pattern if isinstance(pattern, list) else [pattern]
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
    return list(dict.fromkeys(variables))

"""Which checkpoints are there: the state file of a folder, the latest one, their ages."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import Any

from dataflow.formats.checkpoint_reader import CheckpointReader, checkpoint_files
from dataflow.formats.checkpoint_state import (
    CheckpointState,
    read_checkpoint_state,
    write_checkpoint_state,
)
from dataflow.formats.local_paths import local_path

Path = str | os.PathLike[str]


def _text(path: Any) -> str:
    return local_path(path)


def get_checkpoint_state(
    checkpoint_dir: Path, latest_filename: str | None = None
) -> CheckpointState | None:
    """What the file ``checkpoint`` of a folder says; ``None`` where there is none.

    Attributes: ``model_checkpoint_path``, ``all_model_checkpoint_paths``. Raises `DataLossError`
    for a damaged file.
    """
    return read_checkpoint_state(_text(checkpoint_dir), latest_filename)


def latest_checkpoint(checkpoint_dir: Path, latest_filename: str | None = None) -> str | None:
    """The prefix of the latest checkpoint in a folder, such as ``dir/model.ckpt-100``.

    ``None`` where there is none, or its files are gone.
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None or not checkpoint_exists(state.model_checkpoint_path):
        return None
    return state.model_checkpoint_path


def checkpoint_exists(checkpoint_prefix: Path) -> bool:
    """Whether there is a checkpoint, ours or TensorFlow's, with this prefix; what is in it is not read."""
    prefix = _text(checkpoint_prefix)
    return bool(checkpoint_files(prefix)) or os.path.isfile(f"{prefix}.index")


def get_checkpoint_mtimes(checkpoint_prefixes: list[Path]) -> list[float]:
    """When each checkpoint was written, in seconds since 1970; those without files are left out."""
    result = []
    for prefix in checkpoint_prefixes:
        files = checkpoint_files(_text(prefix))
        if files:
            result.append(os.path.getmtime(files[0]))
    return result


def remove_checkpoint(
    checkpoint_prefix: Path, checkpoint_format_version: int = 2, meta_graph_suffix: str = "meta"
) -> None:
    """Deletes the files of a checkpoint, the graph beside it included."""
    prefix = _text(checkpoint_prefix)
    for path in [f"{prefix}.{meta_graph_suffix}", *checkpoint_files(prefix)]:
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)


def generate_checkpoint_state_proto(
    save_dir: Path,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: list[str] | None = None,
    all_model_checkpoint_timestamps: list[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> CheckpointState:
    """The state of a folder, as an object; see `update_checkpoint_state`.

    In a relative ``save_dir``, relative paths become relative to it, as in the file.
    """
    state = _state(
        model_checkpoint_path,
        all_model_checkpoint_paths,
        all_model_checkpoint_timestamps,
        last_preserved_timestamp,
    )
    folder = _text(save_dir)
    if not os.path.isabs(folder):
        state.model_checkpoint_path = _inside(folder, state.model_checkpoint_path)
        state.all_model_checkpoint_paths = [
            _inside(folder, path) for path in state.all_model_checkpoint_paths
        ]
    return state


def _inside(folder: str, path: str) -> str:
    return path if os.path.isabs(path) else os.path.relpath(path, folder or os.curdir)


def _state(
    model_checkpoint_path: str,
    all_model_checkpoint_paths: list[str] | None,
    all_model_checkpoint_timestamps: list[float] | None,
    last_preserved_timestamp: float | None,
) -> CheckpointState:
    """The latest path is added to all paths if it is missing there."""
    paths = list(all_model_checkpoint_paths or [])
    times = list(all_model_checkpoint_timestamps or [])
    if times and len(times) != len(paths):
        raise ValueError(
            f"Checkpoint timestamps, if provided, must match checkpoint paths: got {len(times)} "
            f"timestamps for {len(paths)} paths."
        )
    if model_checkpoint_path not in paths:
        paths.append(model_checkpoint_path)
        if times:
            times.append(time.time())
    return CheckpointState(model_checkpoint_path, paths, times, last_preserved_timestamp or 0.0)


def update_checkpoint_state(
    save_dir: Path,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: list[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: list[float] | None = None,
    last_preserved_timestamp: float | None = None,
    *,
    save_relative_paths: bool = False,
) -> None:
    """Writes the file ``checkpoint`` of a folder, in one step.

    Raises `RuntimeError` where that is a checkpoint's own name.
    """
    state = _state(
        model_checkpoint_path,
        all_model_checkpoint_paths,
        all_model_checkpoint_timestamps,
        last_preserved_timestamp,
    )
    directory = _text(save_dir) or "."
    path = os.path.join(directory, latest_filename or "checkpoint")
    if path == model_checkpoint_path:
        raise RuntimeError(
            f"Save path {model_checkpoint_path!r} conflicts with the path used for checkpoint "
            "state. Please use a different save path."
        )
    write_checkpoint_state(directory, state, latest_filename, relative=save_relative_paths)


def checkpoints_iterator(
    checkpoint_dir: Path,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Any = None,
) -> Iterator[str]:
    """Each new checkpoint of a folder as it appears.

    Ends after ``timeout`` seconds without a new one, unless ``timeout_fn()`` returns False.
    """
    last: str | None = None
    while True:
        started = time.monotonic()
        found = latest_checkpoint(checkpoint_dir)
        while found is None or found == last:
            if timeout is not None and time.monotonic() - started > timeout:
                break
            time.sleep(min(1.0, timeout or 1.0))
            found = latest_checkpoint(checkpoint_dir)
        if found is None or found == last:
            if timeout_fn is None or timeout_fn():
                return
            continue
        last = found
        yielded = time.monotonic()
        yield found
        wait = yielded + min_interval_secs - time.monotonic()
        if wait > 0:
            time.sleep(wait)


def prefix_of(ckpt_dir_or_file: Path) -> str:
    """A checkpoint's prefix, of the newest where a directory is given. Raises where there is none."""
    path = _text(ckpt_dir_or_file)
    if os.path.isdir(path):
        found = latest_checkpoint(path)
        if found is None:
            raise ValueError(
                f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}"
            )
        return found
    return path


def load_checkpoint(ckpt_dir_or_file: Path) -> CheckpointReader:
    """A reader of a checkpoint, or of the latest one of a folder."""
    return CheckpointReader(prefix_of(ckpt_dir_or_file))


def load_variable(ckpt_dir_or_file: Path, name: str) -> Any:
    """The value of one variable of a checkpoint, as an array."""
    reader = load_checkpoint(ckpt_dir_or_file)
    return reader.get_tensor(name if reader.has_tensor(name) else name.removesuffix(":0"))


def list_variables(ckpt_dir_or_file: Path) -> list[tuple[str, list[int]]]:
    """(name, shape) of all variables of a checkpoint, by name."""
    shapes = load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map()
    return sorted(shapes.items())

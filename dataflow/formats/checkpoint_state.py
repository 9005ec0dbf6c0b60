"""The file ``checkpoint``: which checkpoint of a folder is the latest, and which others are kept.

Its content is a CheckpointState message in protobuf's text format, as TensorFlow's Saver writes it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from dataflow.errors import DataLossError
from dataflow.formats.atomic_files import write_atomically
from dataflow.formats.local_paths import local_path

DEFAULT_FILENAME = "checkpoint"

Path = str | os.PathLike[str]


@dataclass
class CheckpointState:
    """What the file says; paths are prefixes, without the ending of any file.

    Attributes:
        model_checkpoint_path: the latest checkpoint.
        all_model_checkpoint_paths: all that are kept, oldest first, the latest included.
        all_model_checkpoint_timestamps: when each of them was written, seconds since 1970.
        last_preserved_timestamp: when one was last kept for good
            (``keep_checkpoint_every_n_hours``).
    """

    model_checkpoint_path: str = ""
    all_model_checkpoint_paths: list[str] = field(default_factory=list)
    all_model_checkpoint_timestamps: list[float] = field(default_factory=list)
    last_preserved_timestamp: float = 0.0


def write_checkpoint_state(
    directory: Path,
    state: CheckpointState,
    latest_filename: str | None = None,
    *,
    relative: bool = True,
) -> str:
    """Write ``state`` to ``directory`` in one step, and return the path of the file.

    With ``relative``, paths inside the folder are stored relative to it, so that the folder can be
    moved; TensorFlow reads both. Relative paths always are, as a reader of the file takes them so: they begin at
    the working folder where ``directory`` is relative, too, and else in ``directory``, as in TensorFlow.
    The latest path is added to all paths if it is missing there.
    """
    directory = local_path(directory)

    def stored(path: str) -> str:
        if not os.path.isabs(path):
            return (
                path if os.path.isabs(directory) else os.path.relpath(path, directory or os.curdir)
            )
        if not relative:
            return path
        inside = os.path.relpath(os.path.abspath(path), os.path.abspath(directory))
        return path if inside.startswith(os.pardir) else inside

    latest = state.model_checkpoint_path
    paths = list(state.all_model_checkpoint_paths)
    if latest not in paths:
        paths.append(latest)
    times = state.all_model_checkpoint_timestamps
    if times and len(times) != len(paths):
        raise ValueError(
            f"There are {len(paths)} checkpoint paths and {len(times)} timestamps; "
            "needed as many, or no timestamps."
        )
    lines = [f"model_checkpoint_path: {_quote(stored(latest))}"]
    lines += [f"all_model_checkpoint_paths: {_quote(stored(path))}" for path in paths]
    lines += [f"all_model_checkpoint_timestamps: {time!r}" for time in map(float, times)]
    if state.last_preserved_timestamp:
        lines.append(f"last_preserved_timestamp: {float(state.last_preserved_timestamp)!r}")
    path = os.path.join(directory, latest_filename or DEFAULT_FILENAME)
    write_atomically(path, ("\n".join(lines) + "\n").encode("utf-8"))
    return path


def read_checkpoint_state(
    directory: Path, latest_filename: str | None = None
) -> CheckpointState | None:
    """The state of the folder with all paths made whole, or ``None`` where there is no such file.

    Raises `DataLossError`, naming file and line, for a file that is no CheckpointState, and
    `ValueError` for one that names no checkpoint.
    """
    directory = local_path(directory)
    path = os.path.join(directory, latest_filename or DEFAULT_FILENAME)
    try:
        with open(path, encoding="utf-8") as opened:
            text = opened.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise DataLossError(message=f"{path}: not a checkpoint state file: {error}.") from error
    state = _parse(text, path)
    if not state.model_checkpoint_path:
        raise ValueError(
            f"Invalid checkpoint state loaded from {directory}: {path} does not say "
            "model_checkpoint_path. Delete the file, or save to this folder again."
        )
    state.model_checkpoint_path = os.path.join(directory, state.model_checkpoint_path)
    state.all_model_checkpoint_paths = [
        os.path.join(directory, kept) for kept in state.all_model_checkpoint_paths
    ]
    return state


_LINE = re.compile(
    r"""(?P<name>\w+) \s* : \s*
    (?P<value> (?: (?: "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' ) \s*)+ | [^\s\#"']+)
    \s* (?:\#.*)? $""",
    re.VERBOSE,
)
_QUOTED = re.compile(r""""((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'""")
_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_SIMPLE: dict[int, int] = dict(zip(b"nrtabfv", b"\n\r\t\a\b\f\v", strict=True))


def _parse(text: str, path: str) -> CheckpointState:
    state = CheckpointState()
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _LINE.match(stripped)
        try:
            if match is None:
                raise ValueError("it is no 'name: value'")
            _set(state, match["name"], match["value"])
        except ValueError as error:
            raise DataLossError(
                message=f"{path}, line {number}: {line!r} cannot be read: {error}. "
                "Is this the file 'checkpoint' of a checkpoint folder?"
            ) from error
    return state


def _set(state: CheckpointState, name: str, value: str) -> None:
    if name == "model_checkpoint_path":
        state.model_checkpoint_path = _unquote(value)
    elif name == "all_model_checkpoint_paths":
        state.all_model_checkpoint_paths.append(_unquote(value))
    elif name == "all_model_checkpoint_timestamps":
        state.all_model_checkpoint_timestamps.append(float(value))
    elif name == "last_preserved_timestamp":
        state.last_preserved_timestamp = float(value)
    else:
        raise ValueError(f"a checkpoint state has no field {name!r}")


def _quote(text: str) -> str:
    def escaped(byte: int) -> str:
        char = chr(byte)
        if char in "\"'\\":
            return "\\" + char
        return char if 32 <= byte < 127 else f"\\{byte:03o}"

    return '"' + "".join(map(escaped, os.fsencode(text))) + '"'


def _unquote(value: str) -> str:
    pieces = list(_QUOTED.finditer(value))
    if not pieces:
        raise ValueError("a path must be in quotes")
    raw = "".join(piece[1] if piece[1] is not None else piece[2] for piece in pieces)

    def plain(match: re.Match[bytes]) -> bytes:
        code: bytes = match[1]
        if code[:1] == b"x" and len(code) > 1:
            return bytes([int(code[1:], 16)])
        if code[:1].isdigit():
            return bytes([int(code, 8) & 0xFF])
        return bytes([_SIMPLE.get(code[0], code[0])])

    return os.fsdecode(_ESCAPE.sub(plain, raw.encode("utf-8")))

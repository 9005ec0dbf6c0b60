"""TensorFlow 1's error classes, and the two that are raised while a graph is being built.

Every run-time error is an `OpError`; its ``error_code`` is the number that gRPC and TensorFlow use.
"""

from __future__ import annotations

from typing import Any, NamedTuple

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


class FailedInput(NamedTuple):
    """An input of a node whose shapes or dtypes do not fit. ``argument`` is what the op calls it."""

    argument: str
    tensor: str
    dtype: str
    shape: str
    is_wrong: bool


class FailedNode(NamedTuple):
    """A node whose shapes or dtypes do not fit: what a picture of the error shows."""

    op_type: str
    name: str
    inputs: tuple[FailedInput, ...]


class OpError(Exception):
    """An error that belongs to a node of a graph.

    ``node_def`` and ``op`` say which node (``op`` may be ``None`` when the node was made by the
    runtime); ``message`` is the text; ``error_code`` the numeric class.
    """

    error_code: int = UNKNOWN
    #: Set where shapes or dtypes do not fit.
    failed_node: FailedNode | None = None

    def __init__(self, node_def: Any = None, op: Any = None, message: str = "", *_: Any) -> None:
        super().__init__(message)
        self._node_def = node_def
        self._op = op
        self._message = message

    @property
    def node_def(self) -> Any:
        """The node's definition, or ``None``."""
        return self._node_def

    @property
    def op(self) -> Any:
        """The `Operation` that failed, or ``None``."""
        return self._op

    @property
    def message(self) -> str:
        """What went wrong, where, and what to do."""
        return self._message

    def __str__(self) -> str:
        return self._message

    def __reduce__(self) -> Any:
        kept = {"failed_node": self.failed_node} if self.failed_node is not None else None
        return _rebuild, (type(self), self._message), kept


def _rebuild(error_class: type[OpError], message: str) -> OpError:
    return error_class(None, None, message)


class CancelledError(OpError):
    """The run was cancelled: a session or queue was closed, or the cell was interrupted."""

    error_code = CANCELLED


class UnknownError(OpError):
    """An error of no known class, for example one raised by a Python function in the graph."""

    error_code = UNKNOWN


class InvalidArgumentError(OpError):
    """An op received a value that it cannot work with."""

    error_code = INVALID_ARGUMENT


class DeadlineExceededError(OpError):
    """The time-out of a run passed before it was done."""

    error_code = DEADLINE_EXCEEDED


class NotFoundError(OpError):
    """A file, a variable or a checkpoint entry does not exist."""

    error_code = NOT_FOUND


class AlreadyExistsError(OpError):
    """Something that was to be made exists already."""

    error_code = ALREADY_EXISTS


class PermissionDeniedError(OpError):
    """The caller may not do this."""

    error_code = PERMISSION_DENIED


class UnauthenticatedError(OpError):
    """The caller did not show a valid key."""

    error_code = UNAUTHENTICATED


class ResourceExhaustedError(OpError):
    """Memory, disk or a quota ran out."""

    error_code = RESOURCE_EXHAUSTED


class FailedPreconditionError(OpError):
    """The system is not in the state that the op needs, as with an uninitialized variable."""

    error_code = FAILED_PRECONDITION


class AbortedError(OpError):
    """The run was given up half-way, usually because a task of the cluster was lost."""

    error_code = ABORTED


class OutOfRangeError(OpError):
    """An iterator, reader or queue has reached its end."""

    error_code = OUT_OF_RANGE


class UnimplementedError(OpError):
    """The op has no kernel for these inputs or on this device."""

    error_code = UNIMPLEMENTED


class InternalError(OpError):
    """An invariant of the system was broken."""

    error_code = INTERNAL


class UnavailableError(OpError):
    """A task of the cluster cannot be reached."""

    error_code = UNAVAILABLE


class DataLossError(OpError):
    """Stored data is damaged or truncated."""

    error_code = DATA_LOSS


class ShapeError(InvalidArgumentError, ValueError):
    """Static shapes do not fit; found when the node is made. TensorFlow raises `ValueError`."""


class DTypeError(InvalidArgumentError, TypeError):
    """Dtypes do not fit; found when the node is made. TensorFlow raises `TypeError`."""


class NoKernelError(NotFoundError, DTypeError):
    """No kernel takes inputs of these dtypes: of eager code, where TensorFlow raises `NotFoundError`."""


class CastError(UnimplementedError, DTypeError):
    """A cast between these dtypes does not exist. TensorFlow finds it when the node runs."""


class ConversionError(TypeError, ValueError):
    """No tensor can be made of a value. TensorFlow raises one in a graph, the other in eager code."""


class NoFileError(NotFoundError, FileNotFoundError):
    """There is no such file. What reads it in Python raises `FileNotFoundError`, an op `NotFoundError`."""


_CLASSES: dict[int, type[OpError]] = {
    c.error_code: c
    for c in (
        CancelledError,
        UnknownError,
        InvalidArgumentError,
        DeadlineExceededError,
        NotFoundError,
        AlreadyExistsError,
        PermissionDeniedError,
        UnauthenticatedError,
        ResourceExhaustedError,
        FailedPreconditionError,
        AbortedError,
        OutOfRangeError,
        UnimplementedError,
        InternalError,
        UnavailableError,
        DataLossError,
    )
}


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """The class with this code; raises `KeyError` for an unknown one."""
    return _CLASSES[error_code]


def error_code_from_exception_type(cls: type[OpError]) -> int:
    """The numeric code of an error class."""
    return cls.error_code


class raise_exception_on_not_ok_status:  # noqa: N801  (TensorFlow's name)
    """Accepted for old code: errors are raised directly here, so there is nothing to check."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None

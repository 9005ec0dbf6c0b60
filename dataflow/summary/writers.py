"""Writers of events that are resources of a session, and the condition under which summaries go to them.

The current writer and the condition belong to a thread, and are looked at while the graph is built; see
`dataflow.summary.recording`.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

from dataflow import logging as tf_logging
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.ops import summary_writers as ops
from dataflow.ops.control_flow import no_op
from dataflow.ops.math import equal, logical_and
from dataflow.ops.replicas import state as replicas
from dataflow.ops.sources import constant
from dataflow.ops.static_value import static_value
from dataflow.ops.variables import Variable
from dataflow.train.global_step import get_or_create_global_step

#: TensorFlow's name of the collection.
_INITIALIZERS = "_SUMMARY_WRITER_V2"


class _State(threading.local):
    #: A bool, a bool tensor, or a function that gives one; None where nothing was said.
    is_recording: Any = None
    writer: Any = None


summary_state = _State()


# ---- when ----------------------------------------------------------------------------------


@contextlib.contextmanager
def record_if(condition: Any) -> Iterator[None]:
    """Summaries of the block are written where ``condition`` holds: a bool, a bool tensor, or a function of one."""
    old = summary_state.is_recording
    try:
        summary_state.is_recording = condition
        yield
    finally:
        summary_state.is_recording = old


def always_record_summaries() -> Any:
    """A context manager: summaries of the block are written in each run."""
    return record_if(True)


def never_record_summaries() -> Any:
    """A context manager: summaries of the block are not written, nor computed."""
    return record_if(False)


def record_summaries_every_n_global_steps(n: int, global_step: Any = None) -> Any:
    """A context manager: summaries of the block are written where ``global_step % n == 0``.

    ``global_step``: an integer scalar, by default the graph's global step, made if need be.
    """
    if global_step is None:
        global_step = get_or_create_global_step()
    with default_graph().device("cpu:0"):
        return record_if(equal(global_step % n, 0))


def should_record_summaries() -> Tensor:
    """A scalar bool: whether summaries made here are written. False without a writer or a condition."""
    if summary_state.writer is None or _known(summary_state.is_recording) is False:
        return constant(False)
    condition = summary_state.is_recording
    recording: Tensor = logical_and(
        _is_first_replica(), False if condition is None else _value_of(condition)
    )
    return recording


def known_to_record() -> bool | None:
    """`should_record_summaries` where it is known while the graph is built, else None."""
    if summary_state.is_recording is None:
        return False
    known = _known(summary_state.is_recording)
    return known and _is_first_replica()


def _is_first_replica() -> bool:
    return replicas.replica is None or replicas.replica.index == 0


def _value_of(condition: Any) -> Any:
    return condition() if callable(condition) else condition


def _known(condition: Any) -> bool | None:
    """The condition where it is known while the graph is built, else None, as for "nothing was said"."""
    value = None if callable(condition) else condition
    value = static_value(value) if isinstance(value, Tensor) else value
    return None if value is None or isinstance(value, Variable) else bool(value)


# ---- writers -------------------------------------------------------------------------------


class _AsDefault:
    """A class, as `SummaryWriter.set_as_default` enters it and never leaves."""

    def __init__(self, writer: SummaryWriter) -> None:
        self._writer = writer
        self._old: Any = None

    def __enter__(self) -> SummaryWriter:
        self._old = summary_state.writer
        summary_state.writer = self._writer
        return self._writer

    def __exit__(self, *exc: object) -> None:
        try:
            if exc[0] is None:
                self._writer.flush()
        finally:
            summary_state.writer = self._old


class SummaryWriter:
    """Writes events to a file, which the operation of `init` makes; see `create_file_writer`."""

    def __init__(self, resource: Tensor, init_op_fn: Callable[[Tensor], Any]) -> None:
        self._resource = resource
        self._init_op_fn = init_op_fn
        default_graph().add_to_collection(_INITIALIZERS, self.init())

    @property
    def handle(self) -> Tensor:
        """The scalar that stands for the writer in a graph, as input of ops."""
        return self._resource

    def set_as_default(self, step: Any = None) -> None:
        """Summaries of this thread go to this writer from here on."""
        self.as_default().__enter__()

    def as_default(self, step: Any = None) -> Any:
        """A context manager: summaries of the block go to this writer.

        Its end adds an operation that flushes the writer to the graph; nothing runs it by itself. ``step``, here
        and in `set_as_default`, is taken as TensorFlow does, and without effect on this module's functions.
        """
        return _AsDefault(self)

    def init(self) -> Any:
        """An operation that makes the file."""
        return self._init_op_fn(self._resource)

    def flush(self) -> Any:
        """An operation that hands all events to the operating system."""
        with default_graph().device("cpu:0"):
            return ops.flush_summary_writer_op(self._resource)

    def close(self) -> Any:
        """An operation that flushes and finishes the file; `init` begins another."""
        graph = default_graph()
        with graph.control_dependencies([self.flush()]), graph.device("cpu:0"):
            return ops.close_summary_writer_op(self._resource)


class _NoSummaryWriter(SummaryWriter):
    """What `create_file_writer` gives for no folder: it changes nothing."""

    def __init__(self) -> None:
        """It has no resource."""

    def set_as_default(self, step: Any = None) -> None:
        """Does nothing."""

    @contextlib.contextmanager
    def as_default(self, step: Any = None) -> Iterator[None]:
        """Does nothing."""
        yield

    def init(self) -> None:
        """None."""

    def flush(self) -> None:
        """None."""

    def close(self) -> None:
        """None."""


def create_file_writer(
    logdir: Any,
    max_queue: Any = None,
    flush_millis: Any = None,
    filename_suffix: Any = None,
    name: str | None = None,
) -> SummaryWriter:
    """A writer of event files in ``logdir``; with None one that does nothing.

    Args:
        logdir: the folder, which is made if need be.
        max_queue: with more events than that the file is flushed; 10 by default.
        flush_millis: an event that comes so long after the last flush flushes; 120000 by default.
        filename_suffix: put at the end of the file's name; ``.v2`` by default.
        name: writers of one name are one in a session, and the first to be made says where it writes;
            ``logdir:`` and the folder by default.
    """
    if logdir is None:
        return _NoSummaryWriter()
    logdir = str(logdir)
    with default_graph().device("cpu:0"):
        if max_queue is None:
            max_queue = constant(10)
        if flush_millis is None:
            flush_millis = constant(2 * 60 * 1000)
        if filename_suffix is None:
            filename_suffix = constant(".v2")
        resource = ops.summary_writer_op(shared_name=name or f"logdir:{logdir}")

        def init(resource: Tensor) -> Any:
            return ops.create_summary_file_writer_op(
                resource, logdir, max_queue, flush_millis, filename_suffix
            )

        return SummaryWriter(resource, init)


def create_summary_file_writer(*args: Any, **kwargs: Any) -> SummaryWriter:
    """The old name of `create_file_writer`; warns."""
    tf_logging.warn(
        "Deprecation Warning: create_summary_file_writer was renamed to create_file_writer"
    )
    return create_file_writer(*args, **kwargs)


def summary_writer_initializer_op() -> list[Any]:
    """The operations that make the files of the default graph's writers."""
    return default_graph().get_collection(_INITIALIZERS)


def flush(writer: Any = None, name: str | None = None) -> Any:
    """An operation that flushes a `SummaryWriter`, by default the current one; one that does nothing without.

    ``writer`` may also be the handle of one.
    """
    writer = summary_state.writer if writer is None else writer
    if writer is None:
        return no_op()
    if isinstance(writer, SummaryWriter):
        return writer.flush()
    if not isinstance(writer, Tensor):
        raise TypeError(f"flush() takes a SummaryWriter or its handle, got {writer!r}.")
    with default_graph().device("cpu:0"):
        return ops.flush_summary_writer_op(writer, name=name)


def eval_dir(model_dir: str, name: str | None = None) -> str:
    """Where summaries of an evaluation go: ``eval`` in ``model_dir``, or ``eval_<name>``."""
    return os.path.join(model_dir, f"eval_{name}" if name else "eval")

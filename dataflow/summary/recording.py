"""Summaries that a run writes by itself: the functions of `tf.contrib.summary`.

A function that makes a summary gives a bool tensor, which writes one event when it is computed, and says whether it
did; without a writer it gives an operation that does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph, default_session
from dataflow.graph.graph import Graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import summary_writers as ops
from dataflow.ops.array import identity
from dataflow.ops.conditionals import cond
from dataflow.ops.control_flow import no_op
from dataflow.ops.sources import constant, placeholder
from dataflow.ops.static_value import static_value
from dataflow.ops.summary import summary_scope
from dataflow.summary.writers import (
    known_to_record,
    should_record_summaries,
    summary_state,
    summary_writer_initializer_op,
)
from dataflow.train.global_step import get_or_create_global_step

#: TensorFlow's name of the collection.
_SUMMARIES = "_SUMMARY_V2"


def initialize(graph: Any = None, session: Any = None) -> None:
    """Makes the files of all writers of the default graph, and writes ``graph`` (a `Graph` or ``GraphDef``).

    ``session``: by default the default session. Raises `RuntimeError` without a current writer, `ValueError` without
    a session.
    """
    if summary_state.writer is None:
        raise RuntimeError("No default tf.contrib.summary.SummaryWriter found")
    session = session or default_session()
    if session is None:
        raise ValueError("Argument `session` must be passed if no default session exists")
    session.run(summary_writer_initializer_op())
    if graph is not None:
        proto = graph.as_graph_def(add_shapes=True) if isinstance(graph, Graph) else graph
        serialized = placeholder(dtypes.string)
        session.run(graph_(serialized, 0), {serialized: proto.SerializeToString()})


def all_summary_ops() -> list[Any]:
    """What the functions of this module made in the default graph, but for `graph` and `import_event`."""
    return default_graph().get_collection(_SUMMARIES)


def _write(
    name: str, tensor: Any, family: str | None, write: Callable[[Tensor, str, str], Any]
) -> Any:
    """What ``write(handle, tag, scope)`` makes, where summaries are recorded."""
    graph = default_graph()
    outer = graph.get_name_scope()
    writer = summary_state.writer
    if writer is None:
        return no_op()

    def record() -> Tensor:
        with graph.name_scope(outer + "/" if outer else ""):
            with summary_scope(name, family, values=[tensor]) as (tag, scope):
                with graph.control_dependencies([write(writer.handle, tag, scope)]):
                    return constant(True)

    with graph.device("cpu:0"):
        condition = should_record_summaries()
        recording = known_to_record()
        if recording is None:
            recording = static_value(condition)
        if recording is None:
            op = cond(condition, record, lambda: constant(False), name="")
        else:
            op = record() if recording else constant(False)
        graph.add_to_collection(_SUMMARIES, op)
    return op


def _step(step: Any) -> Any:
    if step is None:
        return get_or_create_global_step()
    return step if isinstance(step, Tensor) else convert_to_tensor(step, dtypes.int64)


def generic(
    name: str, tensor: TensorLike, metadata: Any = None, family: str | None = None, step: Any = None
) -> Any:
    """Writes a whole tensor; ``metadata`` (a ``SummaryMetadata``, or a string) says which plugin shows it.

    Here and below: ``family`` groups tags in TensorBoard, and ``step`` is an int64 scalar, the global step by default.
    """

    def write(writer: Tensor, tag: str, scope: str) -> Any:
        serialized = metadata
        if metadata is None or hasattr(metadata, "SerializeToString"):
            serialized = constant("" if metadata is None else metadata.SerializeToString())
        return ops.write_summary_op(
            writer, _step(step), identity(tensor), tag, serialized, name=scope
        )

    return _write(name, tensor, family, write)


def scalar(name: str, tensor: TensorLike, family: str | None = None, step: Any = None) -> Any:
    """Writes one number."""
    return _write(
        name,
        tensor,
        family,
        lambda writer, tag, scope: ops.write_scalar_summary_op(
            writer, _step(step), tag, identity(tensor), name=scope
        ),
    )


def histogram(name: str, tensor: TensorLike, family: str | None = None, step: Any = None) -> Any:
    """Writes the distribution of a tensor's values, of any shape."""
    return _write(
        name,
        tensor,
        family,
        lambda writer, tag, scope: ops.write_histogram_summary_op(
            writer, _step(step), tag, identity(tensor), name=scope
        ),
    )


def image(
    name: str,
    tensor: TensorLike,
    bad_color: TensorLike | None = None,
    max_images: int = 3,
    family: str | None = None,
    step: Any = None,
) -> Any:
    """Writes pictures, ``[n, height, width, 1, 3 or 4]``, uint8 or float.

    ``bad_color``: four bytes, the color of pixels that are not finite; red by default.
    """

    def write(writer: Tensor, tag: str, scope: str) -> Any:
        color = bad_color
        if color is None:
            color = constant([255, 0, 0, 255], dtype=dtypes.uint8)
        return ops.write_image_summary_op(
            writer, _step(step), tag, identity(tensor), color, max_images=max_images, name=scope
        )

    return _write(name, tensor, family, write)


def audio(
    name: str,
    tensor: TensorLike,
    sample_rate: Any,
    max_outputs: int,
    family: str | None = None,
    step: Any = None,
) -> Any:
    """Writes sounds, ``[n, frames]`` or ``[n, frames, channels]``, from -1 to 1."""
    return _write(
        name,
        tensor,
        family,
        lambda writer, tag, scope: ops.write_audio_summary_op(
            writer,
            _step(step),
            tag,
            identity(tensor),
            sample_rate=sample_rate,
            max_outputs=max_outputs,
            name=scope,
        ),
    )


def graph_(param: Tensor, step: Any = None, name: str | None = None) -> Any:
    """Writes a graph, a string tensor with a serialized ``GraphDef``, whatever the condition is.

    Raises `TypeError` for anything but a tensor; `initialize` takes a `Graph`.
    """
    if not isinstance(param, Tensor):
        raise TypeError(
            "graph() needs a tf.Tensor (e.g. tf.placeholder) in graph mode, got "
            f"{type(param).__name__}. Pass a Graph to tf.contrib.summary.initialize(graph)."
        )
    writer = summary_state.writer
    if writer is None:
        return no_op()
    with default_graph().device("cpu:0"):
        tensor = identity(param)
        return ops.write_graph_summary_op(writer.handle, _step(step), tensor, name=name)


def import_event(tensor: TensorLike, name: str | None = None) -> Any:
    """Writes a serialized ``Event``, a scalar string, whatever the condition is.

    Raises `RuntimeError` without a current writer.
    """
    if summary_state.writer is None:
        raise RuntimeError("No default tf.contrib.summary.SummaryWriter found")
    return ops.import_event_op(summary_state.writer.handle, tensor, name=name)

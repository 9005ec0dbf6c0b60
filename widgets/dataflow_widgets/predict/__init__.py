"""Predict, then run: questions that are answered on the graph and graded by the engine.

    from dataflow_widgets import predict
    predict.pruned(pow_op, session=sess, name="lesson02.q1")

Each function makes a `Predict` widget. ``name`` is what the answers are kept under; ``text`` replaces
the question's own words, ``hints`` (three: look there, think this, nearly the answer) its hints, and ``explain`` adds to its explanation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from dataflow_widgets.predict.choices import ChoiceQuestion, ShapeQuestion, ValueQuestion
from dataflow_widgets.predict.graph_questions import NodesQuestion, OrderQuestion, PrunedQuestion
from dataflow_widgets.predict.recording import Access, Recording
from dataflow_widgets.predict.stale import StaleQuestion
from dataflow_widgets.predict.widget import Predict

__all__ = ["Access", "Predict", "Recording", "choice", "nodes", "order", "pruned", "recording"]
__all__ += ["shape", "stale_read", "value"]


def pruned(
    fetches: Any,
    feed_dict: Any = None,
    *,
    session: Any = None,
    graph: Any = None,
    show: Any = None,
    **options: Any,
) -> Predict:
    """Which nodes will a run of ``fetches`` with ``feed_dict`` leave out? Click them in the graph.

    The graph is ``graph``, the session's, or the default one; ``show`` restricts the question to a
    part of it, as in `nodes`. Graded by `needed_operations`, which
    is what the session itself asks. With ``session`` the run is made once and told in the
    explanation; its variables are afterwards what they were.
    """
    return Predict(PrunedQuestion(fetches, feed_dict, session, graph, show), **options)


def nodes(
    text: str,
    right: Any,
    *,
    graph: Any = None,
    show: Any = None,
    color: str = "",
    answer_color: str = "",
    **options: Any,
) -> Predict:
    """Any question that is answered by marking nodes. ``graph`` is the default one if not given.

    ``right`` are the operations, tensors or names that are meant, or a function of an operation
    that is true for them, so that the engine finds them. ``show`` is the part of the graph that the
    question is about: fetches, for what a run of them needs, or a function of an operation; the rest
    is not drawn. ``color="device"`` colors the nodes by their device, ``"type"`` by their type;
    ``answer_color`` does so when the answer is shown, for where it would give the answer away.
    """
    if graph is None:
        from dataflow.graph.default_stacks import default_graph

        graph = default_graph()
    return Predict(NodesQuestion(text, right, graph, show, color, answer_color), **options)


def order(
    session: Any, fetches: Any, feed_dict: Any = None, *, ops: Any = None, **options: Any
) -> Predict:
    """In which order can the nodes of this run be computed? Any order that respects the edges is
    right.

    The run is recorded once; its variables are afterwards what they were. ``ops`` restricts the
    question to some operations or tensors. Raises `ValueError` for fewer than two nodes or more
    than twelve.
    """
    return Predict(OrderQuestion(session, fetches, feed_dict, ops), **options)


def shape(
    tensor: Any,
    shapes: Sequence[Any] = (),
    *,
    dtypes: Sequence[Any] | None = None,
    shown: str = "",
    **options: Any,
) -> Predict:
    """What is the shape (and with ``dtypes`` the dtype) of a tensor?

    ``tensor`` is a tensor, or a function that builds one: then "none: it is an error" is a choice
    too, and the explanation holds the error. ``shapes`` are the wrong choices; the right one comes
    from the engine's shape rule. ``shown`` is the line of code that the question shows.
    """
    return Predict(ShapeQuestion(tensor, shapes, dtypes, shown), **options)


def value(session: Any, fetches: Any, feed_dict: Any = None, **options: Any) -> Predict:
    """Which value will this run return? A number, list, True or False is typed in.

    The run is made once; its variables are afterwards what they were. Numbers count as equal when
    they agree to three digits.
    """
    return Predict(ValueQuestion(session, fetches, feed_dict), **options)


def stale_read(record: Recording | Iterable[Access], **options: Any) -> Predict:
    """Which reads were stale: overtaken by another worker's write before their own was made?

    ``record`` is a `recording` of real runs, or accesses in order of time.
    """
    return Predict(StaleQuestion(list(record)), **options)


def recording(workers: Mapping[Any, str]) -> Recording:
    """Records which worker reads and writes which variable: ``with predict.recording({s0: "a"})``.

    ``workers`` maps sessions to the workers' names.
    """
    return Recording(workers)


def choice(
    text: str,
    choices: Sequence[str],
    answer: int | Callable[[], int],
    explain: str = "",
    **options: Any,
) -> Predict:
    """A plain question. ``answer`` is the index of the right choice, or a function that works it
    out with the engine, called when the question is made. In a variant of a lesson
    (`dataflow.course.variant`) the choices stand in an order that comes from its seed."""
    from dataflow.course import variants

    order = partial(variants.order, str(options.get("name") or text))
    return Predict(ChoiceQuestion(text, choices, answer, order), explain=explain, **options)

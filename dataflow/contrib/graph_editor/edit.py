"""Parts of a graph cut off, connected and passed by."""

from __future__ import annotations

from typing import Any

from dataflow.contrib.graph_editor.elements import (
    ControlOutputs,
    check_graphs,
    make_placeholder_from_tensor,
    placeholder_name,
)
from dataflow.contrib.graph_editor.reroute import (
    remove_control_inputs,
    reroute_inputs,
    reroute_ts,
    swap_inputs,
    swap_outputs,
)
from dataflow.contrib.graph_editor.select import check_cios
from dataflow.contrib.graph_editor.subgraph import SubGraphView, make_view
from dataflow.ops.sources import placeholder


def detach_control_inputs(sgv: Any) -> None:
    """Lets the operations of a view wait for none outside of it."""
    view = make_view(sgv)
    inside = set(view.ops)
    for op in view.ops:
        remove_control_inputs(op, [before for before in op.control_inputs if before not in inside])


def detach_control_outputs(sgv: Any, control_outputs: ControlOutputs) -> None:
    """Lets no operation outside of a view wait for one of it."""
    if not isinstance(control_outputs, ControlOutputs):
        raise TypeError(f"Expected a ControlOutputs, got: {type(control_outputs)}")
    view = make_view(sgv)
    inside = set(view.ops)
    for op in view.ops:
        for after in control_outputs.get(op):
            if after not in inside:
                remove_control_inputs(after, op)


def detach_inputs(sgv: Any, control_inputs: bool = False) -> tuple[SubGraphView, list[Any]]:
    """Puts placeholders in the places of a view's inputs; returns (the view, the placeholders)."""
    view = make_view(sgv)
    with view.graph.as_default():
        made = [placeholder(t.dtype.base_dtype, name=placeholder_name(t)) for t in view.inputs]
    swap_inputs(view, made)
    if control_inputs:
        detach_control_inputs(view)
    return view, made


def detach_outputs(sgv: Any, control_outputs: Any = None) -> tuple[SubGraphView, list[Any]]:
    """Lets the operations outside read placeholders in place of a view's outputs.

    Returns (a view with the outputs that somebody read, their placeholders).
    """
    view = make_view(sgv)
    inside = set(view.ops)
    view = view.remap_outputs(
        [t for t in view.outputs if any(user not in inside for user in t.consumers())]
    )
    with view.graph.as_default():
        made = [make_placeholder_from_tensor(t) for t in view.outputs]
    swap_outputs(view, made)
    if control_outputs is not None:
        detach_control_outputs(view, control_outputs)
    return view, made


def detach(
    sgv: Any, control_inputs: bool = False, control_outputs: Any = None, control_ios: Any = None
) -> tuple[Any, list[Any], list[Any]]:
    """Cuts a view off; returns (it, the placeholders it reads now, those that are read in its place)."""
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    view, inputs = detach_inputs(sgv, control_inputs)
    _, outputs = detach_outputs(view, control_outputs)
    return view, inputs, outputs


def connect(sgv0: Any, sgv1: Any, disconnect_first: bool = False) -> tuple[Any, Any]:
    """Lets the second view read the outputs of the first one; returns both views.

    With ``disconnect_first`` the others that read them get placeholders.
    """
    first, second = make_view(sgv0), make_view(sgv1)
    check_graphs(first, second)
    if disconnect_first:
        detach_outputs(first)
    reroute_inputs(SubGraphView(passthrough_ts=first.outputs), second)
    return first, second


def bypass(sgv: Any) -> tuple[Any, list[Any]]:
    """Lets the operations that read a view's outputs read its inputs; returns (the view, its placeholders)."""
    view = make_view(sgv)
    inputs = list(view.inputs)
    view, made = detach_inputs(view)
    reroute_ts(inputs, view.outputs)
    return view, made

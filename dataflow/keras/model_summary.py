"""The table that ``model.summary()`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataflow.graph import nest
from dataflow.keras import backend as K
from dataflow.keras.call_nodes import tag_of

if TYPE_CHECKING:
    from dataflow.keras.network import Model


def summary_lines(
    model: Model, width: int | None = None, positions: list[float] | None = None
) -> list[str]:
    """The lines, as Keras prints them; raises `ValueError` for a model without weights yet.

    A model whose layers are in one row has three columns; others name, in a fourth, the tensors
    that each layer takes. ``positions``: where the columns end, as shares of ``width``.
    """
    if not model.layers or (not model.outputs and not model.weights):
        raise ValueError(
            "This model has not yet been built. Give the first layer input_shape=..., or call fit() "
            "with some data."
        )
    in_a_row = _is_in_a_row(model)
    width = width or (65 if in_a_row else 98)
    shares = positions or ([0.45, 0.85, 1.0] if in_a_row else [0.33, 0.55, 0.67, 1.0])
    ends = [int(width * share) if share <= 1 else int(share) for share in shares]

    def row(*cells: str) -> str:
        line = ""
        for cell, end in zip(cells, ends, strict=False):
            line = (line + cell)[: end - 1].ljust(end)
        return line

    heads = ["Layer (type)", "Output Shape", "Param #", *([] if in_a_row else ["Connected to"])]
    lines = [f'Model: "{model.name}"', "_" * width, row(*heads), "=" * width]
    shown = [x for x in model.layers if not (x.name.endswith("_input") and len(model.layers) > 1)]
    for i, layer in enumerate(shown):
        kind = f"{layer.name} ({type(layer).__name__})"
        cells = [kind, _shape(layer), str(sum(map(K.count_params, layer.weights)))]
        first, *others = [""] if in_a_row else _sources(model, layer) or [""]
        lines.append(row(*cells, first))
        lines += [row("", "", "", source) for source in others]
        lines.append(("=" if i == len(shown) - 1 else "_") * width)
    trainable = sum(map(K.count_params, model.trainable_weights))
    total = model.count_params()
    lines += [f"Total params: {total:,}", f"Trainable params: {trainable:,}"]
    return [*lines, f"Non-trainable params: {total - trainable:,}", "_" * width]


def _shape(layer: Any) -> str:
    try:
        shape = layer.output_shape
    except AttributeError:
        return "multiple"
    return str(shape)


def _is_in_a_row(model: Model) -> bool:
    """Whether each layer is called once, on the one tensor that the layer before returned."""
    taken: set[int] = set()
    called: set[int] = set()
    for node in model.network_nodes:
        given = [id(tensor) for tensor in nest.flatten(node.inputs)]
        if len(given) > 1 or taken & set(given) or id(node.layer) in called:
            return False
        taken.update(given)
        called.add(id(node.layer))
    return len(model.inputs) <= 1


def _sources(model: Model, layer: Any) -> list[str]:
    """What the layer takes in this model, as "layer[call][output]"."""
    calls = [node for node in model.network_nodes if node.layer is layer]
    found = []
    for tensor in (t for node in calls for t in nest.flatten(node.inputs)):
        source, node, index = tag_of(tensor, "history")
        found.append(f"{source.name}[{source.inbound_nodes.index(node)}][{index}]")
    return found

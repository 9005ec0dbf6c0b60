"""The table that ``model.summary()`` prints."""

from __future__ import annotations

from typing import Any

from dataflow.keras import backend as K


def _shape(layer: Any) -> str:
    try:
        shape = layer.output_shape
    except AttributeError:
        return "multiple"
    return str(shape)


def summary_lines(model: Any, width: int) -> list[str]:
    """The lines, as Keras prints them; raises `ValueError` for a model without weights yet."""
    if not model.layers or (not model.outputs and not model.weights):
        raise ValueError(
            "This model has not yet been built. Give the first layer input_shape=..., or call fit() "
            "with some data."
        )
    columns = (int(width * 0.45), int(width * 0.85))

    def row(*cells: str) -> str:
        line = ""
        for cell, end in zip(cells, (*columns, width), strict=True):
            line = (line + cell)[: end - 1].ljust(end)
        return line.rstrip()

    lines = [f'Model: "{model.name}"', "_" * width]
    lines += [row("Layer (type)", "Output Shape", "Param #"), "=" * width]
    shown = [x for x in model.layers if not (x.name.endswith("_input") and len(model.layers) > 1)]
    for i, layer in enumerate(shown):
        kind = f"{layer.name} ({type(layer).__name__})"
        lines.append(row(kind, _shape(layer), str(sum(map(K.count_params, layer.weights)))))
        lines.append(("=" if i == len(shown) - 1 else "_") * width)
    trainable = sum(map(K.count_params, model.trainable_weights))
    total = model.count_params()
    lines += [f"Total params: {total:,}", f"Trainable params: {trainable:,}"]
    return [*lines, f"Non-trainable params: {total - trainable:,}", "_" * width]

"""`tf.keras.utils.plot_model`: the layers of a model as a picture, through Graphviz."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

from dataflow.graph import nest
from dataflow.keras.call_nodes import tag_of

if TYPE_CHECKING:
    from dataflow.keras.network import Model


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _shapes(layer: Any) -> str:
    try:
        ends = layer.input_shape, layer.output_shape
    except AttributeError:
        return "\\nshapes not known yet"
    return "".join(f"\\n{what}: {shape}" for what, shape in zip(("in", "out"), ends, strict=True))


def model_to_dot(
    model: Model, show_shapes: bool = False, show_layer_names: bool = True, rankdir: str = "TB"
) -> str:
    """The layers and what flows between them, in Graphviz's language.

    Raises `ValueError` for a model that does not know its inputs yet.
    """
    if not model.inputs:
        raise ValueError(
            "This model has not yet been built. Give the first layer input_shape=..., or call "
            "fit() with some data."
        )
    lines = ["digraph model {", f"  rankdir={rankdir};", "  node [shape=box];"]
    shown = {id(layer): f"layer_{i}" for i, layer in enumerate(model._layers)}
    for layer in model._layers:
        kind = type(layer).__name__
        label = f"{layer.name}: {kind}" if show_layer_names else kind
        label = _quoted(label) + (
            _quoted(_shapes(layer)).replace("\\\\n", "\\n") if show_shapes else ""
        )
        lines.append(f'  {shown[id(layer)]} [label="{label}"];')
    for node in model._network_nodes:
        for tensor in nest.flatten(node.inputs):
            source = tag_of(tensor, "history")[0]
            lines.append(f"  {shown[id(source)]} -> {shown[id(node.layer)]};")
    return "\n".join([*lines, "}", ""])


def plot_model(
    model: Model,
    to_file: str = "model.png",
    show_shapes: bool = False,
    show_layer_names: bool = True,
    rankdir: str = "TB",
    expand_nested: bool = False,
    dpi: int = 96,
) -> Any:
    """Writes a picture of the model's layers, as the file's ending says (png, svg, pdf, dot).

    A ``.dot`` file needs nothing; pictures need Graphviz's program ``dot``, and `ImportError` says
    so where it is missing. In a notebook a png is shown too. A model inside the model is one box.
    """
    text = model_to_dot(model, show_shapes, show_layer_names, rankdir)
    ending = os.path.splitext(to_file)[1].lstrip(".") or "png"
    if ending == "dot":
        with open(to_file, "w", encoding="utf-8") as opened:
            opened.write(text)
        return None
    program = shutil.which("dot")
    if program is None:
        raise ImportError(
            f"plot_model: {to_file} needs Graphviz, whose program dot is not on this machine "
            "(graphviz.org). Without it: plot_model(model, 'model.dot') writes its text, "
            "model.summary() prints the layers, and the graph itself is drawn when it is shown in "
            "a notebook: tf.get_default_graph()."
        )
    done = subprocess.run(
        [program, f"-T{ending}", f"-Gdpi={dpi}", "-o", to_file],
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode:
        raise ValueError(f"plot_model: Graphviz did not write {to_file}: {done.stderr.strip()}")
    try:
        from IPython import display
    except ImportError:
        return None
    image: Any = display.Image
    return image(filename=to_file) if ending == "png" else None

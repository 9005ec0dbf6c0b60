"""Embeddings for TensorBoard's projector: ``projector_config.pbtxt`` and the vectors beside it.

TensorBoard can read TensorFlow's checkpoints only where TensorFlow is installed. So the vectors are
also written as text (``tensor_path`` of the configuration): when `visualize_embeddings` finds a
checkpoint in the folder, and whenever a `Saver` saves to a folder with such a configuration.
"""

from __future__ import annotations

import io
import os
import re
from typing import Any

import numpy as np

from dataflow.formats.atomic_files import write_atomically
from dataflow.formats.local_paths import local_path

CONFIG_FILENAME = "projector_config.pbtxt"


def __getattr__(name: str) -> Any:
    if name in ("ProjectorConfig", "EmbeddingInfo", "SpriteMetadata"):
        from tensorboard.plugins.projector import projector_config_pb2

        return getattr(projector_config_pb2, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def visualize_embeddings(logdir: Any, config: Any) -> None:
    """Writes ``config`` to a folder (or to that of a `FileWriter`), for TensorBoard's projector.

    Embeddings that name no ``tensor_path`` get one; the file is written when the variable is next
    saved to that folder, or now where a checkpoint is there. Raises `ValueError` for no folder.
    """
    from google.protobuf import text_format

    folder = logdir.get_logdir() if hasattr(logdir, "get_logdir") else logdir
    if folder is None:
        raise ValueError("Expected logdir to be a path, but got None")
    folder = local_path(folder)
    stored = type(config)()
    stored.CopyFrom(config)
    for embedding in stored.embeddings:
        if embedding.tensor_name and not embedding.tensor_path:
            embedding.tensor_path = _vectors_name(embedding.tensor_name)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, CONFIG_FILENAME)
    write_atomically(path, text_format.MessageToString(stored).encode())
    prefix = stored.model_checkpoint_path or _latest(folder)
    if prefix:
        export_vectors(folder, prefix)


def _vectors_name(tensor_name: str) -> str:
    return re.sub(r"[^\w.-]", "_", tensor_name.removesuffix(":0")) + ".vectors.tsv"


def _latest(folder: str) -> str | None:
    from dataflow.train.checkpoint_management import latest_checkpoint

    return latest_checkpoint(folder)


def export_vectors(folder: str, prefix: str) -> list[str]:
    """Writes the vectors of all embeddings configured in ``folder`` from a checkpoint.

    Returns the files written. What the checkpoint does not hold, or what is no matrix, is left out.
    """
    from google.protobuf import text_format
    from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

    from dataflow.formats.checkpoint_reader import CheckpointReader, checkpoint_files

    if not checkpoint_files(prefix):
        return []
    path = os.path.join(folder, CONFIG_FILENAME)
    with open(path, encoding="utf-8") as opened:
        config = text_format.Parse(opened.read(), ProjectorConfig())
    reader = CheckpointReader(prefix)
    written = []
    for embedding in config.embeddings:
        name = embedding.tensor_name.removesuffix(":0")
        # Only what this module named itself; other paths are the user's own files.
        if embedding.tensor_path != _vectors_name(name) or not reader.has_tensor(name):
            continue
        matrix = np.asarray(reader.get_tensor(name))
        if matrix.ndim != 2:
            continue
        out = io.StringIO()
        np.savetxt(out, matrix, fmt="%.7g", delimiter="\t")
        target = os.path.join(folder, embedding.tensor_path)
        write_atomically(target, out.getvalue().encode())
        written.append(target)
    return written


def export_after_save(prefix: str) -> None:
    """Called by `Saver.save`: does nothing unless the folder has a projector configuration."""
    folder = os.path.dirname(os.path.abspath(prefix))
    if os.path.isfile(os.path.join(folder, CONFIG_FILENAME)):
        export_vectors(folder, prefix)

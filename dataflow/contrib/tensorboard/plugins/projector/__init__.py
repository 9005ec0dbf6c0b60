"""``tf.contrib.tensorboard.plugins.projector``: see `dataflow.summary.projector`."""

from __future__ import annotations

from typing import Any

from dataflow.summary import projector as _projector
from dataflow.summary.projector import visualize_embeddings

__all__ = ["EmbeddingInfo", "ProjectorConfig", "SpriteMetadata", "visualize_embeddings"]


def __getattr__(name: str) -> Any:
    return getattr(_projector, name)

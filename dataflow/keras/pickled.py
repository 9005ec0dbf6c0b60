"""Models in pickles and as deep copies: what `save_model` writes, as bytes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

_NAME = "model.safetensors"


def reduced(model: Any) -> tuple[Any, ...]:
    """What `pickle` keeps of a model: a function and its argument, which make the model again.

    Raises `TypeError` or `NotImplementedError` where `save_model` does.
    """
    from dataflow.keras.saving import save_model

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / _NAME
        save_model(model, path)
        return restored, (path.read_bytes(),)


def restored(content: bytes) -> Any:
    """The model of the bytes; lambdas come back, as a pickle may hold any code anyway."""
    from dataflow.keras.saving import load_model

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / _NAME
        path.write_bytes(content)
        return load_model(path, safe_mode=False)

"""The results of an evaluation as summaries, as TensorFlow's estimators write them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import logging
from dataflow.errors import InvalidArgumentError
from dataflow.formats.summary_protos import (
    fill_tensor_proto,
    new_summary,
    parse_summary,
    scalar_summary,
)


def result_summary(key: str, value: Any) -> Any:
    """A number as a scalar, an array as a tensor, a serialized ``Summary`` with numbered tags; None for the rest."""
    if isinstance(value, bytes):
        return _numbered(key, value)
    if isinstance(value, (tuple, list, dict)):
        logging.warning("Skipping summary for %s: it is neither a number nor an array.", key)
        return None
    if np.ndim(value) == 0:
        return scalar_summary(key, float(value))
    summary = new_summary()
    fill_tensor_proto(summary.value.add(tag=key, node_name=key).tensor, value)
    logging.info(
        "Summary for np.ndarray is not visible in Tensorboard by default. Consider using a "
        "Tensorboard plugin for visualization."
    )
    return summary


def _numbered(key: str, serialized: bytes) -> Any:
    try:
        summary = parse_summary(serialized)
    except InvalidArgumentError:
        logging.warning("Skipping summary for %s, cannot parse string to Summary.", key)
        return None
    for number, part in enumerate(summary.value):
        part.tag = f"{key}/{number}"
    return summary

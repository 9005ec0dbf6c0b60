"""Named so that programs import; the data is not part of dataflow_datasets."""

from __future__ import annotations

from typing import Any


def load_data(*args: Any, **kwargs: Any) -> Any:
    """Raises `NotImplementedError`, which names what there is instead."""
    raise NotImplementedError(
        "tf.keras.datasets.boston_housing is not available here: dataflow does not download it. "
        "There are mnist, movie_reviews, housing and others in the package dataflow_datasets."
    )

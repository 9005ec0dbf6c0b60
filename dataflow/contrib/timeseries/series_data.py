"""Series as arrays: their shapes, and the times that follow them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.contrib.timeseries.keys import FilteringResults, TrainEvalFeatures

_TIMES, _VALUES = TrainEvalFeatures.TIMES, TrainEvalFeatures.VALUES


def as_batch(data: dict[str, Any], single: bool) -> dict[str, Any]:
    """Arrays [batch, window, ...] of one step, of a series [window, ...], or of several [batch, window, ...].

    Values of one feature may lack the last axis. ``single``: there must be one series. Raises `ValueError`
    where times or values are missing, and for shapes that do not fit.
    """
    features = {key: np.array(value) for key, value in data.items()}
    if _TIMES not in features or _VALUES not in features:
        raise ValueError(f"{_TIMES} and {_VALUES} are required features, got {sorted(features)}.")
    shape = features[_TIMES].shape
    if len(shape) > 2:
        raise ValueError(f"Expected times [batch size, series length] at most, got shape {shape}.")
    for key, value in features.items():
        if value.shape[: len(shape)] != shape:
            raise ValueError(
                "All features must have their shapes prefixed by the shape of the times feature. "
                f"Got shape {value.shape} for feature {key!r}, but shape {shape} for {_TIMES!r}."
            )
    rank = features[_VALUES].ndim
    if rank == len(shape) and rank < 2:
        features[_VALUES] = features[_VALUES][..., None]
    elif rank != len(shape) + 1:
        raise ValueError(
            f"Got an unexpected number of dimensions for the {_VALUES!r} feature: shape "
            f"{features[_VALUES].shape} with times of shape {shape}."
        )
    for _ in range(2 - len(shape)):
        features = {key: value[None] for key, value in features.items()}
    if single and features[_TIMES].shape[0] != 1:
        raise ValueError("Got batch input, was expecting unbatched input: one series.")
    return features


def times_after(times: Any, steps: int | None, previous: dict[str, Any]) -> Any:
    """Times [batch, n] after those of ``previous``: the ones given, or so many steps.

    Raises `ValueError` unless one of ``times`` and ``steps`` is given, and for times that are not later.
    """
    if (steps is None) == (times is None):
        both = "Only one" if steps is not None else "One"
        raise ValueError(f"{both} of `steps` and `times` must be specified.")
    known = np.asarray(previous[FilteringResults.TIMES])
    if steps is not None:
        return known[:, -1:] + 1 + np.arange(steps)[None]
    found = np.array(times)
    if found.ndim != 2:
        found = found[None]
    if known.shape[0] != found.shape[0]:
        raise ValueError(
            "`times` must have a batch dimension matching the previous model output (got a batch dimension "
            f"of {found.shape[0]} for `times` and {known.shape[0]} for the previous model output)."
        )
    if not (known[:, -1] < found[:, 0]).all():
        raise ValueError("Prediction times must be after the corresponding previous model output.")
    return found

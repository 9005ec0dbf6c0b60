"""Predictions of an exported time-series model: from its start, and from where an earlier result ended."""

from __future__ import annotations

from typing import Any

from dataflow.contrib.timeseries.head import state_to_dictionary
from dataflow.contrib.timeseries.keys import FilteringResults, SavedModelLabels
from dataflow.contrib.timeseries.series_data import as_batch, times_after

__all__ = ["cold_start_filter", "filter_continuation", "predict_continuation"]

_TIMES = FilteringResults.TIMES


def _run(
    label: str, signatures: Any, session: Any, features: dict[str, Any], before: Any
) -> dict[str, Any]:
    """The outputs of a signature, with the times of ``features``."""
    signature = signatures.signature_def[label]
    state: dict[str, Any] = {}
    if before is not None:
        given = before.get(FilteringResults.STATE_TUPLE)
        state = before if given is None else state_to_dictionary(given)
    graph = session.graph
    feeds = {
        graph.as_graph_element(tensor.name): {**state, **features}[key]
        for key, tensor in signature.inputs.items()
        if key in state or key in features
    }
    fetches = {key: graph.as_graph_element(t.name) for key, t in signature.outputs.items()}
    return {**session.run(fetches, feed_dict=feeds), _TIMES: features[_TIMES]}


def predict_continuation(
    continue_from: dict[str, Any],
    signatures: Any,
    session: Any,
    steps: int | None = None,
    times: Any = None,
    exogenous_features: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Predictions that go on after an evaluation or a filtering: ``steps`` steps, or at ``times``.

    ``signatures``: what `tf.saved_model.loader.load` returned in ``session``. Raises `ValueError` as
    `predict_continuation_input_fn` does.
    """
    features = {_TIMES: times_after(times, steps, continue_from), **(exogenous_features or {})}
    return _run(SavedModelLabels.PREDICT, signatures, session, features, continue_from)


def cold_start_filter(signatures: Any, session: Any, features: dict[str, Any]) -> dict[str, Any]:
    """The state after a series, from the model's start state: what `predict_continuation` goes on from."""
    data = as_batch(features, single=False)
    return _run(SavedModelLabels.COLD_START_FILTER, signatures, session, data, None)


def filter_continuation(
    continue_from: dict[str, Any], signatures: Any, session: Any, features: dict[str, Any]
) -> dict[str, Any]:
    """The state after a series that goes on where an earlier result ended."""
    data = as_batch(features, single=False)
    return _run(SavedModelLabels.FILTER, signatures, session, data, continue_from)

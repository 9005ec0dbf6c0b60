"""`PredictionKey`: the names of the predictions of the canned estimators."""

from __future__ import annotations


class PredictionKey:
    """Keys of the dicts that `predict` gives, and of a `MetricSpec`'s ``prediction_key``."""

    CLASSES = "classes"
    PROBABILITIES = "probabilities"
    LOGITS = "logits"
    LOGISTIC = "logistic"
    SCORES = "scores"
    TOP_K = "top_k"
    GENERIC = "output"

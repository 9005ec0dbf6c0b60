"""Names of features and results of time series, as programs write them: ``TrainEvalFeatures.TIMES``."""

from __future__ import annotations


class State:
    """A model's state: a tuple under one name, or a feature for each part of it."""

    STATE_TUPLE = "start_tuple"
    STATE_PREFIX = "model_state"


class Times:
    """Integer times [batch, window]."""

    TIMES = "times"


class Values:
    """Values [batch, window, features]."""

    VALUES = "values"


class TrainEvalFeatures(Times, Values):
    """What training and evaluation need."""


class PredictionFeatures(Times, State):
    """What a prediction needs."""


class FilteringFeatures(Times, Values, State):
    """What it takes to go on from a state with new values."""


class PredictionResults(Times):
    """What a prediction returns beside the model's own."""


class FilteringResults(Times, State):
    """What an evaluation returns beside the model's own."""


class SavedModelLabels:
    """The signatures of an exported model."""

    PREDICT = "serving_default"
    FILTER = "filter"
    COLD_START_FILTER = "cold_start_filter"

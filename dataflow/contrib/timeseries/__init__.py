"""``tf.contrib.timeseries``: autoregressive models of time series as estimators, and readers of series."""

from __future__ import annotations

from dataflow.contrib.timeseries import saved_model_utils as saved_model_utils
from dataflow.contrib.timeseries.ar_model import ARModel
from dataflow.contrib.timeseries.estimators import (
    ARRegressor,
    LSTMAutoRegressor,
    TimeSeriesRegressor,
)
from dataflow.contrib.timeseries.head import OneShotPredictionHead
from dataflow.contrib.timeseries.keys import FilteringResults, TrainEvalFeatures
from dataflow.contrib.timeseries.readers import (
    CSVReader,
    NumpyReader,
    RandomWindowInputFn,
    TFExampleReader,
    WholeDatasetInputFn,
    predict_continuation_input_fn,
)
from dataflow.namespaces import explain_absent

__all__ = [
    "ARModel",
    "ARRegressor",
    "CSVReader",
    "FilteringResults",
    "LSTMAutoRegressor",
    "NumpyReader",
    "OneShotPredictionHead",
    "RandomWindowInputFn",
    "TFExampleReader",
    "TimeSeriesRegressor",
    "TrainEvalFeatures",
    "WholeDatasetInputFn",
    "predict_continuation_input_fn",
    "saved_model_utils",
]

__getattr__ = explain_absent(__name__)

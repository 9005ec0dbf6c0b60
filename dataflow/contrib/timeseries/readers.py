"""Where series come from, arrays and files, and the input functions that cut them into windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow import dtypes, nest
from dataflow.contrib.timeseries.keys import (
    FilteringResults,
    PredictionFeatures,
    TrainEvalFeatures,
)
from dataflow.contrib.timeseries.series_data import as_batch, times_after
from dataflow.data.dataset import Dataset
from dataflow.data.file_datasets import TextLineDataset, TFRecordDataset
from dataflow.data.iterators import make_one_shot_iterator
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.ops import array
from dataflow.ops.parsing import decode_csv, parse_example
from dataflow.ops.random import random_uniform
from dataflow.ops.reduce import reduce_all
from dataflow.ops.sequences import argsort
from dataflow.train.batching import batch, maybe_shuffle_batch
from dataflow.train.input import limit_epochs

_TIMES, _VALUES = TrainEvalFeatures.TIMES, TrainEvalFeatures.VALUES
_ALL = 1 << 40


class TimeSeriesReader:
    """The base of readers: `read` gives some steps of the series, `read_full` all of them, again and again."""

    def check_dataset_size(self, minimum_dataset_size: int) -> None:
        """Raises `ValueError` for a series that is known to be shorter."""

    def read(self) -> dict[str, Tensor]:
        """Tensors [steps, ...] by feature: the next steps of the series, from its start after its end."""
        raise NotImplementedError

    def read_full(self) -> dict[str, Tensor]:
        """Tensors [steps, ...] by feature: the whole series."""
        raise NotImplementedError


class NumpyReader(TimeSeriesReader):
    """Reads arrays: ``data`` has "times" [n] and "values" [n] or [n, features], and more features [n, ...]."""

    def __init__(self, data: dict[str, Any], read_num_records_hint: int = 4096) -> None:
        self._features = {key: value[0] for key, value in as_batch(data, single=True).items()}
        self._hint = read_num_records_hint

    def check_dataset_size(self, minimum_dataset_size: int) -> None:
        size = len(self._features[_TIMES])
        if size < minimum_dataset_size:
            raise ValueError(
                f"A TimeSeriesInputFn is configured to create windows of size {minimum_dataset_size}, but "
                f"only {size} records were available in the dataset. Either decrease the window size or "
                "provide more records."
            )

    def _next(self, size: int) -> dict[str, Tensor]:
        steps = Dataset.from_tensor_slices(self._features).batch(size).repeat()
        found: dict[str, Tensor] = make_one_shot_iterator(steps).get_next()
        return found

    def read(self) -> dict[str, Tensor]:
        return self._next(self._hint)

    def read_full(self) -> dict[str, Tensor]:
        return {key: convert_to_tensor(value) for key, value in self._features.items()}


class ReaderBaseTimeSeriesParser(TimeSeriesReader):
    """The base of readers of files, whose records a subclass turns into features."""

    def __init__(self, filenames: Any, read_num_records_hint: int = 4096) -> None:
        self._filenames = np.atleast_1d(np.asarray(filenames)).tolist()
        self._hint = read_num_records_hint

    def _records(self, filename: Any) -> Any:
        """The data set of one file's records."""
        raise NotImplementedError

    def _process_records(self, lines: Tensor) -> dict[str, Tensor]:
        """The features of records [n]."""
        raise NotImplementedError

    def _next(self, size: int) -> dict[str, Tensor]:
        files = Dataset.from_tensor_slices(self._filenames)
        records = files.flat_map(self._records).batch(size).repeat()
        return self._process_records(make_one_shot_iterator(records).get_next())

    def read(self) -> dict[str, Tensor]:
        return self._next(self._hint)

    def read_full(self) -> dict[str, Tensor]:
        return self._next(_ALL)


class CSVReader(ReaderBaseTimeSeriesParser):
    """Reads lines of numbers and texts between commas.

    ``column_names``: one of them "times", at least one "values"; columns of the same name are the features of
    one. ``column_dtypes``: int64 for times and float32 by default. ``skip_header_lines``: in each file. Raises
    `ValueError` for names that lack one of the two, or have several times, and for as many dtypes as names.
    """

    def __init__(
        self,
        filenames: Any,
        column_names: Sequence[str] = (_TIMES, _VALUES),
        column_dtypes: Sequence[Any] | None = None,
        skip_header_lines: int | None = None,
        read_num_records_hint: int = 4096,
    ) -> None:
        for needed in (_TIMES, _VALUES):
            if needed not in column_names:
                raise ValueError(f"{needed!r} is a required column, got {list(column_names)}.")
        if column_dtypes is not None and len(column_dtypes) != len(column_names):
            raise ValueError(
                "If specified, the length of column_dtypes must match the length of column_names "
                f"(got column_dtypes={column_dtypes} and column_names={column_names})."
            )
        if list(column_names).count(_TIMES) != 1:
            raise ValueError(
                f"Got more than one times column ({_TIMES!r}), but exactly one is required."
            )
        self._column_names = column_names
        self._column_dtypes = column_dtypes
        self._skipped = skip_header_lines or 0
        super().__init__(filenames, read_num_records_hint)

    def _records(self, filename: Any) -> Any:
        return TextLineDataset(filename).skip(self._skipped)

    def _process_records(self, lines: Tensor) -> dict[str, Tensor]:
        kinds = self._column_dtypes or [
            dtypes.int64 if name == _TIMES else dtypes.float32 for name in self._column_names
        ]
        empty = [np.array([b"" if k == dtypes.string else 0], k.as_numpy_dtype) for k in kinds]
        found: dict[str, list[Tensor]] = {}
        for name, column in zip(self._column_names, decode_csv(lines, empty), strict=True):
            found.setdefault(name, []).append(column)
        return {
            name: columns[0] if name == _TIMES else array.stack(columns, axis=1)
            for name, columns in found.items()
        }


class TFExampleReader(ReaderBaseTimeSeriesParser):
    """Reads TFRecord files of Examples, one for each step; ``features``: as `tf.parse_example` takes them."""

    def __init__(self, filenames: Any, features: dict[str, Any]) -> None:
        for needed in (_TIMES, _VALUES):
            if needed not in features:
                raise ValueError(f"{needed!r} is a required column, got {sorted(features)}.")
        self._features = features
        super().__init__(filenames)

    def _records(self, filename: Any) -> Any:
        return TFRecordDataset(filename)

    def _process_records(self, lines: Tensor) -> dict[str, Tensor]:
        found: dict[str, Tensor] = parse_example(lines, self._features)
        return found


class TimeSeriesInputFn:
    """An input function: `create_batch` makes (features, None)."""

    def create_batch(self) -> tuple[dict[str, Tensor], None]:
        """Features [batch, window, ...], and no labels."""
        raise NotImplementedError

    def __call__(self) -> tuple[dict[str, Tensor], None]:
        return self.create_batch()


class WholeDatasetInputFn(TimeSeriesInputFn):
    """The whole series as one window."""

    def __init__(self, time_series_reader: TimeSeriesReader) -> None:
        self._reader = time_series_reader

    def create_batch(self) -> tuple[dict[str, Tensor], None]:
        return {key: value[None] for key, value in self._reader.read_full().items()}, None


class RandomWindowInputFn(TimeSeriesInputFn):
    """Windows of ``window_size`` steps from everywhere in the series, ``batch_size`` at a time.

    Steps are read in order, cut into windows after a random offset (``jitter``) and shuffled. A window across the
    series' end, where times fall, is left out (``discard_out_of_order``) or sorted. ``shuffle_seed`` repeats the
    order as long as ``jitter`` is False and ``num_threads`` is 1.
    """

    def __init__(
        self,
        time_series_reader: TimeSeriesReader,
        window_size: int,
        batch_size: int,
        queue_capacity_multiplier: int = 1000,
        shuffle_min_after_dequeue_multiplier: int = 2,
        discard_out_of_order: bool = True,
        discard_consecutive_batches_limit: int = 1000,
        jitter: bool = True,
        num_threads: int | None = 2,
        shuffle_seed: int | None = None,
    ) -> None:
        time_series_reader.check_dataset_size(window_size)
        self._reader = time_series_reader
        self._window_size, self._batch_size = window_size, batch_size
        self._capacity = queue_capacity_multiplier * batch_size
        self._min_after_dequeue = shuffle_min_after_dequeue_multiplier * batch_size
        self._discards = discard_out_of_order
        self._jitter = jitter
        self._num_threads = num_threads or batch_size
        self._seed = shuffle_seed

    def create_batch(self) -> tuple[dict[str, Tensor], None]:
        offset: Any = 0
        if self._jitter:
            offset = random_uniform([], maxval=2, dtype=dtypes.int32)
        steps = batch(
            self._reader.read(),
            batch_size=self._window_size * self._batch_size + offset,
            enqueue_many=True,
            capacity=self._capacity * self._window_size,
            num_threads=self._num_threads,
        )
        windows = {}
        for key, value in steps.items():
            rest = value.shape[1:].as_list()
            shape = [self._batch_size, self._window_size, *rest]
            windows[key] = array.reshape(value[offset:], shape)
        times = windows[_TIMES]
        keep: Any = True
        if self._discards:
            keep = reduce_all(times[:, 1:] >= times[:, :-1], axis=1)
        else:
            order = argsort(times, axis=1)
            windows = {
                key: array.gather(value, order, batch_dims=1) for key, value in windows.items()
            }
        found = maybe_shuffle_batch(
            windows,
            num_threads=self._num_threads,
            seed=self._seed,
            batch_size=self._batch_size,
            capacity=self._capacity,
            min_after_dequeue=self._min_after_dequeue,
            keep_input=keep,
            enqueue_many=True,
        )
        return found, None


def predict_continuation_input_fn(
    evaluation: dict[str, Any],
    steps: int | None = None,
    times: Any = None,
    exogenous_features: dict[str, Any] | None = None,
) -> Callable[[], Any]:
    """The input function of a prediction that goes on after an evaluation: ``steps`` steps, or at ``times``.

    ``exogenous_features``: [batch, steps, ...] by name. Raises `ValueError` as `times_after` does.
    """
    features = {
        PredictionFeatures.STATE_TUPLE: evaluation[FilteringResults.STATE_TUPLE],
        PredictionFeatures.TIMES: times_after(times, steps, evaluation),
        **(exogenous_features or {}),
    }

    def input_fn() -> Any:
        once = {
            key: (
                nest.map_structure(lambda part: limit_epochs(part, num_epochs=1), value)
                if key == PredictionFeatures.STATE_TUPLE
                else limit_epochs(convert_to_tensor(value), num_epochs=1)
            )
            for key, value in features.items()
        }
        return once, None

    return input_fn

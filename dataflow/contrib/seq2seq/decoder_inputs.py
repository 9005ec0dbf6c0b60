"""Helpers: where a decoder's next input comes from, and when a sequence ends.

While training it is the true sequence (teacher forcing, Williams and Zipser 1989), in use what the
decoder said the step before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow import dtypes
from dataflow.graph import nest
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.comparison import equal, greater_equal, less
from dataflow.ops.conditionals import cond
from dataflow.ops.embedding import embedding_lookup
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import cast
from dataflow.ops.random import categorical, random_uniform
from dataflow.ops.reduce import argmax, reduce_all
from dataflow.ops.seeds import count_left_out, counted_as
from dataflow.ops.tensor_array import TensorArray
from dataflow.ops.tensor_values import is_tensor
from dataflow.shapes import TensorShape


class Helper:
    """Base: `initialize`, `sample` and `next_inputs` are called as a decoder goes along."""

    @property
    def batch_size(self) -> Any:
        """The number of sequences."""
        raise NotImplementedError("batch_size has not been implemented")

    @property
    def sample_ids_shape(self) -> TensorShape:
        """The shape of one sample, without the batch."""
        return TensorShape([])

    @property
    def sample_ids_dtype(self) -> Any:
        """The dtype of samples."""
        return dtypes.int32

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """(which sequences are finished, the first inputs)."""
        raise NotImplementedError

    def sample(self, time: TensorLike, outputs: Any, state: Any, name: str | None = None) -> Any:
        """What is chosen from the outputs of a step."""
        raise NotImplementedError

    def next_inputs(
        self, time: TensorLike, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """(finished, next inputs, next state)."""
        raise NotImplementedError


class CustomHelper(Helper):
    """A helper made of three functions with the arguments of `Helper`'s methods."""

    def __init__(
        self,
        initialize_fn: Callable[..., Any],
        sample_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., Any],
        sample_ids_shape: Any = None,
        sample_ids_dtype: Any = None,
    ) -> None:
        self._initialize_fn = initialize_fn
        self._sample_fn = sample_fn
        self._next_inputs_fn = next_inputs_fn
        self._batch_size: Any = None
        self._shape = TensorShape(sample_ids_shape or [])
        self._kind = sample_ids_dtype or dtypes.int32

    @property
    def batch_size(self) -> Any:
        if self._batch_size is None:
            raise ValueError("batch_size accessed before initialize was called")
        return self._batch_size

    @property
    def sample_ids_shape(self) -> TensorShape:
        return self._shape

    @property
    def sample_ids_dtype(self) -> Any:
        return self._kind

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        with name_scope(name, "CustomHelperInitialize"):
            finished, inputs = self._initialize_fn()
            if self._batch_size is None:
                self._batch_size = array.size(finished)
        return finished, inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        with name_scope(name, "CustomHelperSample"):
            return self._sample_fn(time=time, outputs=outputs, state=state)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        with name_scope(name, "CustomHelperNextInputs"):
            return self._next_inputs_fn(  # type: ignore[no-any-return]
                time=time, outputs=outputs, state=state, sample_ids=sample_ids
            )


class TrainingHelper(Helper):
    """Teacher forcing: reads ``inputs`` [batch, time, ...] (a nesting), whatever was predicted.

    ``sequence_length`` [batch]; with ``time_major`` the inputs are [time, batch, ...]. Raises
    `ValueError` where the lengths are no vector.
    """

    def __init__(
        self, inputs: Any, sequence_length: Any, time_major: bool = False, name: str | None = None
    ) -> None:
        with name_scope(name, "TrainingHelper"):
            inputs = nest.map_structure(convert_to_tensor, inputs)
            if not time_major:
                inputs = nest.map_structure(_time_first, inputs)
            self._inputs = inputs
            self._sequence_length = convert_to_tensor(sequence_length, name="sequence_length")
            if self._sequence_length.shape.ndims != 1:
                raise ValueError(
                    "Expected sequence_length to be a vector, but received shape: "
                    f"{self._sequence_length.shape}"
                )
            self._arrays = nest.map_structure(_as_array, inputs)
            self._zeros = nest.map_structure(lambda t: array.zeros_like(t[0]), inputs)
            count_left_out(
                not is_tensor(sequence_length)
            )  # the batch's size is that of another node
            self._batch_size = array.size(self._sequence_length)

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    @property
    def inputs(self) -> Any:
        """The inputs, time first."""
        return self._inputs

    @property
    def sequence_length(self) -> Any:
        """The lengths [batch]."""
        return self._sequence_length

    def _at(self, time: TensorLike, finished: Any) -> Any:
        """The inputs of a step; zeros after the last one."""
        return _read(self._arrays, self._zeros, time, finished)

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        with name_scope(name, "TrainingHelperInitialize"):
            finished = equal(0, self._sequence_length)
            return finished, self._at(0, finished)

    def sample(self, time: TensorLike, outputs: Any, state: Any, name: str | None = None) -> Any:
        with name_scope(name, "TrainingHelperSample"):
            return cast(argmax(outputs, axis=-1), dtypes.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        with name_scope(name, "TrainingHelperNextInputs"):
            following = time + 1
            finished = greater_equal(
                following, cast(self._sequence_length, following.dtype.base_dtype)
            )
            return finished, self._at(following, finished), state


def _time_first(tensor: Any) -> Any:
    rank = tensor.shape.ndims
    if rank is None or rank < 2:
        raise ValueError(f"inputs must be [batch, time, ...] of known rank, got {tensor.shape}")
    with counted_as(8):  # the axes are joined from ranges there
        return array.transpose(tensor, [1, 0, *range(2, rank)])


def _as_array(tensor: Any) -> TensorArray:
    empty = TensorArray(
        tensor.dtype.base_dtype,
        size=array.shape(tensor)[0],
        element_shape=tensor.shape[1:],
        clear_after_read=False,  # a gradient, and a second decoder, read it again
    )
    return empty.unstack(tensor)


def _read(arrays: Any, zeros: Any, time: TensorLike, finished: Any) -> Any:
    """What is in the arrays at a step; zeros when all sequences are finished."""
    all_finished = reduce_all(finished)

    def read(source: TensorArray, zero: Any) -> Any:
        result = cond(all_finished, lambda: zero, lambda: source.read(time))
        result.set_shape(zero.shape)
        return result

    return nest.map_structure(read, arrays, zeros)


def start_and_end(start_tokens: Any, end_token: Any) -> tuple[Tensor, Tensor]:
    """The tokens [batch] that begin the sequences, and the one that ends them, as int32 tensors.

    Raises `ValueError` for other shapes.
    """
    start = convert_to_tensor(start_tokens, dtypes.int32, name="start_tokens")
    end = convert_to_tensor(end_token, dtypes.int32, name="end_token")
    if start.shape.ndims != 1:
        raise ValueError("start_tokens must be a vector")
    if end.shape.ndims != 0:
        raise ValueError("end_token must be a scalar")
    return start, end


def as_embedding_fn(embedding: Any) -> Callable[[Any], Any]:
    """A table of embeddings as the function that looks ids up; functions stay what they are."""
    return embedding if callable(embedding) else (lambda ids: embedding_lookup(embedding, ids))


def _probability(sampling_probability: Any) -> Tensor:
    """As float32; raises `ValueError` unless it is a scalar or a vector."""
    probability = convert_to_tensor(sampling_probability, dtypes.float32)
    if probability.shape.ndims not in (0, 1):
        raise ValueError(
            "sampling_probability must be either a scalar or a vector. saw shape: "
            f"{probability.shape}"
        )
    return probability


def _drawn(logits: Any, seed: int | None) -> Tensor:
    """A class for each row, from the softmax of its logits; int32."""
    with counted_as(39):  # a distribution's sample there
        count_left_out(24)
        return categorical(logits, 1, dtype=dtypes.int32, seed=seed)[:, 0]  # type: ignore[no-any-return]


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """Teacher forcing that takes a sample from its own output with ``sampling_probability``.

    `sample` gives -1 where the true input is read. Source: Bengio et al., "Scheduled sampling for
    sequence prediction with recurrent neural networks", 2015.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        embedding: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        scheduling_seed: int | None = None,
        name: str | None = None,
    ) -> None:
        with name_scope(name, "ScheduledEmbeddingSamplingWrapper"):
            self._embedding_fn = as_embedding_fn(embedding)
            self._probability = _probability(sampling_probability)
            self._seed = seed
            self._scheduling_seed = scheduling_seed
            super().__init__(inputs, sequence_length, time_major)

    def sample(self, time: TensorLike, outputs: Any, state: Any, name: str | None = None) -> Any:
        with name_scope(name, "ScheduledEmbeddingTrainingHelperSample"):
            with counted_as(34):
                rows = array.shape(outputs)[:1]
                count_left_out(13)
                chance = random_uniform(rows, seed=self._scheduling_seed)
                takes = less(chance, self._probability)
            drawn = _drawn(outputs, self._seed)
            return array.where(takes, drawn, array.fill(array.shape(drawn), -1))

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        with name_scope(name, "ScheduledEmbeddingTrainingHelperNextInputs"):
            finished, true_inputs, state = super().next_inputs(time, outputs, state, sample_ids)
            with counted_as(29):
                sampled = greater_equal(sample_ids, 0)
                ids = array.where(sampled, sample_ids, array.zeros_like(sample_ids))
                chosen = array.where(sampled, self._embedding_fn(ids), true_inputs)
            return finished, chosen, state


class ScheduledOutputTrainingHelper(TrainingHelper):
    """Teacher forcing that reads its own output with ``sampling_probability``.

    `sample` gives 1 where the output is read, 0 where the true input is. ``next_inputs_fn`` (a function, or
    a layer) makes an input of an output, which otherwise has an input's shape. ``auxiliary_inputs`` (a nesting
    as ``inputs``) are appended to every input, whether true or sampled. Source: Bengio et al., "Scheduled
    sampling for sequence prediction with recurrent neural networks", 2015.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        next_inputs_fn: Callable[[Any], Any] | None = None,
        auxiliary_inputs: Any = None,
        name: str | None = None,
    ) -> None:
        with name_scope(name, "ScheduledOutputTrainingHelper"):
            self._probability = _probability(sampling_probability)
            self._seed = seed
            self._next_inputs_fn = next_inputs_fn
            self._auxiliary = None
            if auxiliary_inputs is not None:
                inputs = nest.map_structure(convert_to_tensor, inputs)
                auxiliary = nest.map_structure(convert_to_tensor, auxiliary_inputs)
                inputs = nest.map_structure(
                    lambda x, y: array.concat([x, y], -1), inputs, auxiliary
                )
                if not time_major:
                    auxiliary = nest.map_structure(_time_first, auxiliary)
                zeros = nest.map_structure(lambda t: array.zeros_like(t[0]), auxiliary)
                self._auxiliary = nest.map_structure(_as_array, auxiliary), zeros
            super().__init__(inputs, sequence_length, time_major)

    def sample(self, time: TensorLike, outputs: Any, state: Any, name: str | None = None) -> Any:
        with name_scope(name, "ScheduledOutputTrainingHelperSample"):
            with counted_as(35):
                rows = array.stack([self.batch_size])
                count_left_out(16)
                chance = random_uniform(rows, seed=self._seed)
                return cast(less(chance, self._probability), dtypes.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        with name_scope(name, "ScheduledOutputTrainingHelperNextInputs"):
            finished, true_inputs, state = super().next_inputs(time, outputs, state, sample_ids)
            own = outputs if self._next_inputs_fn is None else self._next_inputs_fn(outputs)
            if self._auxiliary is not None:
                extra = _read(*self._auxiliary, time + 1, finished)
                own = nest.map_structure(lambda x, y: array.concat([x, y], -1), own, extra)
            with counted_as(17):
                sampled = cast(sample_ids, dtypes.bool_)
                chosen = nest.map_structure(
                    lambda o, t: array.where(sampled, o, t), own, true_inputs
                )
            return finished, chosen, state


class GreedyEmbeddingHelper(Helper):
    """Feeds the embedding of the likeliest symbol back, until it is ``end_token``.

    ``embedding``: a table [symbols, size] or a function of ids; ``start_tokens`` [batch] int32;
    ``end_token`` a scalar. Raises `ValueError` for other shapes.
    """

    def __init__(self, embedding: Any, start_tokens: Any, end_token: Any) -> None:
        self._embedding_fn = as_embedding_fn(embedding)
        self._start_tokens, self._end_token = start_and_end(start_tokens, end_token)
        count_left_out(not is_tensor(start_tokens))
        self._batch_size = array.size(self._start_tokens)
        self._start_inputs = self._embedding_fn(self._start_tokens)

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        return array.fill(array.shape(self._start_tokens), False), self._start_inputs

    def sample(self, time: TensorLike, outputs: Any, state: Any, name: str | None = None) -> Any:
        return argmax(outputs, axis=-1, output_type=dtypes.int32)

    def next_inputs(
        self, time: TensorLike, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        finished = equal(sample_ids, self._end_token)
        inputs = cond(
            reduce_all(finished),
            lambda: self._start_inputs,  # nothing reads them any more
            lambda: self._embedding_fn(sample_ids),
        )
        inputs.set_shape(self._start_inputs.shape)
        return finished, inputs, state


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """As `GreedyEmbeddingHelper`, with a symbol drawn from the softmax of the outputs.

    ``softmax_temperature`` divides the outputs: above 1 the draws are more even.
    """

    def __init__(
        self,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        softmax_temperature: Any = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._temperature = softmax_temperature
        self._seed = seed

    def sample(self, time: TensorLike, outputs: Any, state: Any, name: str | None = None) -> Any:
        logits = outputs if self._temperature is None else outputs / self._temperature
        return _drawn(logits, self._seed)


class InferenceHelper(Helper):
    """Feeds back what ``sample_fn(outputs)`` gives, until ``end_fn(sample)`` is true.

    ``next_inputs_fn`` makes an input from a sample; without it the sample is the input.
    """

    def __init__(
        self,
        sample_fn: Callable[[Any], Any],
        sample_shape: Any,
        sample_dtype: Any,
        start_inputs: Any,
        end_fn: Callable[[Any], Any],
        next_inputs_fn: Callable[[Any], Any] | None = None,
    ) -> None:
        self._sample_fn = sample_fn
        self._end_fn = end_fn
        self._shape = TensorShape(sample_shape)
        self._kind = dtypes.as_dtype(sample_dtype)
        self._next_inputs_fn = next_inputs_fn
        self._start_inputs = convert_to_tensor(start_inputs, name="start_inputs")
        self._batch_size = array.shape(self._start_inputs)[0]

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    @property
    def sample_ids_shape(self) -> TensorShape:
        return self._shape

    @property
    def sample_ids_dtype(self) -> Any:
        return self._kind

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        return array.fill([self._batch_size], False), self._start_inputs

    def sample(self, time: TensorLike, outputs: Any, state: Any, name: str | None = None) -> Any:
        return self._sample_fn(outputs)

    def next_inputs(
        self, time: TensorLike, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        following = self._next_inputs_fn(sample_ids) if self._next_inputs_fn else sample_ids
        return self._end_fn(sample_ids), following, state

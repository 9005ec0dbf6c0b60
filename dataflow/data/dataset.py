"""`Dataset`: a stream of elements, described by a chain of nodes and read through an iterator."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.data.functions import FunctionGraph, trace
from dataflow.data.iterators import Iterator
from dataflow.data.structure import Structure, dims_like, flatten, leaf_tensor, pack, to_tensors
from dataflow.dtypes import DType, as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.ops import dataset as ops
from dataflow.ops.sources import constant
from dataflow.ops.static_value import static_value

AUTOTUNE = -1
INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2


class Dataset:
    """A stream of elements. An element is a tensor, or a nesting of tuples and dicts of tensors.

    Nothing is read until an iterator is made and its ``get_next()`` is run. Every method returns
    a new dataset.
    """

    def __init__(self, structure: Structure, build: Callable[[], Tensor]) -> None:
        self._structure = structure
        self._build = build

    def _as_variant_tensor(self) -> Tensor:
        """The nodes of this dataset, added to the default graph."""
        return self._build()

    # ---- sources --------------------------------------------------------------------------

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """A dataset of one element."""
        nested = to_tensors(tensors, "component")
        structure = Structure.of(nested)
        flat = flatten(nested)
        return Dataset(structure, lambda: ops.tensor_dataset_op(flat, output_shapes=structure.dims))

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """A dataset of the rows of arrays (a pandas frame: one row each).

        Raises `ValueError` when the components differ in their number of rows.
        """
        nested = to_tensors(tensors, "component")
        flat = flatten(nested)
        lengths: dict[int, Any] = {}
        for tensor in flat:
            if tensor.dims == ():
                raise ValueError("Unbatching a tensor is only supported for rank >= 1")
            if tensor.dims is not None and tensor.dims[0] is not None:
                lengths.setdefault(tensor.dims[0], tensor)
        if len(lengths) > 1:
            known = nested if isinstance(nested, dict) else {}
            names = {id(t): repr(key) for key, t in known.items()}
            text = ", ".join(f"{n} rows ({names.get(id(t), t.name)})" for n, t in lengths.items())
            raise ValueError(f"Dimensions of the components are not compatible: {text}")
        structure = Structure.of(nested).with_dims(
            [None if t.dims is None else t.dims[1:] for t in flat]
        )
        return Dataset(
            structure, lambda: ops.tensor_slice_dataset_op(flat, output_shapes=structure.dims)
        )

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Any = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """What ``generator(*args)`` yields; it is called anew for every iteration.

        ``output_types`` (and ``output_shapes``) say the structure. An element that does not fit is
        an `InvalidArgumentError`.
        """
        if not callable(generator):
            raise TypeError("`generator` must be callable: pass the function, not what it returns.")
        if output_types is None:
            raise TypeError("from_generator needs output_types, as in output_types=tf.int64.")
        types = [as_dtype(t).base_dtype for t in flatten(output_types)]
        structure = Structure(output_types, types, dims_like(output_types, output_shapes))
        values = [np.asarray(static_value(convert_to_tensor(a))) for a in args or ()]

        def start() -> Any:
            for item in generator(*values):
                yield _generated(item, structure)

        def build() -> Tensor:
            return ops.generator_dataset_op(  # type: ignore[no-any-return]
                generator=start, output_types=types, output_shapes=structure.dims
            )

        return Dataset(structure, build)

    @staticmethod
    def range(*args: Any, **kwargs: Any) -> Dataset:
        """Numbers as `range` counts them, int64."""
        dtype = as_dtype(kwargs.get("output_type", dtypes.int64))
        start, stop, step = {1: (0, *args, 1), 2: (*args, 1), 3: args}[len(args)]
        structure = Structure(0, [dtype], [()])
        return Dataset(
            structure,
            lambda: ops.range_dataset_op(
                _int64(start), _int64(stop), _int64(step), output_types=[dtype], output_shapes=[()]
            ),
        )

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Elements of several datasets side by side, in the nesting in which they are given."""
        nested = args[0] if len(args) == 1 else (args if args else datasets)
        if isinstance(nested, list):
            raise TypeError(
                "The argument to Dataset.zip must be a nesting of datasets; use a tuple, not a list."
            )
        flat = flatten(nested)
        for one in flat:
            if not isinstance(one, Dataset):
                raise TypeError(f"Dataset.zip takes datasets, got {type(one).__name__}.")
        structure = Structure(
            pack(nested, [d._structure.nesting for d in flat]),
            [t for d in flat for t in d._structure.dtypes],
            [s for d in flat for s in d._structure.dims],
        )
        return Dataset(
            structure,
            lambda: ops.zip_dataset_op(
                [d._as_variant_tensor() for d in flat],
                output_types=structure.dtypes,
                output_shapes=structure.dims,
            ),
        )

    @staticmethod
    def list_files(
        file_pattern: Any, shuffle: Any = None, seed: Any = None, name: str | None = None
    ) -> Dataset:
        """Names of the files that match a pattern, shuffled unless ``shuffle=False``."""
        from dataflow.gfile import Glob

        patterns = file_pattern if isinstance(file_pattern, (list, tuple)) else [file_pattern]
        found = sorted(path for pattern in patterns for path in Glob(pattern))
        if not found:
            raise ValueError(f"No files matched pattern: {file_pattern}")
        result = Dataset.from_tensor_slices(np.array(found))
        if shuffle is None or shuffle:
            result = result.shuffle(len(found), seed)
        return result

    # ---- order and choice -----------------------------------------------------------------

    def _change(self, op: Any, *inputs: Any, **attrs: Any) -> Dataset:
        structure = self._structure
        return Dataset(
            structure,
            lambda: op(
                self._as_variant_tensor(),
                *[make() for make in inputs],
                output_types=structure.dtypes,
                output_shapes=structure.dims,
                **attrs,
            ),
        )

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """This dataset, then another one of the same structure."""
        ours, theirs = self._structure, dataset._structure
        if ours.dtypes != theirs.dtypes:
            raise TypeError(
                f"Two datasets to concatenate have different types {ours.types} and {theirs.types}"
            )
        structure = ours.with_dims(
            [shapes.common(a, b) for a, b in zip(ours.dims, theirs.dims, strict=True)]
        )
        return Dataset(
            structure,
            lambda: ops.concatenate_dataset_op(
                self._as_variant_tensor(),
                dataset._as_variant_tensor(),
                output_types=structure.dtypes,
                output_shapes=structure.dims,
            ),
        )

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """The dataset ``count`` times; for ever when ``None`` or -1."""
        return self._change(ops.repeat_dataset_op, _scalar(-1 if count is None else count))

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """The first ``count`` elements (all when -1)."""
        return self._change(ops.take_dataset_op, _scalar(count))

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """All but the first ``count`` elements."""
        return self._change(ops.skip_dataset_op, _scalar(count))

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Every ``num_shards``-th element, from number ``index`` on."""
        return self._change(ops.shard_dataset_op, _scalar(num_shards), _scalar(index))

    def shuffle(
        self,
        buffer_size: Any,
        seed: Any = None,
        reshuffle_each_iteration: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Elements drawn at random from a buffer of ``buffer_size``.

        With the same ``seed`` (or graph seed) the order is the same in every session.
        """
        from dataflow.ops.seeds import get_seed

        first, second = get_seed(seed)
        return self._change(
            ops.shuffle_dataset_op,
            _scalar(buffer_size),
            _scalar(first or 0),
            _scalar(second or 0),
            reshuffle_each_iteration=True
            if reshuffle_each_iteration is None
            else bool(reshuffle_each_iteration),
        )

    def cache(self, filename: Any = "", name: str | None = None) -> Dataset:
        """Keeps the elements of the first iteration in memory, or in a file."""
        return self._change(ops.cache_dataset_op, lambda: constant(filename or "", dtypes.string))

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Dataset:
        """Makes up to ``buffer_size`` elements ahead, in a thread."""
        return self._change(
            ops.prefetch_dataset_op, _scalar(-1 if buffer_size is None else buffer_size)
        )

    # ---- batches --------------------------------------------------------------------------

    def batch(
        self,
        batch_size: Any,
        drop_remainder: Any = False,
        num_parallel_calls: Any = None,
        deterministic: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Stacks ``batch_size`` elements; the last batch may be smaller unless it is dropped."""
        size = _static(batch_size) if drop_remainder is True else None
        structure = self._structure.with_dims(
            [None if d is None else (size, *d) for d in self._structure.dims]
        )
        return Dataset(
            structure,
            lambda: ops.batch_dataset_op(
                self._as_variant_tensor(),
                _int64(batch_size),
                convert_to_tensor(drop_remainder, dtypes.bool_),
                output_types=structure.dtypes,
                output_shapes=structure.dims,
            ),
        )

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: Any = False,
        name: str | None = None,
    ) -> Dataset:
        """As `batch`, with elements padded to ``padded_shapes`` (-1 or None: to the longest)."""
        ours = self._structure
        wanted = dims_like(ours.nesting, padded_shapes) if padded_shapes is not None else ours.dims
        if any(d is None for d in wanted):
            raise ValueError("padded_batch needs padded_shapes of known rank for every component")
        for dims, given in zip(ours.dims, wanted, strict=True):
            if dims is not None and len(dims) != len(given or ()):
                raise ValueError(
                    f"The padded shape {shapes.format_dims(given)} is not compatible with the "
                    f"corresponding input component shape {shapes.format_dims(dims)}."
                )
        if padding_values is None:
            fillers: list[Any] = [b"" if t.kind == "S" else 0 for t in ours.dtypes]
        else:
            fillers = flatten(padding_values)
            if len(fillers) == 1:
                fillers *= len(ours.dtypes)
        size = _static(batch_size) if drop_remainder is True else None
        structure = ours.with_dims([(size, *(d or ())) for d in wanted])
        return Dataset(
            structure,
            lambda: ops.padded_batch_dataset_op(
                self._as_variant_tensor(),
                _int64(batch_size),
                [constant([-1 if s is None else s for s in d or ()], dtypes.int64) for d in wanted],
                [_filler(f, t) for f, t in zip(fillers, ours.dtypes, strict=True)],
                convert_to_tensor(drop_remainder, dtypes.bool_),
                output_shapes=structure.dims,
            ),
        )

    def unbatch(self, name: str | None = None) -> Dataset:
        """The rows of every element, one by one."""
        structure = self._structure.with_dims(
            [None if d is None else d[1:] for d in self._structure.dims]
        )
        return Dataset(
            structure,
            lambda: ops.unbatch_dataset_op(
                self._as_variant_tensor(),
                output_types=structure.dtypes,
                output_shapes=structure.dims,
            ),
        )

    def window(
        self,
        size: Any,
        shift: Any = None,
        stride: Any = 1,
        drop_remainder: Any = False,
        name: str | None = None,
    ) -> Dataset:
        """Windows of ``size`` elements, each component a dataset."""
        inner = self._structure
        count = len(inner.dtypes)
        structure = Structure(inner.nesting, [dtypes.variant] * count, [()] * count)
        result = Dataset(
            structure,
            lambda: ops.window_dataset_op(
                self._as_variant_tensor(),
                _int64(size),
                _int64(size if shift is None else shift),
                _int64(stride),
                convert_to_tensor(drop_remainder, dtypes.bool_),
                output_types=structure.dtypes,
                output_shapes=structure.dims,
            ),
        )
        result._nested = [
            Structure(0, [t], [d]) for t, d in zip(inner.dtypes, inner.dims, strict=True)
        ]
        return result

    #: For datasets of datasets: the structure of each component's elements.
    _nested: list[Structure] | None = None

    # ---- functions ------------------------------------------------------------------------

    def _trace(self, function: Callable[..., Any], name: str) -> tuple[FunctionGraph, Any]:
        """The function's graph, and the nesting of what it returned."""
        ours = self._structure
        nested: Any = None

        def call(inputs: list[Tensor]) -> list[Tensor]:
            nonlocal nested
            parts: list[Any] = list(inputs)
            if self._nested is not None:
                parts = [
                    Dataset(s, functools.partial(_same, t))
                    for s, t in zip(self._nested, inputs, strict=True)
                ]
            element = ours.pack(parts)
            result = function(*element) if type(element) is tuple else function(element)
            if isinstance(result, Dataset):
                nested = result
                return [result._as_variant_tensor()]
            if isinstance(result, list):  # what an op with several outputs returned
                result = tuple(result)
            nested = to_tensors(result)
            return flatten(nested)

        graph = trace(function, name, ours.dtypes, ours.dims, call)
        return graph, nested

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """``map_func`` of every element; it is traced once into a graph of its own.

        A tuple is given as several arguments. With ``num_parallel_calls`` elements are computed in
        threads, in order.
        """
        graph, nested = self._trace(map_func, "map_func")
        if isinstance(nested, Dataset):
            raise TypeError("map_func returned a dataset: use flat_map or interleave.")
        structure = Structure(
            nested, [t.dtype.base_dtype for t in graph.outputs], [t.dims for t in graph.outputs]
        )
        parallel = 0 if num_parallel_calls is None else _static(num_parallel_calls) or 0
        return Dataset(
            structure,
            lambda: ops.map_dataset_op(
                self._as_variant_tensor(),
                graph.captured,
                f=graph,
                num_parallel_calls=parallel,
                output_types=structure.dtypes,
                output_shapes=structure.dims,
            ),
        )

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements for which ``predicate`` gives a true scalar."""
        graph, nested = self._trace(predicate, "predicate")
        if (
            len(graph.outputs) != 1
            or not graph.outputs[0].dtype.is_bool
            or (graph.outputs[0].dims not in ((), None))
        ):
            raise ValueError(
                f"`predicate` must return a scalar boolean tensor, but it returned {nested}."
            )
        structure = self._structure
        return Dataset(
            structure,
            lambda: ops.filter_dataset_op(
                self._as_variant_tensor(),
                graph.captured,
                predicate=graph,
                output_types=structure.dtypes,
                output_shapes=structure.dims,
            ),
        )

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """The datasets that ``map_func`` makes of the elements, one after the other."""
        graph, nested = self._trace(map_func, "map_func")
        if not isinstance(nested, Dataset):
            raise TypeError(
                f"`map_func` must return a `Dataset` object, got {type(nested).__name__}."
            )
        structure = nested._structure
        return Dataset(
            structure,
            lambda: ops.flat_map_dataset_op(
                self._as_variant_tensor(),
                graph.captured,
                f=graph,
                output_types=structure.dtypes,
                output_shapes=structure.dims,
            ),
        )

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """The datasets of ``cycle_length`` elements at a time, ``block_length`` from each in turn."""
        graph, nested = self._trace(map_func, "map_func")
        if not isinstance(nested, Dataset):
            raise TypeError(
                f"`map_func` must return a `Dataset` object, got {type(nested).__name__}."
            )
        structure = nested._structure
        cycle = 2 if cycle_length is None or cycle_length == AUTOTUNE else cycle_length
        return Dataset(
            structure,
            lambda: ops.interleave_dataset_op(
                self._as_variant_tensor(),
                graph.captured,
                _int64(cycle),
                _int64(1 if block_length is None else block_length),
                f=graph,
                output_types=structure.dtypes,
                output_shapes=structure.dims,
            ),
        )

    def _with_state(
        self, function: Callable[..., Any], state: Any, name: str
    ) -> tuple[FunctionGraph, Any, list[Tensor]]:
        initial = to_tensors(state)
        flat = flatten(initial)
        ours = self._structure
        nested: Any = None

        def call(inputs: list[Tensor]) -> list[Tensor]:
            nonlocal nested
            packed = pack(initial, inputs[: len(flat)])
            element = ours.pack(inputs[len(flat) :])
            nested = to_tensors(function(packed, element))
            return flatten(nested)

        graph = trace(
            function,
            name,
            [t.dtype.base_dtype for t in flat] + ours.dtypes,
            [t.dims for t in flat] + ours.dims,
            call,
        )
        return graph, nested, flat

    def reduce(
        self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None
    ) -> Any:
        """``reduce_func(state, element)`` along the dataset; the last state as tensors."""
        graph, nested, flat = self._with_state(reduce_func, initial_state, "reduce_func")
        for before, after in zip(flat, graph.outputs, strict=True):
            if before.dtype.base_dtype is not after.dtype.base_dtype:
                raise TypeError(
                    f"The state has dtype {before.dtype.name}, reduce_func returns {after.dtype.name}."
                )
        outputs = ops.reduce_dataset_op(
            self._as_variant_tensor(),
            flat,
            graph.captured,
            f=graph,
            output_types=[t.dtype.base_dtype for t in graph.outputs],
            output_shapes=[
                shapes.common(a.dims, b.dims) for a, b in zip(flat, graph.outputs, strict=True)
            ],
        )
        return pack(nested, list(outputs))

    def scan(
        self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None
    ) -> Dataset:
        """``scan_func(state, element) -> (state, output)`` along the dataset; the outputs."""
        graph, nested, flat = self._with_state(scan_func, initial_state, "scan_func")
        out = nested[1]
        results = graph.outputs[len(flat) :]
        structure = Structure(out, [t.dtype.base_dtype for t in results], [t.dims for t in results])
        return Dataset(
            structure,
            lambda: ops.scan_dataset_op(
                self._as_variant_tensor(),
                flat,
                graph.captured,
                f=graph,
                output_types=structure.dtypes,
                output_shapes=structure.dims,
            ),
        )

    def enumerate(self, start: Any = 0, name: str | None = None) -> Dataset:
        """Pairs of a number and an element."""
        return Dataset.zip((Dataset.range(start, 2**62), self))

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """Leaves out elements that cannot be computed."""
        return self._change(ops.ignore_errors_dataset_op)

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """``transformation_func(self)``."""
        result = transformation_func(self)
        if not isinstance(result, Dataset):
            raise TypeError(
                f"`transformation_func` must return a dataset, got {type(result).__name__}."
            )
        return result

    def with_options(self, options: Any, name: str | None = None) -> Dataset:
        """The same dataset; options have nothing to choose here."""
        return self

    # ---- reading --------------------------------------------------------------------------

    def make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        """An iterator that ``sess.run(iterator.initializer)`` starts (and starts again)."""
        structure = self._structure
        resource = ops.iterator_op(
            shared_name=shared_name or "",
            container=default_graph().current_container,
            output_types=structure.dtypes,
            output_shapes=structure.dims,
            name="Iterator",
        )
        initializer = ops.make_iterator_op(self._as_variant_tensor(), resource)
        return Iterator(resource, initializer, structure)

    def make_one_shot_iterator(self) -> Iterator:
        """An iterator that starts by itself and goes through the dataset once.

        Raises `ValueError` when the dataset uses placeholders, variables or tables, which only an
        initializable iterator can.
        """
        structure = self._structure
        graph = trace(self._build, "dataset", [], [], lambda _: [self._as_variant_tensor()])
        for tensor in graph.captured:
            _refuse_state(tensor)
        resource = ops.one_shot_iterator_op(
            graph.captured,
            dataset_factory=graph,
            output_types=structure.dtypes,
            output_shapes=structure.dims,
        )
        return Iterator(resource, None, structure)

    @property
    def output_types(self) -> Any:
        """Dtypes of an element."""
        return self._structure.types

    @property
    def output_shapes(self) -> Any:
        """Shapes of an element."""
        return self._structure.shapes

    @property
    def output_classes(self) -> Any:
        """Classes of an element's components."""
        return self._structure.classes

    @property
    def element_spec(self) -> Any:
        """Shapes and dtypes of an element, as text."""
        return self._structure.pack(
            [
                f"TensorSpec(shape={shapes.format_dims(d)}, dtype={t.name})"
                for t, d in zip(self._structure.dtypes, self._structure.dims, strict=True)
            ]
        )

    def __iter__(self) -> Any:
        raise TypeError(
            "A Dataset is a description; in graph mode it is read through an iterator: "
            "next_element = dataset.make_one_shot_iterator().get_next(), then sess.run(next_element)."
        )

    def __repr__(self) -> str:
        return f"<Dataset shapes: {self.output_shapes}, types: {self.output_types}>"


def _generated(item: Any, structure: Structure) -> tuple[Any, ...]:
    """One yielded item as arrays, checked against types and shapes."""
    from dataflow.errors import InvalidArgumentError
    from dataflow.kernels.dataset import as_element_array

    parts = (
        flatten(item) if len(structure.dtypes) > 1 or isinstance(item, (tuple, dict)) else [item]
    )
    if isinstance(item, list) and len(structure.dtypes) > 1:
        parts = list(item)
    if len(parts) != len(structure.dtypes):
        raise InvalidArgumentError(
            None,
            None,
            f"the generator yielded an element with {len(parts)} components, "
            f"output_types names {len(structure.dtypes)}: {item!r}",
        )
    result = []
    for part, dtype, dims in zip(parts, structure.dtypes, structure.dims, strict=True):
        try:
            array = as_element_array(part, dtype)
        except (ValueError, TypeError) as e:
            raise InvalidArgumentError(
                None,
                None,
                f"the generator yielded {part!r}, which cannot be converted to {dtype.name}: {e}",
            ) from e
        if not shapes.compatible(dims, np.shape(array)):
            raise InvalidArgumentError(
                None,
                None,
                f"the generator yielded an element of shape {np.shape(array)} where an element of "
                f"shape {shapes.format_dims(dims)} was expected.",
            )
        result.append(array)
    return tuple(result)


def _same(value: Any) -> Any:
    return value


def _int64(value: Any) -> Tensor:
    if isinstance(value, Tensor):
        if value.dtype.base_dtype is not dtypes.int64:
            from dataflow.ops.math import cast

            return cast(value, dtypes.int64)  # type: ignore[no-any-return]
        return value
    return constant(np.int64(value), dtypes.int64)


def _scalar(value: Any) -> Callable[[], Tensor]:
    return lambda: _int64(value)


def _static(value: Any) -> int | None:
    found = static_value(value) if isinstance(value, Tensor) else value
    return None if found is None else int(found)


def _filler(value: Any, dtype: DType) -> Tensor:
    return value if isinstance(value, Tensor) else constant(value, dtype)


def _refuse_state(tensor: Tensor) -> None:
    """Walks back from a captured tensor; raises for what a one-shot iterator cannot use."""
    seen = set()
    stack = [tensor.op]
    while stack:
        op = stack.pop()
        if op in seen:
            continue
        seen.add(op)
        if op.type == "Placeholder" or (op.op_def.stateful and not op.type.startswith("Random")):
            raise ValueError(
                f"Cannot capture a {'placeholder' if op.type == 'Placeholder' else 'stateful node'} "
                f"(name:{op.name}, type:{op.type}) by value: a one-shot iterator starts by itself, "
                "before anything is fed or initialized. Use dataset.make_initializable_iterator()."
            )
        stack.extend(t.op for t in op.inputs)


def _file_structure() -> Structure:
    return Structure(0, [dtypes.string], [()])


def _names(filenames: Any) -> Tensor:
    if isinstance(filenames, Dataset):
        raise TypeError("pass file names; for a dataset of them use flat_map")
    return leaf_tensor(filenames)


class TextLineDataset(Dataset):
    """The lines of text files, without line breaks."""

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        paths = _names(filenames)
        super().__init__(
            _file_structure(),
            lambda: ops.text_line_dataset_op(
                paths, compression_type or "", _int64(buffer_size or 0)
            ),
        )


class TFRecordDataset(Dataset):
    """The records of TFRecord files, as strings of bytes."""

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        paths = _names(filenames)
        super().__init__(
            _file_structure(),
            lambda: ops.tf_record_dataset_op(
                paths, compression_type or "", _int64(buffer_size or 0)
            ),
        )


class FixedLengthRecordDataset(Dataset):
    """Pieces of ``record_bytes`` of files, after ``header_bytes`` and before ``footer_bytes``."""

    def __init__(
        self,
        filenames: Any,
        record_bytes: Any,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        buffer_size: Any = None,
        compression_type: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        paths = _names(filenames)
        super().__init__(
            _file_structure(),
            lambda: ops.fixed_length_record_dataset_op(
                paths,
                _int64(header_bytes or 0),
                _int64(record_bytes),
                _int64(footer_bytes or 0),
                _int64(buffer_size or 0),
            ),
        )

"""`Dataset`: a stream of elements, described by a chain of nodes and read through an iterator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.data.arguments import dataset_seeds, int64_scalar, int64_tensor, static_int
from dataflow.data.element_functions import trace_on_elements, trace_with_state
from dataflow.data.functions import refuse_state, trace
from dataflow.data.generator_elements import element_of_generator
from dataflow.data.iterators import Iterator
from dataflow.data.options import Options
from dataflow.data.padding import filler, fillers_of, padded_shapes_of, padding_vector
from dataflow.data.ragged_elements import RaggedTensorSpec, number_of_rows
from dataflow.data.structure import (
    DatasetSpec,
    Structure,
    Structured,
    dims_like,
    flatten,
    pack,
    to_tensors,
)
from dataflow.dtypes import as_dtype
from dataflow.errors import InvalidArgumentError
from dataflow.graph import nest
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.namespaces import absent
from dataflow.ops import dataset as ops
from dataflow.ops.seeds import count_left_out, counted_as
from dataflow.ops.sources import constant
from dataflow.ops.sparse_tensor import to_sparse
from dataflow.ops.type_specs import SparseTensorSpec

AUTOTUNE = -1
INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2


def _encoded(encode: Callable[[Any], list[Tensor]], values: Any) -> Callable[[], list[Tensor]]:
    """What gives the tensors that ``values`` travel as: of eager ones they are made where they are used.

    An encoded sparse tensor is no array that another graph could hold.
    """
    if default_graph().executes_eagerly:
        return lambda: encode(values)
    flat = encode(values)
    return lambda: flat


class Dataset(Structured):
    """A stream of elements. An element is a tensor, or a nesting of tuples and dicts of tensors.

    Nothing is read until an iterator is made and its ``get_next()`` is run. Every method returns
    a new dataset.
    """

    def __init__(self, structure: Structure, build: Callable[[], Tensor], *inputs: Dataset) -> None:
        self._structure = structure
        self._build = build
        self._sources = inputs
        self._graph = default_graph()
        self._own_options = Options()
        #: The op that makes it of the first of its inputs, as "shuffle_dataset"; "" for others.
        self.made_by = ""

    def __getattr__(self, name: str) -> Any:
        """Says of a method that came later what to write instead."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise absent("dataflow.data.Dataset", name, dir(type(self)))

    @property
    def structure(self) -> Structure:
        """What an element is made of, for modules that make datasets of others."""
        return self._structure

    @property
    def component_spec(self) -> DatasetSpec:
        """What this is as a component of another dataset's elements."""
        return DatasetSpec(self._structure)

    def as_variant_tensor(self) -> Tensor:
        """The node that stands for this dataset in the default graph."""
        return self._as_variant_tensor()

    @property
    def sources(self) -> tuple[Dataset, ...]:
        """The datasets that this one is made of."""
        return self._sources

    def _inputs(self) -> list[Dataset]:
        return list(self._sources)

    @property
    def _variant_tensor(self) -> Tensor:
        return self._as_variant_tensor()

    def _as_variant_tensor(self) -> Tensor:
        """The nodes of this dataset, added to the default graph."""
        return self._build()

    # ---- sources --------------------------------------------------------------------------

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """A dataset of one element."""
        nested = to_tensors(tensors, "component")
        structure = Structure.of(nested)
        flat = _encoded(structure.encode, nested)
        count_left_out(1)
        return Dataset(
            structure, lambda: ops.tensor_dataset_op(flat(), output_shapes=structure.dims)
        )

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """A dataset of the rows of arrays (a pandas frame: one row each).

        Raises `ValueError` when the components differ in their number of rows.
        """
        nested = to_tensors(tensors, "component")
        whole = Structure.of(nested)
        if any(isinstance(spec, RaggedTensorSpec) for spec in whole.specs):
            leaves = flatten(nested)
            rows = Dataset.range(number_of_rows(leaves))
            return rows.map(lambda i: pack(nested, [leaf[i] for leaf in leaves]))
        lengths: dict[int, Any] = {}
        for tensor, dims in zip(flatten(nested), whole.component_dims, strict=True):
            if dims == ():
                raise ValueError("Unbatching a tensor is only supported for rank >= 1")
            if dims is not None and dims[0] is not None:
                lengths.setdefault(dims[0], tensor)
        if len(lengths) > 1:
            known = nested if isinstance(nested, dict) else {}
            names = {id(t): repr(key) for key, t in known.items()}
            text = ", ".join(f"{n} rows ({names.get(id(t), t.name)})" for n, t in lengths.items())
            raise ValueError(f"Dimensions of the components are not compatible: {text}")
        flat = _encoded(whole.encode_rows, nested)
        structure = whole.unbatched()
        count_left_out(1)
        return Dataset(
            structure, lambda: ops.tensor_slice_dataset_op(flat(), output_shapes=structure.dims)
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
        dims = dims_like(output_types, output_shapes)
        structure = Structure.of_tensors(output_types, types, dims)
        values = [convert_to_tensor(a, name="args") for a in args or ()]

        def checked(item: Any) -> tuple[Any, ...]:
            return element_of_generator(item, structure)

        def start(*values: Any) -> Any:
            scalars = [np.asarray(v)[()] for v in values]  # bytes, np.int32: no array without axes
            return map(checked, generator(*scalars))  # outlives an item that does not fit

        def build() -> Tensor:
            return ops.generator_dataset_op(  # type: ignore[no-any-return]
                values, generator=start, output_types=types, output_shapes=structure.dims
            )

        count_left_out(3)
        return Dataset(structure, build)

    @staticmethod
    def from_sparse_tensor_slices(sparse_tensor: Any) -> Dataset:
        """The rows of a SparseTensor, each as a tuple ``(indices, values, dense_shape)``."""
        rows = Dataset.from_tensor_slices(to_sparse(sparse_tensor))
        return rows.map(lambda row: (row.indices, row.values, row.dense_shape))

    @staticmethod
    def range(*args: Any, **kwargs: Any) -> Dataset:
        """Numbers as `range` counts them, int64."""
        dtype = as_dtype(kwargs.get("output_type", dtypes.int64))
        start, stop, step = {1: (0, *args, 1), 2: (*args, 1), 3: args}[len(args)]
        structure = Structure.of_tensors(0, [dtype], [()])
        count_left_out(4)
        return Dataset(
            structure,
            lambda: ops.range_dataset_op(
                int64_tensor(start),
                int64_tensor(stop),
                int64_tensor(step),
                output_types=[dtype],
                output_shapes=[()],
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
            [s for d in flat for s in d._structure.specs],
        )
        count_left_out(1)
        return Dataset(
            structure,
            lambda: ops.zip_dataset_op(
                [d._as_variant_tensor() for d in flat],
                output_types=structure.dtypes,
                output_shapes=structure.dims,
            ),
            *flat,
        )

    @staticmethod
    def list_files(
        file_pattern: Any,
        shuffle: Any = None,
        seed: TensorLike | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Names of the files that match a pattern (or patterns), shuffled unless ``shuffle=False``.

        They are looked for when an iteration starts; `InvalidArgumentError` where there are none.
        """
        from dataflow.ops.arithmetic import maximum
        from dataflow.ops.array import identity, shape, size
        from dataflow.ops.comparison import greater
        from dataflow.ops.graph_functions import control_dependencies
        from dataflow.ops.logging_ops import Assert
        from dataflow.ops.reader import matching_files

        pattern = convert_to_tensor(file_pattern, dtypes.string, "file_pattern")
        found = matching_files(pattern)
        some = Assert(greater(size(found), 0), ["No files matched pattern: ", pattern])
        with control_dependencies([some]):
            found = identity(found)
        count_left_out(6)
        result = Dataset.from_tensor_slices(found)
        if shuffle is None or shuffle:
            count = maximum(shape(found, out_type=dtypes.int64)[0], 1)
            result = result.shuffle(count, seed)
        return result

    # ---- order and choice -----------------------------------------------------------------

    def _derive(self, op: Any, structure: Structure, *inputs: Any, **attrs: Any) -> Dataset:
        """What ``op`` makes of this dataset; its other ``inputs`` are made when its node is.

        TensorFlow makes them now, but for those that a function captures.
        """
        count_left_out(1 + len(inputs) - ("f" in attrs or "predicate" in attrs))
        result = Dataset(
            structure,
            lambda: op(
                self._as_variant_tensor(),
                *[make() for make in inputs],
                output_types=structure.dtypes,
                output_shapes=structure.dims,
                **attrs,
            ),
            self,
        )
        result.made_by = op.__name__
        return result

    def _change(self, op: Any, *inputs: Any, **attrs: Any) -> Dataset:
        return self._derive(op, self._structure, *inputs, **attrs)

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """This dataset, then another one of the same structure."""
        ours, theirs = self._structure, dataset._structure
        if not nest.same_structure(ours.types, theirs.types) or ours.types != theirs.types:
            raise TypeError(
                f"Two datasets to concatenate have different types {ours.types} and {theirs.types}"
            )
        if ours.classes != theirs.classes:
            raise TypeError(
                f"Two datasets to concatenate have different classes {ours.classes} and "
                f"{theirs.classes}"
            )
        pairs = zip(ours.component_dims, theirs.component_dims, strict=True)
        structure = ours.with_dims([shapes.common(a, b) for a, b in pairs])
        count_left_out(1)
        return Dataset(
            structure,
            lambda: ops.concatenate_dataset_op(
                self._as_variant_tensor(),
                dataset._as_variant_tensor(),
                output_types=structure.dtypes,
                output_shapes=structure.dims,
            ),
            self,
            dataset,
        )

    def repeat(self, count: int | TensorLike | None = None, name: str | None = None) -> Dataset:
        """The dataset ``count`` times; forever when ``None`` or -1."""
        return self._change(ops.repeat_dataset_op, int64_scalar(-1 if count is None else count))

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """The first ``count`` elements (all when -1)."""
        return self._change(ops.take_dataset_op, int64_scalar(count))

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """All but the first ``count`` elements."""
        return self._change(ops.skip_dataset_op, int64_scalar(count))

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Every ``num_shards``-th element, from number ``index`` on."""
        return self._change(ops.shard_dataset_op, int64_scalar(num_shards), int64_scalar(index))

    def shuffle(
        self,
        buffer_size: int | TensorLike,
        seed: int | TensorLike | None = None,
        reshuffle_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Elements drawn at random from a buffer of ``buffer_size``.

        With the same ``seed`` (or graph seed) the order is the same in every session.
        """
        count_left_out(1)  # the size comes before the seeds
        first, second = dataset_seeds(seed)
        return self._change(
            ops.shuffle_dataset_op,
            int64_scalar(buffer_size),
            int64_scalar(first),
            int64_scalar(second),
            reshuffle_each_iteration=True
            if reshuffle_each_iteration is None
            else bool(reshuffle_each_iteration),
        )

    def cache(self, filename: Any = "", name: str | None = None) -> Dataset:
        """Keeps the elements of the first iteration in memory, or in a file."""
        return self._change(ops.cache_dataset_op, lambda: constant(filename or "", dtypes.string))

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Dataset:
        """Makes up to ``buffer_size`` elements ahead, in a thread; None or -1: as many as seem good.

        Raises `InvalidArgumentError` for a number below -1.
        """
        size = -1 if buffer_size is None else buffer_size
        if isinstance(size, (int, np.integer)) and size < -1:
            raise InvalidArgumentError(
                None,
                None,
                "Dataset.prefetch: buffer_size is the number of elements made ahead, -1 for as many as seem good; "
                f"got {size}.",
            )
        return self._change(ops.prefetch_dataset_op, int64_scalar(size))

    # ---- batches --------------------------------------------------------------------------

    def batch(
        self,
        batch_size: TensorLike,
        drop_remainder: bool | TensorLike = False,
        num_parallel_calls: int | TensorLike | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Stacks ``batch_size`` elements; the last batch may be smaller unless it is dropped."""
        size = static_int(batch_size) if drop_remainder is True else None
        structure = self._structure.batched(size)
        return self._derive(
            ops.batch_dataset_op,
            structure,
            int64_scalar(batch_size),
            lambda: convert_to_tensor(drop_remainder, dtypes.bool_),
        )

    def padded_batch(
        self,
        batch_size: TensorLike,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: Any = False,
        name: str | None = None,
    ) -> Dataset:
        """As `batch`, with elements padded to ``padded_shapes`` (-1 or None: to the longest)."""
        ours = self._structure
        padded, wanted = padded_shapes_of(ours, padded_shapes)
        fillers = fillers_of(ours, padding_values)
        size = static_int(batch_size) if drop_remainder is True else None
        structure = ours.with_dims([(size, *(d or ())) for d in wanted])
        count_left_out(3 + 2 * len(wanted))
        return Dataset(
            structure,
            lambda: ops.padded_batch_dataset_op(
                self._as_variant_tensor(),
                int64_tensor(batch_size),
                [padding_vector(p) for p in padded or wanted],
                [filler(f, t) for f, t in zip(fillers, ours.dtypes, strict=True)],
                convert_to_tensor(drop_remainder, dtypes.bool_),
                output_shapes=structure.dims,
            ),
            self,
        )

    def unbatch(self, name: str | None = None) -> Dataset:
        """The rows of every element, one by one."""
        ours = self._structure
        known = [d for d in ours.component_dims if d is not None]
        if any(d == () for d in known):
            raise ValueError(
                f"Cannot unbatch elements of shapes {ours.shapes}: a scalar has no rows."
            )
        if len({d[0] for d in known if d[0] is not None}) > 1:
            raise ValueError(
                f"Cannot unbatch elements of shapes {ours.shapes}: the components must have equally "
                "many rows."
            )
        structure = ours.unbatched()

        def build() -> Tensor:
            source = self
            if any(isinstance(spec, SparseTensorSpec) for spec in ours.specs):
                source = self._rows_apart()
            return ops.unbatch_dataset_op(  # type: ignore[no-any-return]
                source._as_variant_tensor(),
                output_types=structure.dtypes,
                output_shapes=structure.dims,
            )

        return Dataset(structure, build, self)

    def _rows_apart(self) -> Dataset:
        """The same elements, with the rows of sparse tensors encoded one by one."""
        ours = self._structure
        return self.map(lambda *element: tuple(ours.encode_rows(element)))

    def window(
        self,
        size: TensorLike,
        shift: Any = None,
        stride: Any = 1,
        drop_remainder: Any = False,
        name: str | None = None,
    ) -> Dataset:
        """Windows of ``size`` elements, each component a dataset."""
        inner = self._structure
        structure = Structure(
            inner.nesting, [DatasetSpec(Structure(0, [spec])) for spec in inner.specs]
        )
        return self._derive(
            ops.window_dataset_op,
            structure,
            int64_scalar(size),
            int64_scalar(size if shift is None else shift),
            int64_scalar(stride),
            lambda: convert_to_tensor(drop_remainder, dtypes.bool_),
        )

    # ---- functions ------------------------------------------------------------------------

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: int | TensorLike | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """``map_func`` of every element; it is traced once into a graph of its own.

        A tuple is given as several arguments. With ``num_parallel_calls`` elements are computed in
        threads, in order.
        """
        graph, nested = trace_on_elements(self._structure, map_func, "map_func")
        structure = Structure.of(nested)
        if num_parallel_calls is None:
            return self._derive(ops.map_dataset_op, structure, lambda: graph.captured, f=graph)
        return self._derive(
            ops.parallel_map_dataset_op,
            structure,
            lambda: graph.captured,
            lambda: convert_to_tensor(num_parallel_calls, dtypes.int32),
            f=graph,
        )

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements for which ``predicate`` gives a true scalar."""
        return self._chosen(predicate, ops.filter_dataset_op)

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements before the first for which ``predicate`` gives a false scalar."""
        return self._chosen(predicate, ops.take_while_dataset_op)

    def unique(self, name: str | None = None) -> Dataset:
        """Each element once; they are scalars of int32, int64 or string, else `TypeError`."""
        kinds = self._structure.dtypes
        if len(kinds) != 1 or kinds[0] not in (dtypes.int32, dtypes.int64, dtypes.string):
            raise TypeError(
                "unique() only supports inputs with a single `tf.int32`, `tf.int64`, or `tf.string` "
                f"component, got {self.output_types}."
            )
        return self._change(ops.unique_dataset_op)

    def _chosen(self, predicate: Callable[..., Any], op: Any) -> Dataset:
        graph, nested = trace_on_elements(self._structure, predicate, "predicate")
        if (
            len(graph.outputs) != 1
            or not graph.outputs[0].dtype.is_bool
            or (graph.outputs[0].dims not in ((), None))
        ):
            raise ValueError(
                f"`predicate` must return a scalar boolean tensor, but it returned {nested}."
            )
        structure = self._structure
        return self._derive(op, structure, lambda: graph.captured, predicate=graph)

    def _datasets_of(self, map_func: Callable[..., Any]) -> tuple[Any, Any]:
        """A function from elements to datasets, traced, and the structure of their elements."""
        graph, nested = trace_on_elements(self._structure, map_func, "map_func")
        if not isinstance(nested, Dataset):
            raise TypeError(
                f"`map_func` must return a `Dataset` object, got {type(nested).__name__}."
            )
        return graph, nested._structure

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """The datasets that ``map_func`` makes of the elements, one after the other."""
        graph, structure = self._datasets_of(map_func)
        return self._derive(ops.flat_map_dataset_op, structure, lambda: graph.captured, f=graph)

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
        graph, structure = self._datasets_of(map_func)
        count_left_out(int(num_parallel_calls is not None))
        cycle = 2 if cycle_length is None or cycle_length == AUTOTUNE else cycle_length
        return self._derive(
            ops.interleave_dataset_op,
            structure,
            lambda: graph.captured,
            int64_scalar(cycle),
            int64_scalar(1 if block_length is None else block_length),
            f=graph,
        )

    def reduce(
        self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None
    ) -> Any:
        """``reduce_func(state, element)`` along the dataset; the last state as tensors."""
        graph, nested, flat = trace_with_state(
            self._structure, reduce_func, initial_state, "reduce_func"
        )
        if len(flat) != len(graph.outputs):
            raise TypeError(
                f"The state has {len(flat)} tensors, reduce_func returns {len(graph.outputs)}: {nested}."
            )
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
        return Structure.of(nested).decode(list(outputs))

    def scan(
        self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None
    ) -> Dataset:
        """``scan_func(state, element) -> (state, output)`` along the dataset; the outputs."""
        graph, nested, flat = trace_with_state(
            self._structure, scan_func, initial_state, "scan_func"
        )
        if not isinstance(nested, tuple) or len(nested) != 2:
            raise TypeError(
                "The scan function must return a pair comprising the new state and the output value, "
                f"got {nested}."
            )
        for before, after in zip(flat, graph.outputs, strict=False):
            if before.dtype.base_dtype is not after.dtype.base_dtype:
                raise TypeError(
                    "The element types for the new state must match the initial state. Expected "
                    f"{before.dtype.base_dtype.name}; got {after.dtype.base_dtype.name}."
                )
        structure = Structure.of(nested[1])
        return self._derive(
            ops.scan_dataset_op, structure, lambda: flat, lambda: graph.captured, f=graph
        )

    def enumerate(self, start: TensorLike = 0, name: str | None = None) -> Dataset:
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

    def map_with_legacy_function(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: Any = None,
    ) -> Dataset:
        """`map`."""
        return self.map(map_func, num_parallel_calls, deterministic)

    def filter_with_legacy_function(self, predicate: Callable[..., Any]) -> Dataset:
        """`filter`."""
        return self.filter(predicate)

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """The same dataset with these options, which its own and those of its inputs may not contradict.

        Options say how a dataset is computed; here nothing of that is left to choose, and they
        are kept for `options` alone.
        """
        if not isinstance(options, Options):
            raise TypeError(f"with_options takes tf.data.Options, got {type(options).__name__}.")
        result = Dataset(self._structure, self._build, self)
        result._own_options = options
        return result

    def options(self) -> Options:
        """The options of this dataset and of those that it is made of."""
        result = Options()
        for dataset in self._sources:
            result = result.merge(dataset.options())
        return result.merge(self._own_options)

    # ---- reading --------------------------------------------------------------------------

    def make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        """An iterator that ``sess.run(iterator.initializer)`` starts (and starts again)."""
        if default_graph().executes_eagerly:
            raise RuntimeError(
                "dataset.make_initializable_iterator is not supported when eager execution is enabled. "
                "Use `for element in dataset` instead."
            )
        self._need_own_graph()
        return self.iterator_here(shared_name)

    def iterator_here(self, shared_name: str | None = None) -> Iterator:
        """`make_initializable_iterator`, in whichever graph is the default one."""
        structure = self._structure
        with counted_as(6):
            resource = ops.iterator_op(
                shared_name=shared_name or "",
                container=default_graph().current_container,
                output_types=structure.dtypes,
                output_shapes=structure.dims,
                name="Iterator",
            )
            initializer = ops.make_iterator_op(self._as_variant_tensor(), resource)
        return Iterator(resource, initializer, structure)

    def in_loop(self) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
        """`Iterator.in_loop` of an iterator through the dataset, for `for` in a function (AutoGraph)."""
        return self.iterator_here().in_loop()

    def make_one_shot_iterator(self) -> Any:
        """An iterator that starts by itself and goes through the dataset once.

        Raises `ValueError` when the dataset uses placeholders, variables or tables, which only an
        initializable iterator can. With eager execution it gives elements with values.
        """
        if default_graph().executes_eagerly:
            return iter(self)
        structure = self._structure
        self._need_own_graph()
        variant = lambda _: [self._as_variant_tensor()]
        graph = trace(self._build, "dataset", [], [], variant, by_value=True)
        refuse_state(graph)
        resource = ops.one_shot_iterator_op(
            graph.captured,
            dataset_factory=graph,
            output_types=structure.dtypes,
            output_shapes=structure.dims,
        )
        count_left_out(1)
        return Iterator(resource, None, structure)

    def _need_own_graph(self) -> None:
        if self._graph is not default_graph() and not self._graph.executes_eagerly:
            raise ValueError(
                "The default graph is another one than that in which the dataset was made: make the "
                "dataset and its iterator in one `with graph.as_default():`."
            )

    def __iter__(self) -> Any:
        if default_graph().executes_eagerly:
            from dataflow.data.eager_iterator import EagerIterator

            return EagerIterator(self)
        raise TypeError(
            "A Dataset is a description; in graph mode it is read through an iterator: "
            "next_element = dataset.make_one_shot_iterator().get_next(), then sess.run(next_element)."
        )

    def __repr__(self) -> str:
        shapes = nest.map_structure(str, self.output_shapes)
        types = nest.map_structure(repr, self.output_types)
        kind = "DatasetV1Adapter" if type(self) is Dataset else f"{type(self).__name__}V1"
        return f"<{kind} shapes: {shapes}, types: {types}>".replace("'", "")

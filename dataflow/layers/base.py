"""`Layer`: variables that are made at the first call and used by every call."""

from __future__ import annotations

import copy
import functools
import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from dataflow import shapes
from dataflow.dtypes import as_dtype
from dataflow.errors import ShapeError
from dataflow.graph import nest
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.eager import variables_were_made
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, DynamicShapeLike, InitializerLike, TensorLike
from dataflow.layers.eager_losses import Penalty, forget_losses, losses_here, note_loss
from dataflow.layers.layer_arguments import initializer_function
from dataflow.layers.layer_calls import LayerCalls
from dataflow.layers.layer_config import Configurable
from dataflow.ops import array
from dataflow.ops.conditionals import cond
from dataflow.ops.math import cast
from dataflow.ops.partitioned_variable import PartitionedVariable
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.static_value import static_value
from dataflow.ops.trackable import NamedParts, named_parts
from dataflow.ops.variable_lists import global_variables
from dataflow.ops.variable_scope import get_variable, variable_scope
from dataflow.ops.variables import Variable
from dataflow.providers import provided
from dataflow.shapes import TensorShape

#: What the axes of an input mean, by their number: of sequences, images and volumes.
_AXES = {
    3: "[batch, steps, features]",
    4: "[batch, height, width, channels]",
    5: "[batch, depth, height, width, channels]",
}


class InputSpec:
    """What a layer's input must look like: dtype, rank, sizes of single axes."""

    def __init__(
        self,
        dtype: DTypeLike | None = None,
        shape: Any = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: dict[int, int] | None = None,
    ) -> None:
        self.dtype = dtype
        self.shape = shape
        self.ndim = len(shape) if shape is not None else ndim
        self.max_ndim = max_ndim
        self.min_ndim = min_ndim
        self.axes = axes or {}

    def check(self, layer: Layer, tensor: Tensor) -> None:
        """Raises `ValueError` when ``tensor``, an input of ``layer``, does not fit."""
        sparse = isinstance(tensor, SparseTensor)
        dims = shapes.as_dims(tensor.shape) if sparse else tensor.dims
        if self.dtype is not None and tensor.dtype.base_dtype is not as_dtype(self.dtype):
            self._refuse(layer, f"dtype={as_dtype(self.dtype).name}, found {tensor.dtype.name}")
        if dims is None:
            if any(n is not None for n in (self.ndim, self.min_ndim, self.max_ndim)):
                raise ValueError(
                    f"Input of layer {layer.name!r} has no known rank; use set_shape on it first."
                )
            return
        rank = len(dims)
        found = f"Full shape received: {list(dims)}"
        if self.ndim is not None and rank != self.ndim:
            wanted = _AXES.get(self.ndim) if rank < self.ndim else None
            advice = f". Reshape it to {wanted} first, with tf.reshape." if wanted else ""
            self._refuse(layer, f"ndim={self.ndim}, found ndim={rank}. {found}{advice}")
        if self.min_ndim is not None and rank < self.min_ndim:
            wanted = _AXES.get(self.min_ndim)
            advice = f". Reshape it to {wanted} first, with tf.reshape." if wanted else ""
            self._refuse(layer, f"min_ndim={self.min_ndim}, found ndim={rank}. {found}{advice}")
        if self.max_ndim is not None and rank > self.max_ndim:
            self._refuse(layer, f"max_ndim={self.max_ndim}, found ndim={rank}. {found}")
        for axis, size in self.axes.items():
            if size is not None and dims[axis] not in (size, None):
                self._refuse(
                    layer,
                    f"axis {axis} of input shape to have value {size} but received input with "
                    f"shape {list(dims)}",
                )
        if self.shape is not None and not shapes.compatible(shapes.as_dims(self.shape), dims):
            self._refuse(layer, f"shape={TensorShape(self.shape)}, found shape={list(dims)}")

    def _refuse(self, layer: Layer, expected: str) -> None:
        raise ShapeError(
            message=f"Input 0 of layer {layer.name} is incompatible with the layer: expected {expected}"
        )


class _LayerNumbers(Counter[str]):
    """How many layers of a kind a graph has."""

    def forget_names(self) -> None:
        """Numbers layers from the start."""
        self.clear()


def _numbered(kind: str) -> str:
    numbers = default_graph().attachments.setdefault("layer_names", _LayerNumbers())
    numbers[kind] += 1
    return f"{kind}_{numbers[kind]}"


class Layer(Configurable, LayerCalls, NamedParts):
    """A part of a network with its own variables, made when it is first called.

    Subclasses define ``build(input_shape)``, which calls `add_variable` and ends with
    ``self.built = True``, and ``call(inputs)``.
    """

    trainable: bool

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        activity_regularizer: Callable[[Any], Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        # Not by an assignment, as a subclass may have made it a property of what it does not hold yet.
        vars(self)["trainable"] = trainable
        self.built = False
        self.input_spec: InputSpec | None = None
        self._dtype = None if dtype is None else as_dtype(dtype).base_dtype
        self.activity_regularizer = activity_regularizer
        self._base_name = name or snake_case(type(self).__name__)
        self._given_name = name
        self._name = name or _numbered(self._base_name)
        self._reuse = kwargs.pop("_reuse", None)
        self._scope: Any = None
        scope = kwargs.pop("_scope", None)
        if scope is not None:
            with variable_scope(scope) as captured:
                self._scope = captured
        if kwargs:
            raise TypeError(f"Keyword argument not understood: {next(iter(kwargs))!r}")
        self._trainable_weights: list[Any] = []
        self._non_trainable_weights: list[Any] = []
        self._updates: list[Any] = []
        self._losses: list[Any] = []
        self._penalties: list[Penalty] = []

    # ---- what subclasses write ------------------------------------------------------------

    def unbuilt_copy(self) -> Layer:
        """A layer with the same settings and no variables yet."""
        result = copy.copy(self)
        result.built = False
        result._scope = None
        result._trainable_weights, result._non_trainable_weights = [], []
        result._updates, result._losses, result._penalties = [], [], []
        LayerCalls.__init__(result)
        return result

    def build(self, input_shape: Any) -> None:
        """Makes the variables."""
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Makes the nodes."""
        return inputs

    #: Whether the layer takes masks; those of `tf.keras` that do say so.
    supports_masking = False

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the outputs: None. Raises `TypeError` for a mask that the layer cannot take."""
        if not self.supports_masking and any(m is not None for m in nest.flatten(mask)):
            raise TypeError(f"Layer {self.name} does not support masking, got a mask: {mask!r}")
        return mask

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the output for an input of ``input_shape``."""
        return self._shape_that_is_made(input_shape)

    def _shape_that_is_made(self, input_shape: Any) -> TensorShape:
        """What `compute_output_shape` says of a layer that defines none."""
        raise NotImplementedError(f"{type(self).__name__} does not say its output shape.")

    # ---- what they use --------------------------------------------------------------------

    def add_variable(
        self,
        name: str,
        shape: DynamicShapeLike,
        dtype: DTypeLike | None = None,
        initializer: InitializerLike | None = None,
        regularizer: Callable[[Any], Any] | None = None,
        trainable: bool | None = None,
        constraint: Callable[[Any], Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """A variable of this layer, found again when the layer reuses another one's."""
        trainable = True if trainable is None else trainable
        initializer = initializer_function(initializer)
        graph = default_graph()
        losses = graph.get_collection(GraphKeys.REGULARIZATION_LOSSES)
        existing = set() if regularizer is None else set(global_variables())
        self._set_scope(None)
        reuse = self.built or self._reuse
        with (
            variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as scope,
            graph.name_scope(scope.original_name_scope),
        ):
            variable = get_variable(
                name,
                shape=shape,
                dtype=dtype or self._dtype,
                initializer=initializer,
                trainable=trainable and self.trainable,
                constraint=constraint,
                partitioner=kwargs.get("partitioner"),
            )
            made = graph.get_collection(GraphKeys.REGULARIZATION_LOSSES)[len(losses) :]
            self._losses.extend(made)  # of the scope's own regularizer
            parts = list(variable) if isinstance(variable, PartitionedVariable) else [variable]
            if regularizer is not None and existing.isdisjoint(parts):
                self._regularize(name, parts, regularizer)
        target = self._trainable_weights if trainable else self._non_trainable_weights
        target.append(variable)
        return variable

    def _regularize(self, name: str, parts: list[Any], regularizer: Callable[[Any], Any]) -> None:
        """Adds the regularizer's loss of each part, named as the layer names the variable."""

        def loss_of(part: Any) -> Any:
            with default_graph().name_scope(name + "/Regularizer"):
                return regularizer(part)

        for part in parts:
            if default_graph().is_of_calls:
                self._penalties.append(Penalty(functools.partial(loss_of, part)))
            elif (loss := loss_of(part)) is not None:
                self.add_loss(loss)

    add_weight = add_variable

    def add_update(self, updates: TensorLike, inputs: Any = None) -> None:
        """Ops to run with each training step; also in the UPDATE_OPS collection.

        A layer that is not trainable has none, nor has any in eager code: there they have run.
        """
        if self._is_frozen() or have_run(updates):
            return
        for update in updates if isinstance(updates, (list, tuple)) else [updates]:
            update = getattr(update, "op", update)  # of a tensor its operation, as in TensorFlow
            self._updates.append(update)
            default_graph().add_to_collection(GraphKeys.UPDATE_OPS, update)

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Losses of the layer; also in the REGULARIZATION_LOSSES collection."""
        for loss in losses if isinstance(losses, (list, tuple)) else [losses]:
            self._losses.append(loss)
            note_loss(self, loss)
            default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)

    def keep_losses(self, which: Callable[[Any], bool]) -> None:
        """Forgets the losses that were added but for those."""
        self._losses = [loss for loss in self._losses if which(loss)]

    # ---- calling --------------------------------------------------------------------------

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Makes the variables if this is the first call, and the nodes."""
        self._drop_training(kwargs)
        inputs = nest.map_structure(convert_to_tensor, inputs)
        self._set_scope(kwargs.pop("scope", None))
        reuse = self._reuse if not self.built else True
        with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as scope:
            graph = default_graph()
            if graph.is_of_calls:
                forget_losses(self)
            with graph.name_scope(scope.original_name_scope):
                flat = nest.flatten(inputs)
                if self._dtype is None and flat:
                    self._dtype = flat[0].dtype.base_dtype
                if self.input_spec is not None:
                    self.input_spec.check(self, flat[0])
                if not self.built:
                    self.build(nest.map_structure(lambda t: t.shape, inputs))
                    self.built = True
                    if graph.executes_eagerly:
                        variables_were_made()
                    if self.input_spec is not None:
                        self.input_spec.check(self, flat[0])
                outputs = self.call(inputs, *args, **kwargs)
                if self.activity_regularizer is not None:
                    with graph.name_scope("ActivityRegularizer"):
                        for output in nest.flatten(outputs):
                            examples = cast(array.shape(output)[0], output.dtype.base_dtype)
                            self.add_loss(self.activity_regularizer(output) / examples)
        if not graph.is_of_calls:
            self.remember_call(inputs, outputs)
        return outputs

    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """A call of the layer."""
        return self(inputs, *args, **kwargs)

    def _set_scope(self, scope: Any) -> None:
        if self._scope is not None:
            return
        if self._reuse:
            with variable_scope(scope if scope is not None else self._base_name) as captured:
                self._scope = captured
        else:
            with variable_scope(scope, default_name=self._base_name) as captured:
                self._scope = captured

    # ---- reading --------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The layer's name: as given, or ``dense_1``, ``dense_2``, ... as layers of a kind are made.

        Its variables are below `scope_name`, which is another one.
        """
        return self._name

    @property
    def graph(self) -> Any:
        """The graph that its variables are in; the default one before the first call."""
        return self.weights[0].graph if self.weights else default_graph()

    @property
    def scope_name(self) -> str:
        """The variable scope's name; raises `ValueError` before the first call."""
        if self._scope is None:
            raise ValueError(
                f"No name available for layer scope because the layer {self._base_name!r} has not "
                "been used yet. The scope name is determined the first time it is called."
            )
        return str(self._scope.name)

    @property
    def dtype(self) -> Any:
        """The dtype of the variables."""
        return self._dtype

    @property
    def trainable_weights(self) -> list[Any]:
        """Variables that training changes."""
        return list(self._trainable_weights) if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        """Variables that training leaves alone."""
        if self.trainable:
            return list(self._non_trainable_weights)
        return self._trainable_weights + self._non_trainable_weights

    @property
    def weights(self) -> list[Any]:
        """All variables."""
        return self._trainable_weights + self._non_trainable_weights

    trainable_variables = trainable_weights

    def checkpoint_parts(self) -> Iterable[tuple[str, Any]]:
        """(name, part) of what a checkpoint of objects saves: named parts, and weights by their last names."""
        own = [*self._trainable_weights, *self._non_trainable_weights]
        weights = [(v.op.name.rpartition("/")[2], v) for v in own]
        return [*named_parts(self).items(), *weights]

    non_trainable_variables = non_trainable_weights
    variables = weights

    @property
    def updates(self) -> list[Any]:
        """Ops to run with each training step; none while the layer is not trainable."""
        return [] if self._is_frozen() else list(self._updates)

    def _is_frozen(self) -> bool:
        return not self.trainable

    @property
    def losses(self) -> list[Any]:
        """Losses of the layer."""
        return losses_here(self._losses, self._penalties)

    # ---- values and settings --------------------------------------------------------------

    def get_weights(self) -> list[Any]:
        """The values of all variables, in the default session or else in that of `tf.keras`."""
        return provided("keras_backend").batch_get_value(self.weights)  # type: ignore[no-any-return]

    def set_weights(self, weights: Any) -> None:
        """Gives all variables values, in the order of `get_weights`.

        Raises `ValueError` for another number of arrays or another shape.
        """
        variables = self.weights
        weights = list(weights)
        if len(weights) != len(variables):
            raise ValueError(
                f"set_weights: layer {self.name!r} has {len(variables)} weights, got "
                f"{len(weights)} arrays.\n  it has: "
                + ", ".join(f"{v.name} {v.shape.as_list()}" for v in variables)
            )
        provided("keras_backend").batch_set_value(list(zip(variables, weights, strict=True)))

    def get_config(self) -> dict[str, Any]:
        """The arguments, as JSON can hold them; `from_config` makes the same layer from them."""
        dtype = None if self._dtype is None else self._dtype.name
        shared = {"name": self.name, "trainable": self.trainable, "dtype": dtype}
        return {**shared, **self.own_config()}

    def count_params(self) -> int:
        """The number of values in all variables; raises `ValueError` before the first call."""
        if not self.built:
            raise ValueError(f"count_params: the layer {self.name!r} has not been built yet.")
        return sum(v.shape.num_elements() or 0 for v in self.weights)


def have_run(updates: Any) -> bool:
    """Whether updates of a layer are done by themselves: in eager code. Functions among them are called."""
    if not default_graph().is_of_calls:
        return False
    for update in updates if isinstance(updates, (list, tuple)) else [updates]:
        if callable(update):
            update()
    return True


def snake_case(name: str) -> str:
    text = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    text = re.sub(r"([a-z])([A-Z])", r"\1_\2", text).lower()
    return "private" + text if text[0] == "_" else text


def smart_cond(predicate: Any, true_fn: Any, false_fn: Any, name: str | None = None) -> Any:
    """`tf.cond`, decided at once where ``predicate`` is known before the graph runs."""
    if not isinstance(predicate, (Tensor, Variable)):
        return true_fn() if predicate else false_fn()
    value = static_value(predicate) if isinstance(predicate, Tensor) else None
    if value is not None:
        return true_fn() if bool(value) else false_fn()
    return cond(predicate, true_fn, false_fn, name=name)


def layer_function(layer_class: type[Layer], name: str, reuse: bool = True) -> Callable[..., Any]:
    """The layer as a function: ``inputs`` first, then what the layer takes.

    ``reuse``: the function takes ``reuse`` too, and its ``name`` is the scope of the variables.
    """
    own = inspect.signature(layer_class.__init__).parameters.values()
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter("inputs", kind)]
    parameters += [p for p in list(own)[1:] if p.kind is kind]
    if reuse:
        parameters.append(inspect.Parameter("reuse", kind, default=None))
    signature = inspect.Signature(parameters)

    def function(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        inputs = given.pop("inputs")
        if reuse:
            given.update(_scope=given.get("name"), _reuse=given.pop("reuse", None))
        return layer_class(**given)(inputs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"A `{layer_class.__name__}` layer, applied; see its parameters there."
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function

"""`Layer` as Keras has it: named at once, remembered by the tensors that it makes."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Set
from typing import Any

from dataflow.autograph.conversion import converted_if_needed
from dataflow.dtypes import as_dtype
from dataflow.graph import nest
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph, use_graph
from dataflow.graph.eager import outside_symbolic_graph, variables_were_made
from dataflow.graph.eager_tensor import EagerTensor
from dataflow.graph.graph import Graph
from dataflow.graph.type_aliases import TensorLike
from dataflow.keras import backend as K, constraints, initializers, regularizers
from dataflow.keras.autocast_variables import AutoCastVariable, casting_to
from dataflow.keras.backend_settings import op_seed
from dataflow.keras.call_nodes import Node, mask_of, tag, tag_of
from dataflow.keras.dynamic_symbols import symbols_of
from dataflow.keras.initializers import orthogonal_of_numpy
from dataflow.keras.layer_tree import LayerTree, distinct
from dataflow.keras.package_shapes import is_ours, plain_shape
from dataflow.keras.precision_policies import (
    Policy,
    global_policy,
    has_version2_dtypes,
    with_input_dtype,
)
from dataflow.layers import base
from dataflow.layers.eager_losses import Penalty, forget_losses, losses_here, note_loss
from dataflow.layers.layer_calls import Number, arguments_of, by_name
from dataflow.ops import array
from dataflow.ops.initializers import Orthogonal
from dataflow.ops.math import cast
from dataflow.ops.ragged_tensor import RaggedTensor
from dataflow.ops.reduce import reduce_mean
from dataflow.ops.seeds import counted_as
from dataflow.ops.sources import placeholder
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.variables import Variable
from dataflow.shapes import TensorShape
from dataflow.tensorflow_numbers import draws_as_tensorflow

InputSpec = base.InputSpec

#: Arguments of every layer, beside its own.
_COMMON = ("input_shape", "batch_input_shape", "batch_size", "input_dim", "input_length", "weights")


#: What TensorFlow 2's files say in addition, where it changes nothing.
_LATER = {"groups": 1, "ragged": False, "output_padding": None, "keepdims": False}


def _as_input(value: Any) -> Any:
    """``value`` as a tensor; sparse and ragged tensors as they are."""
    if type(value) is EagerTensor and default_graph().executes_eagerly:
        return value
    return value if isinstance(value, (SparseTensor, RaggedTensor)) else convert_to_tensor(value)


class Layer(LayerTree, base.Layer):
    """A part of a network. Write ``build(input_shape)``, ``call(inputs)``, or both.

    Layers and variables that are assigned to attributes are parts of it: their weights, losses,
    updates and metrics are the layer's too.

    Arguments of every layer: ``name``, ``trainable``, ``dtype``, and, for the first one of a
    `Sequential`, ``input_shape`` (without the batch) or ``batch_input_shape``, ``input_dim``;
    ``weights`` are arrays to start from. ``dynamic=True`` says that ``call`` only runs in eager code; in a
    model such a layer needs a ``compute_output_shape``.
    """

    supports_masking = False
    #: Whether classes of programs get shapes as tuples and dtypes by name, as from the package keras.
    as_package_keras = False
    shared_arguments = (*base.Layer.shared_arguments, *_COMMON)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        common = {key: kwargs.pop(key) for key in _COMMON if key in kwargs}
        self._dynamic = bool(kwargs.pop("dynamic", False))
        autocast = bool(kwargs.pop("autocast", has_version2_dtypes()))
        policy = kwargs.get("dtype") or global_policy()
        if isinstance(policy, Policy):
            kwargs["dtype"] = policy.variable_dtype
            if policy.should_cast_variables or policy.compute_dtype is not None:
                self._policy = policy
        elif autocast:
            self._policy = Policy(as_dtype(policy).base_dtype.name)
        self._casts_inputs = autocast
        shape = common.get("batch_input_shape")
        if shape is None and common.get("input_shape") is not None:
            given = common["input_shape"]
            inner = (given,) if isinstance(given, int) else tuple(given)
            shape = (common.get("batch_size"), *inner)
        if shape is None and common.get("input_dim") is not None:
            shape = (common.get("batch_size"), common["input_dim"])
        if shape is not None:
            self._batch_input_shape = tuple(shape)
        self._initial_weights = common.get("weights")
        self._nodes: list[Node] = []
        self._added_metrics: list[tuple[Any, Any]] = []
        super().__init__(*args, **kwargs)
        self._name = self._given_name or K.unique_name(self._base_name)

    @property
    def given_input_shape(self) -> tuple[Any, ...] | None:
        """The shape, with the batch, that the layer was told of its inputs.

        It is in the attribute ``_batch_input_shape``, which only such layers have: wrappers of libraries ask for it.
        """
        return getattr(self, "_batch_input_shape", None)

    #: The policy that says in which dtype the layer computes; None for that of its variables.
    _policy: Policy | None = None
    _casts_inputs = False
    #: Whether its weights are read in the dtype in which it computes; a layer may keep theirs.
    _casts_weights = True

    def _in_precision(self, inputs: Any) -> tuple[Any, Any]:
        """The inputs as the layer's policy has them, and the dtype that its variables are read as."""
        policy = self._policy
        if policy is None:
            return inputs, None
        if policy.compute_dtype is None:
            policy = self._policy = with_input_dtype(policy, nest.flatten(inputs)[0].dtype)
        dtype = as_dtype(policy.compute_dtype)
        if self._casts_inputs and dtype.is_floating:
            inputs = nest.map_structure(
                lambda t: cast(t, dtype) if t.dtype.is_floating else t, inputs
            )
        return inputs, dtype if policy.should_cast_variables else None

    # ---- variables ------------------------------------------------------------------------

    def add_weight(
        self,
        name: Any = None,
        shape: Any = None,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool | None = None,
        constraint: Any = None,
        partitioner: Any = None,
        use_resource: bool | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        **kwargs: Any,
    ) -> Any:
        """A variable of this layer. Without an initializer: Glorot's uniform one, zeros for ints.

        It is a resource variable, unless ``use_resource`` is False. ``partitioner`` is for
        `tf.layers`; ``synchronization`` and ``aggregation`` change nothing here.
        """
        wanted = as_dtype(dtype or self._dtype or K.floatx())
        initializer = initializers.get(initializer)
        if initializer is None:
            initializer = initializers.get("glorot_uniform" if wanted.is_floating else "zeros")
        elif isinstance(initializer, type):
            initializer = initializer()
        dims = [] if shape is None else TensorShape(shape).as_list()
        trainable = True if trainable is None else trainable
        variable = Variable(
            lambda: self._drawn(initializer, dims, wanted),
            trainable=trainable,
            dtype=wanted,
            name=name or "Variable",
            constraint=constraints.get(constraint),
            use_resource=True if use_resource is None else use_resource,
        )
        regularizer = regularizers.get(regularizer)
        if regularizer is not None:
            self._penalize(variable, regularizer)
        target = self._trainable_weights if trainable else self._non_trainable_weights
        target.append(variable)
        casts = kwargs.get("experimental_autocast", self._casts_weights) and wanted.is_floating
        if casts and self._policy is not None and self._policy.should_cast_variables:
            return AutoCastVariable(variable)
        return variable

    def _penalize(self, variable: Any, regularizer: Any) -> None:
        def loss() -> Any:
            scope = default_graph().name_scope(variable.op.name + "/Regularizer")
            with scope, counted_as(0):  # TensorFlow makes them when the model is compiled
                found = convert_to_tensor(regularizer(variable), preferred_dtype=K.floatx())
                return found if found.shape.ndims == 0 else reduce_mean(found)

        if not variable.op.graph.executes_eagerly:
            self.add_loss(loss())
            return
        self._penalties.append(Penalty(loss))
        if not default_graph().executes_eagerly:
            self._penalties[-1].here()

    add_variable = add_weight

    def share_penalties(self, layer: Layer) -> None:
        """Has the losses of this layer be those on the weights of ``layer``."""
        on_weights = {id(loss) for loss in base.Layer.get_losses_for(layer, None)}
        self._losses = [loss for loss in layer._losses if id(loss) in on_weights]
        self._penalties = layer._penalties

    def add_update(self, updates: TensorLike, inputs: Any = None) -> None:
        """Ops that `fit` runs with each training step.

        ``inputs`` are what they are computed from: see `get_updates_for`. In eager code they have run.
        """
        if base.have_run(updates):
            return
        for update in updates if isinstance(updates, (list, tuple)) else [updates]:
            if isinstance(update, (int, float)):
                update = Number(update)
                tag(update, "inputs", None if inputs is None else nest.flatten(inputs))
            self._updates.append(getattr(update, "op", update))

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Scalars that `compile` adds to the loss; other tensors are averaged first.

        ``inputs`` are what the losses are computed from, where they are: see `get_losses_for`.
        """
        for loss in losses if isinstance(losses, (list, tuple)) else [losses]:
            if self.as_package_keras and isinstance(loss, (int, float)):
                loss = Number(loss)
            else:
                made = loss() if callable(loss) else loss
                loss = convert_to_tensor(made, preferred_dtype=K.floatx())
                loss = loss if loss.shape.ndims == 0 else reduce_mean(loss)
            if inputs is not None:
                tag(loss, "inputs", nest.flatten(inputs))
            self._losses.append(loss)
            note_loss(self, loss)

    def add_metric(
        self, value: Any, aggregation: str | None = None, name: str | None = None
    ) -> None:
        """A value that `fit` and `evaluate` report, as ``name``: the mean over the batches.

        ``value`` is a tensor, with ``aggregation="mean"``, or what a metric returned
        (``metric(values)``), which is then reported. Raises `ValueError` for anything else.
        """
        from dataflow.keras.base_metric import Mean

        metric = tag_of(value, "metric")
        if metric is None:
            if aggregation != "mean":
                raise ValueError(
                    f"add_metric: aggregation must be 'mean' for a tensor, got {aggregation!r}; or "
                    "give what a tf.keras.metrics object returned."
                )
            if name is None:
                raise ValueError("add_metric: a tensor needs a name: add_metric(x, 'mean', name).")
            known = [m for m, _ in self._added_metrics if m.name == name]
            metric = known[0] if known else Mean(name)
            value = metric(value)
        self._added_metrics.append((metric, value))

    # ---- calling --------------------------------------------------------------------------

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Makes the variables if this is the first call, and the nodes."""
        graph = default_graph()
        if graph.executes_eagerly:
            symbolic = K.graph_of_call(nest.flatten(inputs))
            if symbolic is not graph:
                with symbolic.as_default():
                    return self(inputs, *args, **kwargs)
        if graph.is_of_calls and not K.is_in_call(graph):
            forget_losses(self)
        inputs = nest.map_structure(_as_input, inputs)
        flat = nest.flatten(inputs)
        if K.has_inputs(graph) and not K.is_in_call(graph):
            from dataflow.keras.op_layers import complete_history

            complete_history([*flat, *nest.flatten([args, kwargs])])
        self._drop_training(kwargs)
        given = {**by_name(self.call, args), **kwargs}
        given_masks = [mask_of(t) for t in flat]
        mask: Any = None
        if any(m is not None for m in given_masks):
            mask = given_masks if isinstance(inputs, (list, tuple)) else given_masks[0]
        with graph.name_scope(self._name), K.in_call(graph):
            self._make_sure_of_weights(inputs)
            self._fill_in(
                mask, given, kwargs
            )  # after the weights, whose seeds count the nodes before them
            called, dtype = self._in_precision(inputs)
            if self._dynamic and K.has_inputs(graph):
                outputs = symbols_of(self, called)
            else:
                with casting_to(dtype):
                    outputs = converted_if_needed(self.call)(called, *args, **kwargs)
            if self.activity_regularizer is not None:
                for output in nest.flatten(outputs):
                    examples = cast(array.shape(output)[0], output.dtype.base_dtype)
                    self.add_loss(self.activity_regularizer(output) / examples, inputs)
        outputs = self._distinct(flat, outputs)
        if self.supports_masking or not getattr(type(self).compute_mask, "is_default", False):
            mask = self.compute_mask(inputs, given.get("mask", kwargs.get("mask", mask)))
        else:
            mask = None
        if mask is not None:
            masks = mask if isinstance(mask, (list, tuple)) else [mask]
            for tensor, one in zip(nest.flatten(outputs), masks, strict=False):
                if one is not None:
                    tag(tensor, "mask", one)
        if self.as_package_keras:
            for tensor in nest.flatten(outputs):
                tag(tensor, "of_layer", True)
        if all(tag_of(t, "history") for t in flat):
            Node(self, inputs, outputs, given).is_within_call = K.is_in_call(graph)
        return outputs

    def _distinct(self, inputs: list[Any], outputs: Any) -> Any:
        """Outputs that are tensors and no input: a layer that returns those, or a variable, makes
        a tensor of its own. In the package keras a list of one output is that output.
        """
        seen = set(map(id, inputs))

        def own(output: Any) -> Any:
            copied = id(output) in seen or isinstance(output, Variable)
            return array.identity(output) if copied else output

        if self.as_package_keras and isinstance(outputs, list) and len(outputs) == 1:
            return own(outputs[0])
        return nest.map_structure(own, outputs)

    def _fill_in(self, mask: Any, given: dict[str, Any], kwargs: dict[str, Any]) -> None:
        """Adds the learning phase and the mask to ``kwargs``, where the call was not ``given`` them."""
        accepted = self._call_arguments() - (given.keys() - kwargs.keys())
        if "training" in accepted and kwargs.get("training") is None and self._needs_phase():
            kwargs["training"] = K.learning_phase()
        if mask is not None and "mask" in accepted and kwargs.get("mask") is None:
            kwargs["mask"] = mask

    def _needs_phase(self) -> bool:
        """Whether a call without ``training`` takes the learning phase, which is a node."""
        return True

    @property
    def dynamic(self) -> bool:
        """Whether this layer, or one within, only runs in eager code: ``Layer(dynamic=True)``."""
        return self._dynamic or any(getattr(part, "dynamic", False) for part in self.sublayers())

    def _call_arguments(self) -> Set[str]:
        return arguments_of(self.call)[0]

    def _make_sure_of_weights(self, inputs: Any) -> None:
        flat = nest.flatten(inputs)
        if self._dtype is None and flat and flat[0].dtype.is_floating:
            self._dtype = flat[0].dtype.base_dtype
        if self.input_spec is not None and not isinstance(self.input_spec, (list, tuple)):
            self.input_spec.check(self, flat[0])
        if not self.built:
            plain = self.as_package_keras and not is_ours(type(self).build)
            shapes = nest.map_structure(
                lambda t: plain_shape(t.shape) if plain else t.shape, inputs
            )
            if not getattr(type(self).build, "is_default", False):
                with default_graph().control_dependencies(None), outside_symbolic_graph():
                    self.build(shapes)
            self.built = True
            if self._initial_weights is not None:
                self.set_weights(self._initial_weights)
            variables_were_made()

    def _drawn(self, initializer: Any, dims: list[Any], dtype: Any) -> Any:
        if self.as_package_keras and not is_ours(type(initializer)) and not is_ours(initializer):
            return initializer(tuple(dims), dtype=dtype.name)
        if self.as_package_keras and draws_as_tensorflow() and isinstance(initializer, Orthogonal):
            return cast(orthogonal_of_numpy(initializer, dims), dtype)
        if getattr(initializer, "seed", 0) is None and (seed := op_seed(None)) is not None:
            initializer = copy.copy(initializer)
            initializer.seed = seed
        return initializer(dims, dtype=dtype)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the output; here: the input's, where the layer supports masks.

        Raises `TypeError` for a mask where it does not.
        """
        if self.supports_masking:
            return mask
        if any(m is not None for m in (mask if isinstance(mask, (list, tuple)) else [mask])):
            raise TypeError(
                f"Layer {self.name} does not support masking, but was passed an input_mask: {mask}"
            )
        return None

    compute_mask.is_default = True  # type: ignore[attr-defined]

    # ---- reading --------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name, as the variables and `summary` show it; one set later names what is made later."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        self._name = name

    @property
    def _trainable(self) -> bool:
        """TensorFlow's name: whether this layer trains. Set, it leaves those within as they are, unlike `trainable`."""
        return bool(vars(self)["trainable"])

    @_trainable.setter
    def _trainable(self, value: bool) -> None:
        vars(self)["trainable"] = value

    @property
    def inbound_nodes(self) -> list[Node]:
        """The calls."""
        return self._nodes

    @inbound_nodes.setter
    def inbound_nodes(self, nodes: Any) -> None:
        self._nodes = list(nodes)

    @property
    def outbound_nodes(self) -> list[Node]:
        """The calls of other layers that take what this one returned."""
        made = (t for node in self._nodes for t in nest.flatten(node.outputs))
        return distinct(node for t in made for node in tag_of(t, "takers") or ())

    @outbound_nodes.setter
    def outbound_nodes(self, nodes: Any) -> None:
        for tensor in (t for node in self._nodes for t in nest.flatten(node.outputs)):
            takers = tag_of(tensor, "takers") or ()
            tag(tensor, "takers", [n for n in takers if any(n is kept for kept in nodes)])

    _inbound_nodes, _outbound_nodes = inbound_nodes, outbound_nodes

    @property
    def trainable_weights(self) -> list[Any]:
        """Variables that training changes, those of the layers within too."""
        if not self.trainable:
            return []
        own = [*self._trainable_weights, *self.own_variables(trainable=True)]
        return distinct([*own, *self.gathered("trainable_weights")])

    @trainable_weights.setter
    def trainable_weights(self, weights: Any) -> None:
        self._trainable_weights = list(
            weights
        )  # as the package keras, unlike tf.keras, lets layers

    @property
    def non_trainable_weights(self) -> list[Any]:
        """Variables that training leaves alone; all of them where the layer is frozen."""
        own = [*self._non_trainable_weights, *self.own_variables(trainable=False)]
        if self.trainable:
            return distinct([*own, *self.gathered("non_trainable_weights")])
        frozen = [*self._trainable_weights, *self.own_variables(trainable=True)]
        return distinct([*frozen, *own, *self.gathered("weights")])

    @non_trainable_weights.setter
    def non_trainable_weights(self, weights: Any) -> None:
        self._non_trainable_weights = list(weights)

    @property
    def weights(self) -> list[Any]:
        """All variables: those that training changes first."""
        return [*self.trainable_weights, *self.non_trainable_weights]

    variables = weights
    trainable_variables = trainable_weights
    non_trainable_variables = non_trainable_weights

    @property
    def losses(self) -> list[Any]:
        """Penalties of this layer and of those within."""
        own = losses_here(self._losses, self._penalties)
        return distinct([*own, *self.gathered("losses")])

    @property
    def updates(self) -> list[Any]:
        """Ops that `fit` runs with each training step; none while the layer is frozen."""
        return distinct([*self._updates, *self.gathered("updates")]) if self.trainable else []

    @property
    def metrics(self) -> list[Any]:
        """Metrics of this layer and of those within."""
        added = [metric for metric, _ in self._added_metrics]
        nested = (m for x in self.sublayers() for m in getattr(x, "metrics", ()))
        return distinct([*self.own_metrics(), *added, *nested])

    def metric_values(self) -> list[tuple[Any, Any]]:
        """What `add_metric` was given here and in the layers within: (metric, its value)."""
        nested = (x.metric_values() for x in self.sublayers() if isinstance(x, Layer))
        return [*self._added_metrics, *(pair for pairs in nested for pair in pairs)]

    def get_losses_for(self, inputs: Any) -> list[Any]:
        """The losses that are computed from ``inputs``; with None, those that were added without ``inputs``."""
        if inputs is None:
            return [loss for loss in self.losses if not tag_of(loss, "inputs")]
        return super().get_losses_for(inputs)

    # ---- masks, scopes, shapes ------------------------------------------------------------

    def _masks(self, tensors: Any) -> Any:
        return nest.map_structure(lambda t: tag_of(t, "mask"), tensors)

    def get_input_mask_at(self, node_index: int) -> Any:
        """The mask of what call ``node_index`` was given, None where there is none."""
        return self._masks(self.get_input_at(node_index))

    def get_output_mask_at(self, node_index: int) -> Any:
        """The mask of what call ``node_index`` returned, None where there is none."""
        return self._masks(self.get_output_at(node_index))

    @property
    def input_mask(self) -> Any:
        """The mask of `input`."""
        return self._masks(self.input)

    @property
    def output_mask(self) -> Any:
        """The mask of `output`."""
        return self._masks(self.output)

    @property
    def name_scope(self) -> Any:
        """A context manager: nodes made in it carry the layer's name."""
        return default_graph().name_scope(self._name)

    @classmethod
    def with_name_scope(cls, method: Any) -> Any:
        """``method``, run inside the layer's `name_scope`."""

        @functools.wraps(method)
        def inside(self: Any, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return inside

    def _shape_that_is_made(self, input_shape: Any) -> TensorShape:
        """The shape of what a copy of the layer makes; of a list the shapes are one for each input."""
        shapes = input_shape if isinstance(input_shape, list) else [input_shape]
        if any(isinstance(size, int) or size is None for size in shapes):
            shapes = [shapes]  # one shape, as a list
        with use_graph(Graph()):
            copy = self._copy()
            kind = self._dtype or K.floatx()
            inputs = [placeholder(kind, TensorShape(shape)) for shape in shapes]
            outputs = copy(inputs if len(inputs) > 1 else inputs[0])
        return nest.map_structure(lambda output: output.shape, outputs)  # type: ignore[no-any-return]

    def _copy(self) -> Any:
        """A layer with the same settings and weights of its own."""
        return type(self).from_config(self.get_config())

    def compute_output_signature(self, input_signature: Any) -> Any:
        """The `TensorSpec` of what the layer returns for inputs of the given `TensorSpec`."""
        from dataflow.ops.type_specs import TensorSpec

        shapes = nest.map_structure(lambda s: s.shape, input_signature)
        found = self.compute_output_shape(shapes)
        kind = self.dtype or nest.flatten(input_signature)[0].dtype
        return nest.map_structure(lambda one: TensorSpec(one, kind), found)

    # ---- config ---------------------------------------------------------------------------

    def get_config(self) -> dict[str, Any]:
        """The arguments, as JSON can hold them; `from_config` makes the same layer from them."""
        config: dict[str, Any] = {"name": self.name, "trainable": self.trainable}
        if self.given_input_shape is not None:
            config["batch_input_shape"] = list(self.given_input_shape)
        if self._dtype is not None:
            config["dtype"] = self._dtype.name
        if type(self).get_config is Layer.get_config:
            config.update(self.own_config())
        return config

    def _is_described_by_attributes(self) -> bool:
        return is_ours(type(self).__init__)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """The layer of a config, written here or by TensorFlow."""
        accepted = inspect.signature(cls.__init__).parameters
        later = [k for k, v in _LATER.items() if k in config and config[k] == v]
        return cls(**{k: v for k, v in config.items() if k not in later or k in accepted})

    def __repr__(self) -> str:
        return f"<dataflow.keras.layers.{type(self).__name__} {self.name!r}>"

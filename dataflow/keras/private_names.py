"""What programs read of tf.keras's models under its private names: gradients of what is fed, walks over the calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.keras import backend as K
from dataflow.keras.call_nodes import Node
from dataflow.keras.network_order import nodes_by_depth
from dataflow.keras.training import Training


class _read:  # noqa: N801  (used as `property` is)
    """A property that leaves its name free: a program's own class may keep something else under it."""

    def __init__(self, getter: Callable[[Any], Any]) -> None:
        self._getter = getter

    def __get__(self, model: Any, owner: Any = None) -> Any:
        return self if model is None else self._getter(model)


class PrivateNames(Training):
    """TensorFlow's private names of a model's parts; each is what `Model` knows under a name of its own."""

    @_read
    def _feed_inputs(self) -> list[Any]:
        return [tensor for tensor, _ in self._fed_inputs()]

    @_read
    def _feed_input_names(self) -> list[str]:
        return [name for _, name in self._fed_inputs()]

    @_read
    def _feed_input_shapes(self) -> list[Any]:
        return [K.int_shape(tensor) for tensor in self._feed_inputs]

    @_read
    def _targets(self) -> list[Any]:
        return self.targets

    _feed_targets = _targets

    @_read
    def _feed_sample_weights(self) -> list[Any]:
        """The placeholders of `sample_weights`: here they are always fed, with what `_standardize_user_data` gives."""
        return self.sample_weights

    @_read
    def _feed_output_names(self) -> list[str]:
        return list(self._target_names)

    @_read
    def _feed_outputs(self) -> list[Any]:
        names = self.output_names  # type: ignore[attr-defined]
        found = dict(zip(names, self.outputs, strict=True))
        return [found[name] for name in self._target_names]

    @_read
    def _feed_output_shapes(self) -> list[Any]:
        return [K.int_shape(tensor) for tensor in self._feed_outputs]

    @_read
    def _collected_trainable_weights(self) -> list[Any]:
        return list(self._collected_weights)

    @_read
    def _is_compiled(self) -> bool:
        return self.optimizer is not None

    def _assert_compile_was_called(self) -> None:
        self._need_compiled()

    @_read
    def _nodes_by_depth(self) -> dict[int, list[Node]]:
        """The calls of each depth; those that give the outputs have depth 0."""
        return nodes_by_depth(self.inputs, self.outputs)

    def _standardize_user_data(
        self, x: Any, y: Any = None, sample_weight: Any = None, class_weight: Any = None, **_: Any
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """(inputs, targets, weights): checked arrays, for a function of what is fed; targets only where ``y`` is."""
        if y is None:
            return self._input_arrays(x), [], []
        self._need_compiled()
        with self._graph.as_default():
            self._ready(x)
            arrays = self._standard(x, y, sample_weight, class_weight)
        first, second = len(self._feed_inputs), len(self.targets)
        return arrays[:first], arrays[first : first + second], arrays[first + second :]

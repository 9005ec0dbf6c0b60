"""Vectors for indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.keras import backend as K, constraints, initializers, regularizers
from dataflow.keras.base_layer import Layer
from dataflow.keras.layers.core import weight_settings
from dataflow.ops.comparison import not_equal
from dataflow.ops.embedding import embedding_lookup
from dataflow.ops.math import cast
from dataflow.shapes import TensorShape


class Embedding(Layer):
    """Integers [batch, length] in [0, input_dim) as vectors [batch, length, output_dim].

    With ``mask_zero``, index 0 is padding, which recurrent layers skip.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Any = "uniform",
        embeddings_regularizer: Any = None,
        activity_regularizer: str | Callable[[Any], Any] | None = None,
        embeddings_constraint: Any = None,
        mask_zero: bool = False,
        input_length: Any = None,
        **kwargs: Any,
    ) -> None:
        if "input_shape" not in kwargs and "batch_input_shape" not in kwargs:
            lengths = input_length if isinstance(input_length, (list, tuple)) else [input_length]
            kwargs["input_shape"] = tuple(lengths)
        kwargs.setdefault("dtype", "float32")
        settings = weight_settings({"activity_regularizer": activity_regularizer})
        super().__init__(**settings, **kwargs)
        self.input_dim = int(input_dim)
        self.output_dim = int(output_dim)
        self.mask_zero = mask_zero
        self.input_length = input_length
        self.embeddings_initializer = initializers.get(embeddings_initializer)
        self.embeddings_regularizer = regularizers.get(embeddings_regularizer)
        self.embeddings_constraint = constraints.get(embeddings_constraint)

    def own_config(self) -> dict[str, Any]:
        own = super().own_config()
        return {**own, "input_dim": self.input_dim, "input_length": self.input_length}

    def _check_length(self, input_shape: Any) -> None:
        lengths = self.input_length
        lengths = list(lengths) if isinstance(lengths, (list, tuple)) else [lengths]
        sizes = TensorShape(input_shape).as_list()[1:]
        known = [(a, b) for a, b in zip(lengths, sizes, strict=False) if None not in (a, b)]
        if len(lengths) != len(sizes) or any(a != b for a, b in known):
            raise ValueError(
                f'"input_length" is {self.input_length}, but received input of shape {input_shape}'
            )

    def build(self, input_shape: Any) -> None:
        if self.input_length is not None and K.is_package_keras():
            self._check_length(input_shape)
        self.embeddings = self.add_weight(
            "embeddings",
            [self.input_dim, self.output_dim],
            initializer=self.embeddings_initializer,
            regularizer=self.embeddings_regularizer,
            constraint=self.embeddings_constraint,
        )
        self.built = True

    def call(self, inputs: Any) -> Any:
        if not inputs.dtype.is_integer:
            inputs = cast(inputs, "int32")
        return embedding_lookup(self.embeddings, inputs)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return not_equal(inputs, 0) if self.mask_zero else None

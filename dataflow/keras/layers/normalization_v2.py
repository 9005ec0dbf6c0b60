"""`tf.compat.v2.keras.layers.BatchNormalization`: a frozen layer uses its averages, also while its model trains."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.keras.layers import normalization
from dataflow.shapes import TensorShape


class BatchNormalization(normalization.BatchNormalization):
    """Batch normalization of version 2, with the arguments and weights of `tf.keras.layers.BatchNormalization`.

    With ``trainable = False`` it normalizes by the moving averages, whatever ``training`` says. ``fused``: None
    for the fused kernel where it can be used, known after the first call (4 dimensions); True raises `ValueError`
    where it cannot: with renormalization, an adjustment, virtual batches, axes other than 1 or 3, or inputs that
    have not 4 dimensions.
    """

    fused_by_default = None

    def _settle_fused(self) -> None:
        refusal = self._refusal()
        if self.fused and refusal:
            raise ValueError(f"Passing fused=True is only supported when {refusal}.")
        if refusal:
            self.fused = False

    def _refusal(self) -> str:
        """What the fused kernel would need of the arguments; empty where it can be used."""
        axes = self.axis if isinstance(self.axis, (list, tuple)) else [self.axis]
        if self.renorm:
            return "renorm is False"
        if len(axes) != 1 or axes[0] not in (1, 3, -1, -3):
            return "axis is 1 or 3"
        if self.virtual_batch_size is not None:
            return "`virtual_batch_size` is None"
        return "`adjustment` is None" if self.adjustment is not None else ""

    def build(self, input_shape: Any) -> None:
        shape = TensorShape(input_shape)
        if shape.ndims is not None:
            if self.fused and shape.ndims != 4:
                raise ValueError(
                    "Batch normalization layers with fused=True only support 4D input tensors. Received input with "
                    f"shape: {shape}"
                )
            if self.fused is None:
                self.fused = shape.ndims == 4
        super().build(input_shape)

    def call(self, inputs: Any, training: Any = None) -> Any:
        if isinstance(training, (int, np.integer)):
            training = bool(training)
        return super().call(inputs, training=training if self.trainable else False)

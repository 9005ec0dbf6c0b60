"""`tf.keras.experimental`: models and cells that were new in TensorFlow 1.14 and 1.15."""

from __future__ import annotations

from typing import Any

from dataflow.keras.layers.features import SequenceFeatures
from dataflow.keras.layers.recurrent_cells import LSTMCell
from dataflow.keras.learning_rate_schedules import (
    CosineDecay,
    CosineDecayRestarts,
    LinearCosineDecay,
    NoisyLinearCosineDecay,
)
from dataflow.keras.linear_models import LinearModel, WideDeepModel
from dataflow.keras.saved_models import export_saved_model, load_from_saved_model
from dataflow.keras.utils.enqueuers import terminate_keras_multiprocessing_pools
from dataflow.ops import array

__all__ = ["CosineDecay", "CosineDecayRestarts", "LinearCosineDecay", "LinearModel"]
__all__ += ["NoisyLinearCosineDecay", "PeepholeLSTMCell", "SequenceFeatures", "WideDeepModel"]
__all__ += ["export_saved_model", "load_from_saved_model"]
__all__ += ["terminate_keras_multiprocessing_pools"]


class PeepholeLSTMCell(LSTMCell):
    """An LSTM whose gates see the cell's state too (Gers, Schraudolph and Schmidhuber 2002)."""

    def _make_weights(self, depth: int | None) -> None:
        super()._make_weights(depth)
        for gate in ("input", "forget", "output"):
            name = f"{gate}_gate_peephole_weights"
            setattr(self, name, self._weight(name, "kernel", [self.units]))

    input_gate_peephole_weights: Any
    forget_gate_peephole_weights: Any
    output_gate_peephole_weights: Any

    def step(self, inputs: Any, states: Any) -> tuple[Any, ...]:
        h, c = states
        i, f, candidate, o = array.split(inputs + self._recurrent(h), 4, 1)
        gate = self.recurrent_activation
        remembered = gate(f + self.forget_gate_peephole_weights * c) * c
        taken = gate(i + self.input_gate_peephole_weights * c) * self.activation(candidate)
        new = remembered + taken
        return gate(o + self.output_gate_peephole_weights * new) * self.activation(new), new

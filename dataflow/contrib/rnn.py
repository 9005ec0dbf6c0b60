"""``tf.contrib.rnn``: the cells and loops of `tf.nn` under their older names."""

from dataflow.rnn.cells import (
    BasicLSTMCell,
    BasicRNNCell,
    DeviceWrapper,
    DropoutWrapper,
    GRUCell,
    LSTMCell,
    LSTMStateTuple,
    MultiRNNCell,
    ResidualWrapper,
    RNNCell,
)
from dataflow.rnn.loops import static_bidirectional_rnn, static_rnn
from dataflow.rnn.projections import (
    EmbeddingWrapper,
    InputProjectionWrapper,
    OutputProjectionWrapper,
)

LSTMBlockCell = BasicLSTMCell
GRUBlockCell = GRUCell

__all__ = [
    "BasicLSTMCell",
    "BasicRNNCell",
    "DeviceWrapper",
    "DropoutWrapper",
    "EmbeddingWrapper",
    "GRUBlockCell",
    "GRUCell",
    "InputProjectionWrapper",
    "LSTMBlockCell",
    "LSTMCell",
    "LSTMStateTuple",
    "MultiRNNCell",
    "OutputProjectionWrapper",
    "RNNCell",
    "ResidualWrapper",
    "static_bidirectional_rnn",
    "static_rnn",
]

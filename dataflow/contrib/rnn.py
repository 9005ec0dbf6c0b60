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

LSTMBlockCell = BasicLSTMCell
GRUBlockCell = GRUCell

__all__ = [
    "BasicLSTMCell",
    "BasicRNNCell",
    "DeviceWrapper",
    "DropoutWrapper",
    "GRUBlockCell",
    "GRUCell",
    "LSTMBlockCell",
    "LSTMCell",
    "LSTMStateTuple",
    "MultiRNNCell",
    "RNNCell",
    "ResidualWrapper",
    "static_bidirectional_rnn",
    "static_rnn",
]

"""``tf.contrib.rnn``: the cells and loops of `tf.nn` under their older names."""

from dataflow.namespaces import explain_absent
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
from dataflow.rnn.gated_cells import (
    Conv1DLSTMCell,
    Conv2DLSTMCell,
    Conv3DLSTMCell,
    ConvLSTMCell,
    HighwayWrapper,
    LayerNormBasicLSTMCell,
    LSTMBlockFusedCell,
    SRUCell,
    UGRNNCell,
    stack_bidirectional_dynamic_rnn,
    stack_bidirectional_rnn,
)
from dataflow.rnn.loops import static_bidirectional_rnn, static_rnn
from dataflow.rnn.projections import (
    EmbeddingWrapper,
    InputProjectionWrapper,
    OutputProjectionWrapper,
)
from dataflow.rnn.published_cells import (
    AttentionCellWrapper,
    CoupledInputForgetGateLSTMCell,
    FusedRNNCellAdaptor,
    IndRNNCell,
    IntersectionRNNCell,
    NASCell,
    PhasedLSTMCell,
    TimeReversedFusedRNN,
)

LSTMBlockCell = BasicLSTMCell
GRUBlockCell = GRUCell

__all__ = [
    "AttentionCellWrapper",
    "BasicLSTMCell",
    "BasicRNNCell",
    "Conv1DLSTMCell",
    "Conv2DLSTMCell",
    "Conv3DLSTMCell",
    "ConvLSTMCell",
    "CoupledInputForgetGateLSTMCell",
    "DeviceWrapper",
    "DropoutWrapper",
    "EmbeddingWrapper",
    "FusedRNNCellAdaptor",
    "GRUBlockCell",
    "GRUCell",
    "HighwayWrapper",
    "IndRNNCell",
    "InputProjectionWrapper",
    "IntersectionRNNCell",
    "LSTMBlockCell",
    "LSTMBlockFusedCell",
    "LSTMCell",
    "LSTMStateTuple",
    "LayerNormBasicLSTMCell",
    "MultiRNNCell",
    "NASCell",
    "OutputProjectionWrapper",
    "PhasedLSTMCell",
    "RNNCell",
    "ResidualWrapper",
    "SRUCell",
    "TimeReversedFusedRNN",
    "UGRNNCell",
    "stack_bidirectional_dynamic_rnn",
    "stack_bidirectional_rnn",
    "static_bidirectional_rnn",
    "static_rnn",
]

__getattr__ = explain_absent(__name__)

"""``tf.contrib.rnn``: the cells and loops of `tf.nn` under their older names."""

from dataflow.namespaces import explain_absent
from dataflow.rnn.attention_cell import AttentionCellWrapper
from dataflow.rnn.base_cell import LSTMStateTuple, RNNCell
from dataflow.rnn.cell_wrappers import DeviceWrapper, DropoutWrapper, MultiRNNCell, ResidualWrapper
from dataflow.rnn.cells import BasicLSTMCell, BasicRNNCell, GRUCell, LSTMCell
from dataflow.rnn.diagonal_cells import GLSTMCell, IndRNNCell, IndyGRUCell, IndyLSTMCell
from dataflow.rnn.fused_cells import (
    CompiledWrapper,
    FusedRNNCell,
    FusedRNNCellAdaptor,
    GRUBlockCell,
    GRUBlockCellV2,
    LSTMBlockCell,
    LSTMBlockFusedCell,
    LSTMBlockWrapper,
    TimeReversedFusedRNN,
)
from dataflow.rnn.gated_cells import (
    Conv1DLSTMCell,
    Conv2DLSTMCell,
    Conv3DLSTMCell,
    ConvLSTMCell,
    HighwayWrapper,
    LayerNormBasicLSTMCell,
    SRUCell,
    UGRNNCell,
)
from dataflow.rnn.grid_cells import BidirectionalGridLSTMCell, GridLSTMCell, TimeFreqLSTMCell
from dataflow.rnn.loops import best_effort_input_batch_size, transpose_batch_time
from dataflow.rnn.projections import (
    EmbeddingWrapper,
    InputProjectionWrapper,
    OutputProjectionWrapper,
)
from dataflow.rnn.published_cells import (
    CoupledInputForgetGateLSTMCell,
    IntersectionRNNCell,
    NASCell,
    PhasedLSTMCell,
)
from dataflow.rnn.stacked_loops import stack_bidirectional_dynamic_rnn, stack_bidirectional_rnn
from dataflow.rnn.static_loops import static_bidirectional_rnn, static_rnn, static_state_saving_rnn

#: Every cell is a layer here.
LayerRNNCell = RNNCell

__all__ = [
    "AttentionCellWrapper",
    "BasicLSTMCell",
    "BasicRNNCell",
    "BidirectionalGridLSTMCell",
    "CompiledWrapper",
    "Conv1DLSTMCell",
    "Conv2DLSTMCell",
    "Conv3DLSTMCell",
    "ConvLSTMCell",
    "CoupledInputForgetGateLSTMCell",
    "DeviceWrapper",
    "DropoutWrapper",
    "EmbeddingWrapper",
    "FusedRNNCell",
    "FusedRNNCellAdaptor",
    "GLSTMCell",
    "GRUBlockCell",
    "GRUBlockCellV2",
    "GRUCell",
    "GridLSTMCell",
    "HighwayWrapper",
    "IndRNNCell",
    "IndyGRUCell",
    "IndyLSTMCell",
    "InputProjectionWrapper",
    "IntersectionRNNCell",
    "LSTMBlockCell",
    "LSTMBlockFusedCell",
    "LSTMBlockWrapper",
    "LSTMCell",
    "LSTMStateTuple",
    "LayerNormBasicLSTMCell",
    "LayerRNNCell",
    "MultiRNNCell",
    "NASCell",
    "OutputProjectionWrapper",
    "PhasedLSTMCell",
    "RNNCell",
    "ResidualWrapper",
    "SRUCell",
    "TimeFreqLSTMCell",
    "TimeReversedFusedRNN",
    "UGRNNCell",
    "best_effort_input_batch_size",
    "stack_bidirectional_dynamic_rnn",
    "stack_bidirectional_rnn",
    "static_bidirectional_rnn",
    "static_rnn",
    "static_state_saving_rnn",
    "transpose_batch_time",
]

__getattr__ = explain_absent(__name__)

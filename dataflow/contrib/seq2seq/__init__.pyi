from dataflow.contrib.seq2seq.attention import (
    AttentionMechanism as AttentionMechanism,
    BahdanauAttention as BahdanauAttention,
    hardmax as hardmax,
    LuongAttention as LuongAttention,
)
from dataflow.contrib.seq2seq.attention_wrapper import (
    AttentionWrapper as AttentionWrapper,
    AttentionWrapperState as AttentionWrapperState,
)
from dataflow.contrib.seq2seq.beam_search import (
    BeamSearchDecoder as BeamSearchDecoder,
    BeamSearchDecoderOutput as BeamSearchDecoderOutput,
    BeamSearchDecoderState as BeamSearchDecoderState,
    FinalBeamSearchDecoderOutput as FinalBeamSearchDecoderOutput,
)
from dataflow.contrib.seq2seq.beam_trees import (
    gather_tree as gather_tree,
    gather_tree_from_array as gather_tree_from_array,
    tile_batch as tile_batch,
)
from dataflow.contrib.seq2seq.decoder import (
    BasicDecoder as BasicDecoder,
    BasicDecoderOutput as BasicDecoderOutput,
    Decoder as Decoder,
    dynamic_decode as dynamic_decode,
)
from dataflow.contrib.seq2seq.decoder_inputs import (
    CustomHelper as CustomHelper,
    GreedyEmbeddingHelper as GreedyEmbeddingHelper,
    Helper as Helper,
    InferenceHelper as InferenceHelper,
    SampleEmbeddingHelper as SampleEmbeddingHelper,
    ScheduledEmbeddingTrainingHelper as ScheduledEmbeddingTrainingHelper,
    ScheduledOutputTrainingHelper as ScheduledOutputTrainingHelper,
    TrainingHelper as TrainingHelper,
)
from dataflow.contrib.seq2seq.losses import sequence_loss as sequence_loss
from dataflow.contrib.seq2seq.monotonic_attention import (
    BahdanauMonotonicAttention as BahdanauMonotonicAttention,
    LuongMonotonicAttention as LuongMonotonicAttention,
    monotonic_attention as monotonic_attention,
    safe_cumprod as safe_cumprod,
)

"""Loads every kernel file, so that the registry is complete."""

from dataflow.kernels import (
    accumulator as _accumulator,  # noqa: F401
    activation as _activation,  # noqa: F401
    arithmetic as _arithmetic,  # noqa: F401
    array_basics as _array_basics,  # noqa: F401
    audio as _audio,  # noqa: F401
    bias as _bias,  # noqa: F401
    candidate_sampling as _candidate_sampling,  # noqa: F401
    checkpoint as _checkpoint,  # noqa: F401
    colours as _colours,  # noqa: F401
    comparison as _comparison,  # noqa: F401
    complex_numbers as _complex_numbers,  # noqa: F401
    conv as _conv,  # noqa: F401
    counting as _counting,  # noqa: F401
    ctc as _ctc,  # noqa: F401
    cumulative as _cumulative,  # noqa: F401
    dataset as _dataset,  # noqa: F401
    depthwise as _depthwise,  # noqa: F401
    dilation as _dilation,  # noqa: F401
    elementary as _elementary,  # noqa: F401
    gather_scatter as _gather_scatter,  # noqa: F401
    image as _image,  # noqa: F401
    image_files as _image_files,  # noqa: F401
    joining as _joining,  # noqa: F401
    linalg as _linalg,  # noqa: F401
    logging_ops as _logging_ops,  # noqa: F401
    lookup as _lookup,  # noqa: F401
    loss as _loss,  # noqa: F401
    matmul as _matmul,  # noqa: F401
    matrix_diag as _matrix_diag,  # noqa: F401
    normalization as _normalization,  # noqa: F401
    numerics as _numerics,  # noqa: F401
    parsing as _parsing,  # noqa: F401
    pooling as _pooling,  # noqa: F401
    quantize as _quantize,  # noqa: F401
    queue as _queue,  # noqa: F401
    random as _random,  # noqa: F401
    reader as _reader,  # noqa: F401
    rearranging as _rearranging,  # noqa: F401
    reduce as _reduce,  # noqa: F401
    rounds_sum as _rounds_sum,  # noqa: F401
    script_ops as _script_ops,  # noqa: F401
    segment as _segment,  # noqa: F401
    sequence_parsing as _sequence_parsing,  # noqa: F401
    sequences as _sequences,  # noqa: F401
    session_handles as _session_handles,  # noqa: F401
    sets as _sets,  # noqa: F401
    slicing as _slicing,  # noqa: F401
    sparse as _sparse,  # noqa: F401
    sparse_cross as _sparse_cross,  # noqa: F401
    special as _special,  # noqa: F401
    spectral as _spectral,  # noqa: F401
    state as _state,  # noqa: F401
    string as _string,  # noqa: F401
    summary as _summary,  # noqa: F401
    synchronization as _synchronization,  # noqa: F401
    tensor_array as _tensor_array,  # noqa: F401
    tensor_list as _tensor_list,  # noqa: F401
    training as _training,  # noqa: F401
    transfer as _transfer,  # noqa: F401
    unicode as _unicode,  # noqa: F401
)
from dataflow.kernels.fused import (
    elementwise as _fused_elementwise,  # noqa: F401
    regions as _fused_regions,  # noqa: F401
)

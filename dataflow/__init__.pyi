from dataflow import (
    app as app,
    audio as audio,
    autograph as autograph,
    bitwise as bitwise,
    cluster as cluster,
    compat as compat,
    config as config,
    contrib as contrib,
    core as core,
    data as data,
    debugging as debugging,
    distribute as distribute,
    distributions as distributions,
    errors as errors,
    estimator as estimator,
    examples as examples,
    extend as extend,
    feature_column as feature_column,
    flags as flags,
    gfile as gfile,
    graph_util as graph_util,
    image as image,
    initializers as initializers,
    io as io,
    keras as keras,
    layers as layers,
    linalg as linalg,
    logging as logging,
    lookup as lookup,
    losses as losses,
    manip as manip,
    math as math,
    metrics as metrics,
    nest as nest,
    nn as nn,
    profiler as profiler,
    python as python,
    python_io as python_io,
    quantization as quantization,
    queue as queue,
    ragged as ragged,
    random as random,
    raw_ops as raw_ops,
    saved_model as saved_model,
    sets as sets,
    signal as signal,
    sparse as sparse,
    spectral as spectral,
    strings as strings,
    summary as summary,
    test as test,
    tpu as tpu,
    train as train,
    version as version,
    xla as xla,
)
from dataflow.compat.v1 import (
    disable_control_flow_v2 as disable_control_flow_v2,
    disable_v2_behavior as disable_v2_behavior,
    enable_v2_behavior as enable_v2_behavior,
)
from dataflow.ops.tensor_equality import (
    disable_tensor_equality as disable_tensor_equality,
    enable_tensor_equality as enable_tensor_equality,
)
from dataflow.data.structure import OptionalSpec as OptionalSpec
from dataflow.device_spec import DeviceSpec as DeviceSpec
from dataflow.dtypes import (
    as_dtype as as_dtype,
    bfloat16 as bfloat16,
    bool_ as bool,
    complex128 as complex128,
    complex64 as complex64,
    double as double,
    DType as DType,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    half as half,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    int8 as int8,
    qint16 as qint16,
    qint32 as qint32,
    qint8 as qint8,
    quint16 as quint16,
    quint8 as quint8,
    resource as resource,
    string as string,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
    uint8 as uint8,
    variant as variant,
)
from dataflow.errors import OpError as OpError
from dataflow.autodiff.gradients import (
    AggregationMethod as AggregationMethod,
    gradients as gradients,
    hessians as hessians,
    UnconnectedGradients as UnconnectedGradients,
)
from dataflow.graph.collections import GraphKeys as GraphKeys
from dataflow.graph.conversion import (
    convert_to_tensor as convert_to_tensor,
    register_tensor_conversion_function as register_tensor_conversion_function,
)
from dataflow.graph.default_stacks import (
    default_graph as get_default_graph,
    default_session as get_default_session,
    reset_default_graph as reset_default_graph,
)
from dataflow.graph.eager import (
    disable_eager_execution as disable_eager_execution,
    enable_eager_execution as enable_eager_execution,
    executing_eagerly as executing_eagerly,
    executing_eagerly_outside_functions as executing_eagerly_outside_functions,
)
from dataflow.graph.graph import Graph as Graph
from dataflow.graph.import_graph import import_graph_def as import_graph_def
from dataflow.graph.operation import Operation as Operation
from dataflow.graph.registry import (
    not_differentiable as NoGradient,
    not_differentiable as NotDifferentiable,
    RegisterGradient as RegisterGradient,
)
from dataflow.graph.tensor import Tensor as Tensor
from dataflow.graph.tensor_proto import (
    make_ndarray as make_ndarray,
    make_tensor_proto as make_tensor_proto,
)
from dataflow.ops.activation import log_sigmoid as log_sigmoid
from dataflow.ops.accumulator import (
    ConditionalAccumulator as ConditionalAccumulator,
    SparseConditionalAccumulator as SparseConditionalAccumulator,
)
from dataflow.ops.arithmetic import (
    add as add,
    atan2 as atan2,
    div as div,
    div_no_nan as div_no_nan,
    divide as divide,
    floor_div as floor_div,
    floordiv as floordiv,
    floormod as floormod,
    maximum as maximum,
    minimum as minimum,
    mod as mod,
    multiply as mul,
    multiply as multiply,
    pow_ as pow,
    realdiv as realdiv,
    scalar_mul as scalar_mul,
    squared_difference as squared_difference,
    subtract as sub,
    subtract as subtract,
    truediv as truediv,
    truncatediv as truncatediv,
    truncatemod as truncatemod,
)
from dataflow.ops.array import (
    argsort as argsort,
    batch_gather as batch_gather,
    batch_to_space as batch_to_space,
    batch_to_space_nd as batch_to_space_nd,
    bitcast as bitcast,
    boolean_mask as boolean_mask,
    broadcast_dynamic_shape as broadcast_dynamic_shape,
    broadcast_to as broadcast_to,
    concat as concat,
    depth_to_space as depth_to_space,
    dynamic_partition as dynamic_partition,
    dynamic_stitch as dynamic_stitch,
    ensure_shape as ensure_shape,
    expand_dims as expand_dims,
    extract_image_patches as extract_image_patches,
    fill as fill,
    gather as gather,
    gather_nd as gather_nd,
    guarantee_const as guarantee_const,
    identity as identity,
    identity_n as identity_n,
    invert_permutation as invert_permutation,
    listdiff as listdiff,
    meshgrid as meshgrid,
    newaxis as newaxis,
    one_hot as one_hot,
    ones as ones,
    ones_like as ones_like,
    stack as pack,
    pad as pad,
    parallel_stack as parallel_stack,
    range_ as range,
    rank as rank,
    repeat as repeat,
    required_space_to_batch_paddings as required_space_to_batch_paddings,
    reshape as reshape,
    reverse as reverse,
    reverse_sequence as reverse_sequence,
    reverse as reverse_v2,
    roll as roll,
    scatter_nd as scatter_nd,
    searchsorted as searchsorted,
    where as select,
    sequence_mask as sequence_mask,
    setdiff1d as setdiff1d,
    shape as shape,
    shape_n as shape_n,
    size as size,
    slice_ as slice,
    sort as sort,
    space_to_batch as space_to_batch,
    space_to_batch_nd as space_to_batch_nd,
    space_to_depth as space_to_depth,
    split as split,
    squeeze as squeeze,
    stack as stack,
    stop_gradient as stop_gradient,
    strided_slice as strided_slice,
    tensor_scatter_add as tensor_scatter_add,
    tensor_scatter_add as tensor_scatter_nd_add,
    tensor_scatter_max as tensor_scatter_nd_max,
    tensor_scatter_min as tensor_scatter_nd_min,
    tensor_scatter_sub as tensor_scatter_nd_sub,
    tensor_scatter_update as tensor_scatter_nd_update,
    tensor_scatter_sub as tensor_scatter_sub,
    tensor_scatter_update as tensor_scatter_update,
    tile as tile,
    transpose as transpose,
    unique as unique,
    unique_with_counts as unique_with_counts,
    unstack as unpack,
    unravel_index as unravel_index,
    unstack as unstack,
    where as where,
    where_v2 as where_v2,
    zeros as zeros,
    zeros_like as zeros_like,
)
from dataflow.ops.assertions import (
    assert_equal as assert_equal,
    assert_greater as assert_greater,
    assert_greater_equal as assert_greater_equal,
    assert_integer as assert_integer,
    assert_less as assert_less,
    assert_less_equal as assert_less_equal,
    assert_near as assert_near,
    assert_negative as assert_negative,
    assert_non_negative as assert_non_negative,
    assert_non_positive as assert_non_positive,
    assert_none_equal as assert_none_equal,
    assert_positive as assert_positive,
    assert_proper_iterable as assert_proper_iterable,
    assert_same_float_dtype as assert_same_float_dtype,
    assert_type as assert_type,
    is_non_decreasing as is_non_decreasing,
    is_numeric_tensor as is_numeric_tensor,
    is_strictly_increasing as is_strictly_increasing,
)
from dataflow.ops.shape_assertions import (
    assert_rank as assert_rank,
    assert_rank_at_least as assert_rank_at_least,
    assert_rank_in as assert_rank_in,
    assert_scalar as assert_scalar,
)
from dataflow.ops.casts import (
    cast as cast,
    saturate_cast as saturate_cast,
    to_bfloat16 as to_bfloat16,
    to_complex128 as to_complex128,
    to_complex64 as to_complex64,
    to_double as to_double,
    to_float as to_float,
    to_int32 as to_int32,
    to_int64 as to_int64,
)
from dataflow.ops.clip import (
    clip_by_average_norm as clip_by_average_norm,
    clip_by_global_norm as clip_by_global_norm,
    clip_by_norm as clip_by_norm,
    clip_by_value as clip_by_value,
)
from dataflow.ops.comparison import (
    equal as equal,
    greater as greater,
    greater_equal as greater_equal,
    is_finite as is_finite,
    is_inf as is_inf,
    is_nan as is_nan,
    less as less,
    less_equal as less_equal,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    logical_xor as logical_xor,
    not_equal as not_equal,
)
from dataflow.ops.complex_numbers import (
    angle as angle,
    complex_ as complex,
    conj as conj,
    imag as imag,
    real as real,
)
from dataflow.ops.conditionals import case as case, cond as cond, switch_case as switch_case
from dataflow.ops.control_flow import group as group, no_op as no_op, tuple_ as tuple
from dataflow.ops.counting import (
    bincount as bincount,
    confusion_matrix as confusion_matrix,
    histogram_fixed_width as histogram_fixed_width,
    histogram_fixed_width_bins as histogram_fixed_width_bins,
)
from dataflow.ops.cumulative import cumprod as cumprod, cumsum as cumsum
from dataflow.ops.custom_gradient import (
    custom_gradient as custom_gradient,
    grad_pass_through as grad_pass_through,
    recompute_grad as recompute_grad,
)
from dataflow.ops.decompositions import (
    cholesky as batch_cholesky,
    self_adjoint_eig as batch_self_adjoint_eig,
    svd as batch_svd,
    cholesky as cholesky,
    qr as qr,
    self_adjoint_eig as self_adjoint_eig,
    self_adjoint_eigvals as self_adjoint_eigvals,
    svd as svd,
)
from dataflow.ops.elementary import (
    abs_ as abs,
    acos as acos,
    acosh as acosh,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atanh as atanh,
    ceil as ceil,
    abs_ as complex_abs,
    cos as cos,
    cosh as cosh,
    exp as exp,
    expm1 as expm1,
    floor as floor,
    reciprocal as inv,
    log as log,
    log1p as log1p,
    negative as neg,
    negative as negative,
    reciprocal as reciprocal,
    rint as rint,
    round_ as round,
    rsqrt as rsqrt,
    sigmoid as sigmoid,
    sign as sign,
    sin as sin,
    sinh as sinh,
    sqrt as sqrt,
    square as square,
    tan as tan,
    tanh as tanh,
)
from dataflow.ops.functional import foldl as foldl, foldr as foldr, map_fn as map_fn, scan as scan
from dataflow.ops.gather_scatter import batch_scatter_update as batch_scatter_update
from dataflow.ops.graph_functions import (
    add_to_collection as add_to_collection,
    add_to_collections as add_to_collections,
    colocate_with as colocate_with,
    container as container,
    control_dependencies as control_dependencies,
    device as device,
    get_collection as get_collection,
    get_collection_ref as get_collection_ref,
    init_scope as init_scope,
    name_scope as name_scope,
    op_scope as op_scope,
)
from dataflow.ops.indexed_slices import (
    IndexedSlices as IndexedSlices,
    IndexedSlicesValue as IndexedSlicesValue,
)
from dataflow.ops.initializers import (
    constant_initializer as constant_initializer,
    glorot_normal_initializer as glorot_normal_initializer,
    glorot_uniform_initializer as glorot_uniform_initializer,
    ones_initializer as ones_initializer,
    orthogonal_initializer as orthogonal_initializer,
    random_normal_initializer as random_normal_initializer,
    random_uniform_initializer as random_uniform_initializer,
    truncated_normal_initializer as truncated_normal_initializer,
    uniform_unit_scaling_initializer as uniform_unit_scaling_initializer,
    variance_scaling_initializer as variance_scaling_initializer,
    zeros_initializer as zeros_initializer,
)
from dataflow.ops.logging_ops import (
    Assert as Assert,
    Print as Print,
    print_ as print,
    timestamp as timestamp,
)
from dataflow.ops.lookup_tables import (
    initialize_all_tables as initialize_all_tables,
    tables_initializer as tables_initializer,
)
from dataflow.ops.matmul import (
    batch_matmul as batch_matmul,
    matmul as matmul,
    sparse_matmul as sparse_matmul,
)
from dataflow.ops.matrix_diag import (
    matrix_band_part as batch_matrix_band_part,
    matrix_diag as batch_matrix_diag,
    matrix_diag_part as batch_matrix_diag_part,
    matrix_set_diag as batch_matrix_set_diag,
    matrix_transpose as batch_matrix_transpose,
    diag as diag,
    diag_part as diag_part,
    eye as eye,
    linspace as lin_space,
    linspace as linspace,
    matrix_band_part as matrix_band_part,
    matrix_diag as matrix_diag,
    matrix_diag_part as matrix_diag_part,
    matrix_set_diag as matrix_set_diag,
    matrix_transpose as matrix_transpose,
    trace as trace,
)
from dataflow.ops.check_numerics import (
    add_check_numerics_ops as add_check_numerics_ops,
    check_numerics as check_numerics,
    verify_tensor_all_finite as verify_tensor_all_finite,
)
from dataflow.ops.parsing import (
    decode_compressed as decode_compressed,
    decode_csv as decode_csv,
    decode_raw as decode_raw,
    FixedLenFeature as FixedLenFeature,
    FixedLenSequenceFeature as FixedLenSequenceFeature,
    parse_example as parse_example,
    parse_single_example as parse_single_example,
    parse_tensor as parse_tensor,
    serialize_tensor as serialize_tensor,
    SparseFeature as SparseFeature,
    VarLenFeature as VarLenFeature,
    decode_json_example as decode_json_example,
)
from dataflow.ops.partitioners import (
    fixed_size_partitioner as fixed_size_partitioner,
    min_max_variable_partitioner as min_max_variable_partitioner,
    variable_axis_size_partitioner as variable_axis_size_partitioner,
)
from dataflow.ops.quantize import (
    dequantize as dequantize,
    fake_quant_with_min_max_args as fake_quant_with_min_max_args,
    fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient,
    fake_quant_with_min_max_vars as fake_quant_with_min_max_vars,
    fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient,
    quantize as quantize,
    quantize as quantize_v2,
    fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel,
    fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient,
)
from dataflow.ops.queues import (
    FIFOQueue as FIFOQueue,
    PaddingFIFOQueue as PaddingFIFOQueue,
    PriorityQueue as PriorityQueue,
    QueueBase as QueueBase,
    RandomShuffleQueue as RandomShuffleQueue,
)
from dataflow.ops.random import (
    multinomial as multinomial,
    random_crop as random_crop,
    random_gamma as random_gamma,
    random_normal as random_normal,
    random_poisson as random_poisson,
    random_shuffle as random_shuffle,
    random_uniform as random_uniform,
    truncated_normal as truncated_normal,
)
from dataflow.ops.reader import (
    FixedLengthRecordReader as FixedLengthRecordReader,
    IdentityReader as IdentityReader,
    matching_files as matching_files,
    read_file as read_file,
    ReaderBase as ReaderBase,
    TextLineReader as TextLineReader,
    TFRecordReader as TFRecordReader,
    WholeFileReader as WholeFileReader,
    write_file as write_file,
)
from dataflow.ops.ragged_tensor import RaggedTensor as RaggedTensor
from dataflow.ops.reduce import (
    arg_max as arg_max,
    arg_min as arg_min,
    argmax as argmax,
    argmin as argmin,
    count_nonzero as count_nonzero,
    reduce_all as reduce_all,
    reduce_any as reduce_any,
    reduce_logsumexp as reduce_logsumexp,
    reduce_max as reduce_max,
    reduce_mean as reduce_mean,
    reduce_min as reduce_min,
    reduce_prod as reduce_prod,
    reduce_sum as reduce_sum,
)
from dataflow.ops.script_ops import (
    numpy_function as numpy_function,
    py_func as py_func,
    py_function as py_function,
)
from dataflow.ops.seeds import get_seed as get_seed, set_random_seed as set_random_seed
from dataflow.ops.segment import (
    segment_max as segment_max,
    segment_mean as segment_mean,
    segment_min as segment_min,
    segment_prod as segment_prod,
    segment_sum as segment_sum,
    unsorted_segment_max as unsorted_segment_max,
    unsorted_segment_mean as unsorted_segment_mean,
    unsorted_segment_min as unsorted_segment_min,
    unsorted_segment_prod as unsorted_segment_prod,
    unsorted_segment_sqrt_n as unsorted_segment_sqrt_n,
    unsorted_segment_sum as unsorted_segment_sum,
)
from dataflow.ops.sequence_parsing import (
    parse_single_sequence_example as parse_single_sequence_example,
)
from dataflow.ops.session_handles import (
    delete_session_tensor as delete_session_tensor,
    get_session_handle as get_session_handle,
    get_session_tensor as get_session_tensor,
)
from dataflow.ops.solvers import (
    matrix_determinant as batch_matrix_determinant,
    matrix_inverse as batch_matrix_inverse,
    matrix_solve as batch_matrix_solve,
    matrix_solve_ls as batch_matrix_solve_ls,
    matrix_triangular_solve as batch_matrix_triangular_solve,
    cholesky_solve as cholesky_solve,
    matrix_determinant as matrix_determinant,
    matrix_inverse as matrix_inverse,
    matrix_solve as matrix_solve,
    matrix_solve_ls as matrix_solve_ls,
    matrix_triangular_solve as matrix_triangular_solve,
)
from dataflow.ops.sources import (
    constant as constant,
    placeholder as placeholder,
    placeholder_with_default as placeholder_with_default,
)
from dataflow.ops.sparse import (
    deserialize_many_sparse as deserialize_many_sparse,
    serialize_many_sparse as serialize_many_sparse,
    serialize_sparse as serialize_sparse,
    sparse_add as sparse_add,
    sparse_concat as sparse_concat,
    sparse_fill_empty_rows as sparse_fill_empty_rows,
    sparse_mask as sparse_mask,
    sparse_maximum as sparse_maximum,
    sparse_merge as sparse_merge,
    sparse_minimum as sparse_minimum,
    sparse_reduce_max as sparse_reduce_max,
    sparse_reduce_max_sparse as sparse_reduce_max_sparse,
    sparse_reduce_sum as sparse_reduce_sum,
    sparse_reduce_sum_sparse as sparse_reduce_sum_sparse,
    sparse_reorder as sparse_reorder,
    sparse_reset_shape as sparse_reset_shape,
    sparse_reshape as sparse_reshape,
    sparse_retain as sparse_retain,
    sparse_slice as sparse_slice,
    sparse_softmax as sparse_softmax,
    sparse_split as sparse_split,
    sparse_tensor_dense_matmul as sparse_tensor_dense_matmul,
    sparse_tensor_to_dense as sparse_tensor_to_dense,
    sparse_to_dense as sparse_to_dense,
    sparse_to_indicator as sparse_to_indicator,
    sparse_transpose as sparse_transpose,
)
from dataflow.ops.sparse_segment import (
    sparse_segment_mean as sparse_segment_mean,
    sparse_segment_sqrt_n as sparse_segment_sqrt_n,
    sparse_segment_sum as sparse_segment_sum,
)
from dataflow.ops.sparse_tensor import (
    convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor,
    sparse_placeholder as sparse_placeholder,
    SparseTensor as SparseTensor,
    SparseTensorValue as SparseTensorValue,
)
from dataflow.ops.special import (
    betainc as betainc,
    digamma as digamma,
    erf as erf,
    erfc as erfc,
    igamma as igamma,
    igammac as igammac,
    lbeta as lbeta,
    lgamma as lgamma,
    polygamma as polygamma,
    zeta as zeta,
)
from dataflow.ops.spectral import (
    fft as batch_fft,
    fft2d as batch_fft2d,
    fft3d as batch_fft3d,
    ifft as batch_ifft,
    ifft2d as batch_ifft2d,
    ifft3d as batch_ifft3d,
    fft as fft,
    fft2d as fft2d,
    fft3d as fft3d,
    ifft as ifft,
    ifft2d as ifft2d,
    ifft3d as ifft3d,
)
from dataflow.ops.state import (
    assign as assign,
    assign_add as assign_add,
    assign_sub as assign_sub,
    count_up_to as count_up_to,
    is_variable_initialized as is_variable_initialized,
    scatter_add as scatter_add,
    scatter_div as scatter_div,
    scatter_max as scatter_max,
    scatter_min as scatter_min,
    scatter_mul as scatter_mul,
    scatter_nd_add as scatter_nd_add,
    scatter_nd_sub as scatter_nd_sub,
    scatter_nd_update as scatter_nd_update,
    scatter_sub as scatter_sub,
    scatter_update as scatter_update,
)
from dataflow.ops.string import (
    as_string as as_string,
    decode_base64 as decode_base64,
    encode_base64 as encode_base64,
    reduce_join as reduce_join,
    regex_replace as regex_replace,
    string_join as string_join,
    string_strip as string_strip,
    string_to_number as string_to_number,
    substr as substr,
)
from dataflow.ops.edit_distance import edit_distance as edit_distance
from dataflow.ops.string_hash import (
    fingerprint as fingerprint,
    string_to_hash_bucket as string_to_hash_bucket,
    string_to_hash_bucket_fast as string_to_hash_bucket_fast,
    string_to_hash_bucket_strong as string_to_hash_bucket_strong,
)
from dataflow.ops.string_split import string_split as string_split
from dataflow.ops.summary import (
    audio_summary as audio_summary,
    histogram_summary as histogram_summary,
    image_summary as image_summary,
    merge_all_summaries as merge_all_summaries,
    merge_summary as merge_summary,
    scalar_summary as scalar_summary,
)
from dataflow.ops.sums import accumulate_n as accumulate_n, add_n as add_n
from dataflow.ops.critical_section import CriticalSection as CriticalSection
from dataflow.ops.template import make_template as make_template
from dataflow.ops.tensor_array import TensorArray as TensorArray
from dataflow.ops.tensor_products import cross as cross, einsum as einsum, tensordot as tensordot
from dataflow.ops.norms import global_norm as global_norm, norm as norm
from dataflow.data.ragged_elements import RaggedTensorSpec as RaggedTensorSpec
from dataflow.ops.type_specs import (
    IndexedSlicesSpec as IndexedSlicesSpec,
    SparseTensorSpec as SparseTensorSpec,
    TensorSpec as TensorSpec,
)
from dataflow.ops.variable_store import AUTO_REUSE as AUTO_REUSE
from dataflow.ops.variable_scope import (
    create_partitioned_variables as create_partitioned_variables,
    get_local_variable as get_local_variable,
    get_variable as get_variable,
    get_variable_scope as get_variable_scope,
    no_regularizer as no_regularizer,
    variable_op_scope as variable_op_scope,
    variable_scope as variable_scope,
    VariableScope as VariableScope,
)
from dataflow.ops.resource_variables import (
    disable_resource_variables as disable_resource_variables,
    enable_resource_variables as enable_resource_variables,
    resource_variables_enabled as resource_variables_enabled,
)
from dataflow.ops.variables import (
    Variable as Variable,
    variable_creator_scope as variable_creator_scope,
)
from dataflow.ops.variable_lists import (
    all_variables as all_variables,
    assert_variables_initialized as assert_variables_initialized,
    global_variables as global_variables,
    global_variables_initializer as global_variables_initializer,
    initialize_all_variables as initialize_all_variables,
    initialize_local_variables as initialize_local_variables,
    initialize_variables as initialize_variables,
    local_variables as local_variables,
    local_variables_initializer as local_variables_initializer,
    model_variables as model_variables,
    moving_average_variables as moving_average_variables,
    report_uninitialized_variables as report_uninitialized_variables,
    trainable_variables as trainable_variables,
    variables_initializer as variables_initializer,
)
from dataflow.ops.variable_replication import (
    VariableAggregation as VariableAggregation,
    VariableSynchronization as VariableSynchronization,
)
from dataflow.ops.while_loop import while_loop as while_loop
from dataflow.runtime.config import (
    ConfigProto as ConfigProto,
    GPUOptions as GPUOptions,
    GraphOptions as GraphOptions,
    OptimizerOptions as OptimizerOptions,
    RunOptions as RunOptions,
)
from dataflow.runtime.session import InteractiveSession as InteractiveSession, Session as Session
from dataflow.shapes import (
    broadcast_static_shape as broadcast_static_shape,
    Dimension as Dimension,
    dimension_value as dimension_value,
    disable_v2_tensorshape as disable_v2_tensorshape,
    enable_v2_tensorshape as enable_v2_tensorshape,
    TensorShape as TensorShape,
)
from tensorboard.compat.proto.attr_value_pb2 import (
    AttrValue as AttrValue,
    NameAttrList as NameAttrList,
)
from tensorboard.compat.proto.config_pb2 import RunMetadata as RunMetadata
from tensorboard.compat.proto.event_pb2 import (
    Event as Event,
    LogMessage as LogMessage,
    SessionLog as SessionLog,
)
from tensorboard.compat.proto.graph_pb2 import GraphDef as GraphDef
from tensorboard.compat.proto.histogram_pb2 import HistogramProto as HistogramProto
from tensorboard.compat.proto.meta_graph_pb2 import (
    MetaGraphDef as MetaGraphDef,
    TensorInfo as TensorInfo,
)
from tensorboard.compat.proto.node_def_pb2 import NodeDef as NodeDef
from tensorboard.compat.proto.summary_pb2 import (
    Summary as Summary,
    SummaryMetadata as SummaryMetadata,
)
from dataflow.python import pywrap_tensorflow as pywrap_tensorflow
from dataflow.python.platform import resource_loader as resource_loader
from dataflow.shim import as_tensorflow as as_tensorflow

__version__: str
from dataflow.version import (
    COMPILER_VERSION as COMPILER_VERSION,
    CXX11_ABI_FLAG as CXX11_ABI_FLAG,
    CXX_VERSION as CXX_VERSION,
    GIT_VERSION as GIT_VERSION,
    GRAPH_DEF_VERSION as GRAPH_DEF_VERSION,
    GRAPH_DEF_VERSION_MIN_CONSUMER as GRAPH_DEF_VERSION_MIN_CONSUMER,
    GRAPH_DEF_VERSION_MIN_PRODUCER as GRAPH_DEF_VERSION_MIN_PRODUCER,
    MONOLITHIC_BUILD as MONOLITHIC_BUILD,
    VERSION as VERSION,
)
from dataflow.graph.registry import (
    not_differentiable as no_gradient,
)
from dataflow.dtypes import (
    QUANTIZED_DTYPES as QUANTIZED_DTYPES,
)
from dataflow.ops.accumulator import (
    ConditionalAccumulatorBase as ConditionalAccumulatorBase,
)
from dataflow.ops.matrix_functions import (
    matrix_square_root as matrix_square_root,
)
from dataflow.ops.type_specs import (
    TypeSpec as TypeSpec,
)
from dataflow.shapes import (
    dimension_at_index as dimension_at_index,
)
from dataflow.ops.indexed_slices import (
    convert_to_tensor_or_indexed_slices as convert_to_tensor_or_indexed_slices,
)
from dataflow.ops.functional import (
    vectorized_map as vectorized_map,
)
from dataflow.logging import (
    get_logger as get_logger,
)
from dataflow.compat.v1 import (
    control_flow_v2_enabled as control_flow_v2_enabled,
    enable_control_flow_v2 as enable_control_flow_v2,
)
from dataflow.autodiff.gradient_tape import GradientTape as GradientTape
from dataflow.modules import Module as Module
from dataflow.functions.traced import function as function
from dataflow.functions.wrapped import wrap_function as wrap_function
from dataflow.ops.patches import extract_volume_patches as extract_volume_patches
from dataflow.ops.tensor_values import (
    constant_value as get_static_value,
    is_tensor as is_tensor,
)

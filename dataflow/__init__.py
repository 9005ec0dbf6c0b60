"""dataflow: TensorFlow 1's graph mode, to look at while it works.

``import dataflow as tf``. This file holds the public names, and nothing else: one block for each
module. Heavier parts (``tf.train``, ``tf.layers``, ...) are loaded when first used.
"""

from __future__ import annotations

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING, Any as _Any

__version__ = "0.1.0"

from dataflow.lazy_names import LAZY_NAMES as _LAZY_NAMES

# layer 0
from dataflow import errors
from dataflow.device_spec import DeviceSpec
from dataflow.dtypes import (
    DType,
    as_dtype,
    bfloat16,
    bool_ as bool,
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    half,
    int8,
    int16,
    int32,
    int64,
    qint8,
    qint16,
    qint32,
    quint8,
    quint16,
    resource,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
    variant,
)
from dataflow.compat.v1 import (
    disable_control_flow_v2,
    disable_eager_execution,
    disable_resource_variables,
    disable_tensor_equality,
    disable_v2_behavior,
    disable_v2_tensorshape,
    executing_eagerly,
    is_tensor,
)
from dataflow.errors import OpError
from dataflow.shapes import Dimension, TensorShape, broadcast_static_shape, dimension_value

# graph
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import (
    convert_to_tensor,
    register_tensor_conversion_function,
)
from dataflow.graph.default_stacks import (
    default_graph as get_default_graph,
    default_session as get_default_session,
    reset_default_graph,
)
from dataflow.graph.graph import Graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import (
    RegisterGradient,
    not_differentiable as NoGradient,
    not_differentiable as NotDifferentiable,
)
from dataflow.graph.tensor import Tensor
from dataflow.graph.tensor_proto import make_ndarray, make_tensor_proto

# ops
from dataflow.ops.array import (
    argsort,
    batch_gather,
    batch_to_space,
    batch_to_space_nd,
    bitcast,
    boolean_mask,
    broadcast_dynamic_shape,
    broadcast_to,
    concat,
    depth_to_space,
    dynamic_partition,
    dynamic_stitch,
    ensure_shape,
    expand_dims,
    extract_image_patches,
    fill,
    gather,
    gather_nd,
    guarantee_const,
    identity,
    identity_n,
    invert_permutation,
    listdiff,
    meshgrid,
    newaxis,
    one_hot,
    ones,
    ones_like,
    pad,
    parallel_stack,
    range_ as range,
    rank,
    repeat,
    required_space_to_batch_paddings,
    reshape,
    reverse,
    reverse as reverse_v2,
    reverse_sequence,
    roll,
    scatter_nd,
    searchsorted,
    sequence_mask,
    setdiff1d,
    shape,
    shape_n,
    size,
    slice_ as slice,
    sort,
    space_to_batch,
    space_to_batch_nd,
    space_to_depth,
    split,
    squeeze,
    stack,
    stack as pack,
    stop_gradient,
    strided_slice,
    tensor_scatter_add,
    tensor_scatter_add as tensor_scatter_nd_add,
    tensor_scatter_max as tensor_scatter_nd_max,
    tensor_scatter_min as tensor_scatter_nd_min,
    tensor_scatter_sub,
    tensor_scatter_sub as tensor_scatter_nd_sub,
    tensor_scatter_update,
    tensor_scatter_update as tensor_scatter_nd_update,
    tile,
    transpose,
    unique,
    unique_with_counts,
    unravel_index,
    unstack,
    unstack as unpack,
    where,
    where as select,
    where_v2,
    zeros,
    zeros_like,
)
from dataflow.ops.comparison import (
    equal,
    greater,
    greater_equal,
    is_finite,
    is_inf,
    is_nan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    not_equal,
)
from dataflow.ops.elementary import (
    abs_ as abs,
    abs_ as complex_abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    ceil,
    cos,
    cosh,
    exp,
    expm1,
    floor,
    log,
    log1p,
    log_sigmoid,
    negative,
    negative as neg,
    reciprocal,
    reciprocal as inv,
    rint,
    round_ as round,
    rsqrt,
    sigmoid,
    sign,
    sin,
    sinh,
    sqrt,
    square,
    tan,
    tanh,
)
from dataflow.ops.graph_scopes import (
    add_to_collection,
    add_to_collections,
    colocate_with,
    container,
    control_dependencies,
    device,
    get_collection,
    get_collection_ref,
    name_scope,
    op_scope,
)
from dataflow.ops.indexed_slices import IndexedSlices, IndexedSlicesValue
from dataflow.ops.arithmetic import (
    add,
    atan2,
    div,
    div_no_nan,
    divide,
    floor_div,
    floordiv,
    floormod,
    maximum,
    minimum,
    mod,
    multiply,
    multiply as mul,
    pow_ as pow,
    realdiv,
    scalar_mul,
    squared_difference,
    subtract,
    subtract as sub,
    truediv,
    truncatediv,
    truncatemod,
)
from dataflow.ops.casts import (
    cast,
    saturate_cast,
    to_bfloat16,
    to_complex128,
    to_complex64,
    to_double,
    to_float,
    to_int32,
    to_int64,
)
from dataflow.ops.matmul import (
    batch_matmul,
    matmul,
    sparse_matmul,
)
from dataflow.ops.sources import constant, placeholder, placeholder_with_default
from dataflow.ops.state import (
    assign,
    assign_add,
    assign_sub,
    count_up_to,
    is_variable_initialized,
    scatter_add,
    scatter_div,
    scatter_max,
    scatter_min,
    scatter_mul,
    scatter_nd_add,
    scatter_nd_sub,
    scatter_nd_update,
    scatter_sub,
    scatter_update,
)
from dataflow.ops.static_value import constant_value as get_static_value
from dataflow.ops.variable_scope import (
    AUTO_REUSE,
    VariableScope,
    get_local_variable,
    get_variable,
    get_variable_scope,
    no_regularizer,
    variable_op_scope,
    variable_scope,
)
from dataflow.ops.variables import (
    Variable,
    VariableAggregation,
    VariableSynchronization,
    all_variables,
    assert_variables_initialized,
    global_variables,
    global_variables_initializer,
    initialize_all_variables,
    initialize_local_variables,
    initialize_variables,
    local_variables,
    local_variables_initializer,
    model_variables,
    moving_average_variables,
    report_uninitialized_variables,
    trainable_variables,
    variable_creator_scope,
    variables_initializer,
)

from dataflow.ops import operators as _operators

# gradients
from dataflow.gradients import AggregationMethod, UnconnectedGradients, gradients, hessians

# runtime
from dataflow.runtime import composites as _composites
from dataflow.runtime.config import (
    ConfigProto,
    GPUOptions,
    GraphOptions,
    OptimizerOptions,
    RunOptions,
)
from dataflow.runtime.session import InteractiveSession, Session

if _TYPE_CHECKING:
    # Loaded when first used, by `_LAZY_NAMES` (a test holds the two against each other).
    from dataflow.graph.import_graph import import_graph_def
    from dataflow.ops.accumulator import (
        ConditionalAccumulator,
        SparseConditionalAccumulator,
    )
    from dataflow.ops.assertions import (
        assert_equal,
        assert_greater,
        assert_greater_equal,
        assert_integer,
        assert_less,
        assert_less_equal,
        assert_near,
        assert_negative,
        assert_non_negative,
        assert_non_positive,
        assert_none_equal,
        assert_positive,
        assert_proper_iterable,
        assert_rank,
        assert_rank_at_least,
        assert_rank_in,
        assert_same_float_dtype,
        assert_scalar,
        assert_type,
        is_non_decreasing,
        is_numeric_tensor,
        is_strictly_increasing,
    )
    from dataflow.ops.conditionals import case, cond, switch_case
    from dataflow.ops.control_flow import group, no_op, tuple_ as tuple
    from dataflow.ops.cumulative import (
        cumprod,
        cumsum,
    )
    from dataflow.ops.functional import foldl, foldr, map_fn, scan
    from dataflow.ops.sequence_parsing import (
        parse_single_sequence_example,
    )
    from dataflow.ops.sums import accumulate_n, add_n
    from dataflow.ops.clip import (
        clip_by_average_norm,
        clip_by_global_norm,
        clip_by_norm,
        clip_by_value,
    )
    from dataflow.ops.complex_numbers import (
        angle,
        complex_ as complex,
        conj,
        imag,
        real,
    )
    from dataflow.ops.counting import (
        bincount,
        confusion_matrix,
        histogram_fixed_width,
        histogram_fixed_width_bins,
    )
    from dataflow.ops.decompositions import (
        cholesky,
        cholesky as batch_cholesky,
        qr,
        self_adjoint_eig,
        self_adjoint_eig as batch_self_adjoint_eig,
        self_adjoint_eigvals,
        svd,
        svd as batch_svd,
    )
    from dataflow.ops.initializers import (
        constant_initializer,
        glorot_normal_initializer,
        glorot_uniform_initializer,
        ones_initializer,
        orthogonal_initializer,
        random_normal_initializer,
        random_uniform_initializer,
        truncated_normal_initializer,
        uniform_unit_scaling_initializer,
        variance_scaling_initializer,
        zeros_initializer,
    )
    from dataflow.ops.logging_ops import Assert, Print, print_ as print, timestamp
    from dataflow.ops.lookup import (
        initialize_all_tables,
        tables_initializer,
    )
    from dataflow.ops.matrix_diag import (
        diag,
        diag_part,
        eye,
        linspace,
        linspace as lin_space,
        matrix_band_part,
        matrix_band_part as batch_matrix_band_part,
        matrix_diag,
        matrix_diag as batch_matrix_diag,
        matrix_diag_part,
        matrix_diag_part as batch_matrix_diag_part,
        matrix_set_diag,
        matrix_set_diag as batch_matrix_set_diag,
        matrix_transpose,
        matrix_transpose as batch_matrix_transpose,
        trace,
    )
    from dataflow.ops.numerics import (
        add_check_numerics_ops,
        check_numerics,
        verify_tensor_all_finite,
    )
    from dataflow.ops.parsing import (
        FixedLenFeature,
        FixedLenSequenceFeature,
        SparseFeature,
        VarLenFeature,
        decode_compressed,
        decode_csv,
        decode_raw,
        parse_example,
        parse_single_example,
        parse_tensor,
        serialize_tensor,
    )
    from dataflow.ops.quantize import (
        dequantize,
        fake_quant_with_min_max_args,
        fake_quant_with_min_max_args_gradient,
        fake_quant_with_min_max_vars,
        fake_quant_with_min_max_vars_gradient,
        quantize,
        quantize as quantize_v2,
    )
    from dataflow.ops.queue import (
        FIFOQueue,
        PaddingFIFOQueue,
        PriorityQueue,
        QueueBase,
        RandomShuffleQueue,
    )
    from dataflow.ops.random import (
        multinomial,
        random_crop,
        random_gamma,
        random_normal,
        random_poisson,
        random_shuffle,
        random_uniform,
        truncated_normal,
    )
    from dataflow.ops.reader import (
        FixedLengthRecordReader,
        IdentityReader,
        ReaderBase,
        TextLineReader,
        TFRecordReader,
        WholeFileReader,
        matching_files,
        read_file,
        write_file,
    )
    from dataflow.ops.reduce import (
        arg_max,
        arg_min,
        argmax,
        argmin,
        count_nonzero,
        reduce_all,
        reduce_any,
        reduce_logsumexp,
        reduce_max,
        reduce_mean,
        reduce_min,
        reduce_prod,
        reduce_sum,
    )
    from dataflow.ops.script_ops import numpy_function, py_func, py_function
    from dataflow.ops.seeds import (
        get_seed,
        set_random_seed,
    )
    from dataflow.ops.segment import (
        segment_max,
        segment_mean,
        segment_min,
        segment_prod,
        segment_sum,
        unsorted_segment_max,
        unsorted_segment_mean,
        unsorted_segment_min,
        unsorted_segment_prod,
        unsorted_segment_sqrt_n,
        unsorted_segment_sum,
    )
    from dataflow.ops.solvers import (
        cholesky_solve,
        matrix_determinant,
        matrix_determinant as batch_matrix_determinant,
        matrix_inverse,
        matrix_inverse as batch_matrix_inverse,
        matrix_solve,
        matrix_solve as batch_matrix_solve,
        matrix_solve_ls,
        matrix_solve_ls as batch_matrix_solve_ls,
        matrix_triangular_solve,
        matrix_triangular_solve as batch_matrix_triangular_solve,
    )
    from dataflow.ops.custom_gradient import custom_gradient
    from dataflow.ops.partitioners import (
        fixed_size_partitioner,
        min_max_variable_partitioner,
        variable_axis_size_partitioner,
    )
    from dataflow.ops.session_handles import (
        delete_session_tensor,
        get_session_handle,
        get_session_tensor,
    )
    from dataflow.ops.sparse import (
        deserialize_many_sparse,
        serialize_many_sparse,
        serialize_sparse,
        sparse_add,
        sparse_concat,
        sparse_fill_empty_rows,
        sparse_mask,
        sparse_maximum,
        sparse_merge,
        sparse_minimum,
        sparse_reduce_max,
        sparse_reduce_max_sparse,
        sparse_reduce_sum,
        sparse_reduce_sum_sparse,
        sparse_reorder,
        sparse_reset_shape,
        sparse_reshape,
        sparse_retain,
        sparse_slice,
        sparse_softmax,
        sparse_split,
        sparse_tensor_dense_matmul,
        sparse_tensor_to_dense,
        sparse_to_dense,
        sparse_to_indicator,
        sparse_transpose,
    )
    from dataflow.ops.sparse_segment import (
        sparse_segment_mean,
        sparse_segment_sqrt_n,
        sparse_segment_sum,
    )
    from dataflow.ops.sparse_tensor import (
        SparseTensor,
        SparseTensorValue,
        convert_to_tensor_or_sparse_tensor,
        sparse_placeholder,
    )
    from dataflow.ops.special import (
        betainc,
        digamma,
        erf,
        erfc,
        igamma,
        igammac,
        lbeta,
        lgamma,
        polygamma,
        zeta,
    )
    from dataflow.ops.spectral import (
        fft,
        fft as batch_fft,
        fft2d,
        fft2d as batch_fft2d,
        fft3d,
        fft3d as batch_fft3d,
        ifft,
        ifft as batch_ifft,
        ifft2d,
        ifft2d as batch_ifft2d,
        ifft3d,
        ifft3d as batch_ifft3d,
    )
    from dataflow.ops.string import (
        as_string,
        decode_base64,
        edit_distance,
        encode_base64,
        fingerprint,
        reduce_join,
        regex_replace,
        string_join,
        string_split,
        string_strip,
        string_to_hash_bucket,
        string_to_hash_bucket_fast,
        string_to_hash_bucket_strong,
        string_to_number,
        substr,
    )
    from dataflow.ops.summary import (
        audio_summary,
        histogram_summary,
        image_summary,
        merge_all_summaries,
        merge_summary,
        scalar_summary,
    )
    from dataflow.ops.synchronization import CriticalSection
    from dataflow.ops.tensor_array import TensorArray
    from dataflow.ops.tensor_products import (
        cross,
        einsum,
        global_norm,
        norm,
        tensordot,
    )
    from dataflow.ops.template import make_template
    from dataflow.ops.while_loop import while_loop

#: Parts that are loaded on first use: attribute of ``tf`` -> module.
_LAZY = {
    name: f"dataflow.{name}"
    for name in (
        "app",
        "audio",
        "bitwise",
        "cluster",
        "compat",
        "config",
        "contrib",
        "core",
        "data",
        "debugging",
        "estimator",
        "examples",
        "feature_column",
        "flags",
        "gfile",
        "graph_util",
        "image",
        "initializers",
        "io",
        "keras",
        "layers",
        "linalg",
        "logging",
        "lookup",
        "losses",
        "manip",
        "math",
        "metrics",
        "nest",
        "nn",
        "python",
        "python_io",
        "quantization",
        "queue",
        "random",
        "saved_model",
        "sets",
        "signal",
        "sparse",
        "spectral",
        "strings",
        "summary",
        "test",
        "train",
        "version",
    )
}

#: Protocol buffers that TensorBoard ships: attribute of ``tf`` -> (module, message).
_PROTOS = {
    "AttrValue": ("attr_value_pb2", "AttrValue"),
    "Event": ("event_pb2", "Event"),
    "GraphDef": ("graph_pb2", "GraphDef"),
    "HistogramProto": ("histogram_pb2", "HistogramProto"),
    "MetaGraphDef": ("meta_graph_pb2", "MetaGraphDef"),
    "NameAttrList": ("attr_value_pb2", "NameAttrList"),
    "NodeDef": ("node_def_pb2", "NodeDef"),
    "RunMetadata": ("config_pb2", "RunMetadata"),
    "SessionLog": ("event_pb2", "SessionLog"),
    "Summary": ("summary_pb2", "Summary"),
    "TensorInfo": ("meta_graph_pb2", "TensorInfo"),
}


def __getattr__(name: str) -> _Any:
    if name in _LAZY_NAMES:
        module_name, _, attribute = _LAZY_NAMES[name].partition(":")
        value = getattr(_importlib.import_module(module_name), attribute)
        globals()[name] = value
        return value
    if name in _LAZY:
        module = _importlib.import_module(_LAZY[name])
        globals()[name] = module
        return module
    if name in _PROTOS:
        module_name, message = _PROTOS[name]
        value = getattr(
            _importlib.import_module(f"tensorboard.compat.proto.{module_name}"), message
        )
        globals()[name] = value
        return value
    from dataflow.missing import explain

    raise AttributeError(explain(name))


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_LAZY_NAMES, *_PROTOS})

"""Samples of variables and of the nodes without inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.samples.base import Sample

START = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
ROWS = np.array([2, 0, 2], np.int32)
UPDATES = np.array([[1, 1], [2, 2], [3, 4]], np.float32)
CELLS = np.array([[0, 1], [2, 0]], np.int32)


def after_initializer(change: Any) -> Any:
    """Builds ``change(tf, variable, *tensors)`` so that the variable is initialized first."""

    def build(tf: Any, *tensors: Any) -> Any:
        v = tf.Variable(START)
        with tf.control_dependencies([v.initializer]):
            return change(tf, v, *tensors)

    return build


def resource(change: Any) -> Any:
    """As `after_initializer`, of a resource variable."""

    def build(tf: Any, *tensors: Any) -> Any:
        v = tf.Variable(START, use_resource=True)
        with tf.control_dependencies([v.initializer]):
            return change(tf, v, *tensors)

    return build


def read_in_place(tf: Any) -> Any:
    from dataflow.ops import state

    v = tf.Variable(START, use_resource=True)
    with tf.control_dependencies([v.initializer]):
        said = state.disable_copy_on_read_op(v.handle)
    with tf.control_dependencies([said]):
        return v.read_value()


def destroyed(tf: Any) -> Any:
    from dataflow.ops import state

    v = tf.Variable(START, use_resource=True)
    with tf.control_dependencies([v.initializer]):
        gone = state.destroy_resource_op(v.handle)
    with tf.control_dependencies([gone]):
        return tf.is_variable_initialized(v)


def shape_read(tf: Any, v: Any) -> Any:
    from dataflow.ops import state

    return state.variable_shape_op(v.handle)


def scattered(function: Any) -> Any:
    """What a scatter op leaves, row by row in order."""

    def expected(rows: Any, updates: Any) -> Any:
        result = START.copy()
        for row, update in zip(rows, updates, strict=True):
            result[row] = function(result[row], update)
        return result

    return expected


def cells(function: Any) -> Any:
    """What a scatter_nd op leaves."""

    def expected(where: Any, updates: Any) -> Any:
        result = START.copy()
        for place, update in zip(where, updates, strict=True):
            result[tuple(place)] = function(result[tuple(place)], update)
        return result

    return expected


def counted(tf: Any, use_resource: bool = False) -> Any:
    v = tf.Variable(3, use_resource=use_resource)
    with tf.control_dependencies([v.initializer]):
        return tf.count_up_to(v, 5)


def temporary(tf: Any, x: Any) -> Any:
    from dataflow.ops import state

    ref = state.temporary_variable_op(shape=(3, 2), dtype=tf.float32, var_name="t")
    return state.destroy_temporary_variable(state.assign_op(ref, x), var_name="t")


def old_variable(tf: Any, x: Any) -> Any:
    from dataflow.ops import state

    ref = state.old_variable_op(shape=(3, 2), dtype=tf.float32)
    return tf.identity(state.assign_op(ref, x))


def fused(tf: Any, x: Any, y: Any) -> Any:
    from dataflow.kernels.jit.expression import Program
    from dataflow.ops.fused import fused_op

    program = Program(2, (("Mul", (0, 1)), ("Tanh", (2,))), "float32")
    return fused_op([x, y], program=program, T=tf.float32, output_shape=(3, 2), name="fused")


def fused_region(tf: Any, x: Any, y: Any) -> Any:
    from dataflow.kernels.jit.expression import Region
    from dataflow.ops.fused import fused_region_op

    region = Region(2, (("Mul", (0, 1)), ("Tanh", (2,))), (2, 3), "float32")
    return fused_region_op([x, y], region=region, T=tf.float32, N=2, output_shape=(3, 2), name="f")


def fused_rows(tf: Any, x: Any, y: Any) -> Any:
    from dataflow.kernels.jit.expression import Region
    from dataflow.ops.fused import fused_rows_op

    region = Region(2, (("Mul", (0, 1)), ("RowMean", (2,))), (2, 3), "float32")
    return fused_rows_op(
        [x, y],
        region=region,
        T=tf.float32,
        N=2,
        full_shape=(3, 2),
        by_row=(False, True),
        without_axis=(False, True),
        name="f",
    )


def sum_repeated_rows(tf: Any, values: Any, indices: Any) -> Any:
    """The sums in the order of their indices, without those that a GPU leaves over."""
    from dataflow.ops.fused import sum_repeated_rows_op

    sums, rows = sum_repeated_rows_op(values, indices, num_rows=9, name="s")
    return tf.unsorted_segment_sum(sums, rows, 9)


def copied(op: str) -> Sample:
    def build(tf: Any, x: Any) -> Any:
        from dataflow.ops import transfer

        copy = transfer.copy_to_host if op == "_CopyToHost" else transfer.copy_to_device
        return copy(x, name="copy")

    return Sample(op, build, (START,), lambda x: x, gradient=(), oracle=False, note="internal")


def scatter(op: str, name: str, function: Any, around: Any = after_initializer) -> Sample:
    return Sample(
        op,
        around(lambda tf, v, i, u: getattr(tf, name)(v, i, u)),
        (ROWS, UPDATES),
        scattered(function),
        gradient=(),
    )


def scatter_nd(op: str, name: str, function: Any, around: Any = after_initializer) -> Sample:
    return Sample(
        op,
        around(lambda tf, v, i, u: getattr(tf, name)(v, i, u)),
        (CELLS, np.array([10, 20], np.float32)),
        cells(function),
        gradient=(),
    )


def kept(tf: Any, x: Any) -> Any:
    """A value put into the session and read again in one run."""
    from dataflow.ops import session_handles as ops

    return ops.get_session_tensor_op(ops.get_session_handle_op(x), dtype=tf.float32)


def dropped(tf: Any, x: Any) -> Any:
    from dataflow.ops import session_handles as ops

    with tf.control_dependencies([ops.delete_session_tensor_op(ops.get_session_handle_op(x))]):
        return tf.constant(1)


def sliced(tf: Any, use_resource: bool = False) -> Any:
    v = tf.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], use_resource=use_resource)
    with tf.control_dependencies([v.initializer]):
        value = tf.fill([2], 9.0)
        return tf.convert_to_tensor(v[:, 1].assign(value))


def added_products(tf: Any, x: Any, y: Any) -> Any:
    """The node that rewrites put in the place of a sum of products."""
    from dataflow.ops.fused import mat_mul_sum_op

    return mat_mul_sum_op([x, y], [y, x], transpose_b=True, name="sum")


def added_slices(tf: Any, x: Any, y: Any) -> Any:
    """The node that rewrites put in the place of a sum of slices' gradients."""
    from dataflow.ops.fused import sum_of_slices_op

    first = ((0, 0), (0, 1), (1, 1), (1, 1, 0, 0, 0))
    second = ((0, 1), (0, 2), (1, 1), (1, 1, 0, 0, 2))
    shape = np.array([2, 3], np.int32)
    return sum_of_slices_op(shape, [x, y], indices=(first, second), apart=True, name="sum")


def biased_convolution(tf: Any, x: Any, filters: Any, bias: Any) -> Any:
    """The node that rewrites put in the place of a convolution, a bias and a rectifier."""
    from dataflow.ops.conv_bias import conv2d_bias_op

    return conv2d_bias_op(
        x, filters, bias, relu=True, strides=[1, 1, 1, 1], padding="VALID", explicit_paddings=[],
        dilations=[1, 1, 1, 1], output_shape=(1, 1, 3, 2), name="biased",
    )  # fmt: skip


def biased_and_pooled(tf: Any, x: Any, bias: Any) -> Any:
    """The nodes that rewrites put in the place of a bias, a rectifier and pooling."""
    from dataflow.ops.fused import bias_relu_max_pool_grad_op, bias_relu_max_pool_op

    attrs = {"ksize": [1, 1, 2, 1], "strides": [1, 1, 2, 1]}
    y = bias_relu_max_pool_op(x, bias, output_shape=(1, 1, 2, 1), name="pooled", **attrs)
    return y, bias_relu_max_pool_grad_op(x, bias, y, y, name="gradient", **attrs)


def packed_product(tf: Any, x: Any, y: Any) -> Any:
    """The nodes that rewrites put in the place of products with one right matrix."""
    from dataflow.ops.fused import packed_matrix_op, packed_product_op

    packed = packed_matrix_op(y, transpose_b=True, name="packed")
    return packed_product_op(x, packed, output_shape=(2, 2), name="product")


def looked_up(tf: Any, table: Any) -> Any:
    """The node that rewrites put in the place of a lookup of sparse ids; the second row has none."""
    from dataflow.ops.fused import safe_embedding_lookup_op

    at = tf.constant([[0, 0], [0, 1], [1, 0], [2, 0]], tf.int64)
    ids, shape = (tf.constant(v, tf.int64) for v in ([1, 3, -1, 3], [3, 2]))
    default = tf.constant(0, tf.int64)
    return safe_embedding_lookup_op(table, at, ids, shape, default, combiner="sum", name="rows")[0]


def without_empty_rows(tf: Any, rows: Any) -> Any:
    """The node that rewrites put in the place of a choice between zeros and rows."""
    from dataflow.ops.fused import zero_empty_rows_op

    return zero_empty_rows_op(rows, tf.constant([False, True, False, True]), name="rows")


def summed_over_rounds(tf: Any, x: Any, y: Any) -> Any:
    """The nodes that rewrites put in the place of sums over the rounds of a loop."""
    from dataflow.ops.fused import add_product_op, add_rows_op, rounds_sum_op, rounds_total_op

    product, rows = (rounds_sum_op(tf.ones(shape), name="sum") for shape in ([2, 2], [3]))
    for a, b in ((x, y), (y, x)):
        product = add_product_op(product, a, b, transpose_b=True, name="product")
        rows = add_rows_op(rows, a, name="rows")
    return [
        rounds_total_op(product, T=tf.float32, output_shape=(2, 2), name="total"),
        rounds_total_op(rows, T=tf.float32, output_shape=(3,), name="total"),
    ]


def updated_together(tf: Any, x: Any, y: Any) -> Any:
    """The node that rewrites put in the place of several updates."""
    from dataflow.ops.fused import update_all_op

    variables = [tf.Variable(START), tf.Variable(START[0])]
    with tf.control_dependencies([v.initializer for v in variables]):
        out = update_all_op(
            [v._as_graph_element() for v in variables],
            [x, y],
            [tf.constant(0.5)],
            [],
            update="ApplyGradientDescent",
            update_attrs={},
            name="together",
        )
    with tf.control_dependencies([out]):
        return [tf.identity(v) for v in variables]


ROW_CHANGES = [
    ("Update", lambda a, b: b),
    ("Add", np.add),
    ("Sub", np.subtract),
    ("Mul", np.multiply),
    ("Div", np.divide),
    ("Min", np.minimum),
    ("Max", np.maximum),
]
CELL_CHANGES = [("Update", lambda a, b: b), ("Add", np.add), ("Sub", np.subtract)]

SAMPLES = [
    Sample(
        "GetSessionHandle", kept, (START,), lambda x: x, gradient=(), oracle=False, note="raw op"
    ),
    Sample(
        "GetSessionTensor", kept, (START,), lambda x: x, gradient=(), oracle=False, note="raw op"
    ),
    Sample("DeleteSessionTensor", dropped, (START,), 1, gradient=(), oracle=False, note="raw op"),
    Sample("Const", lambda tf: tf.constant([[1, 2], [3, 4]]), (), np.array([[1, 2], [3, 4]])),
    Sample(
        "Placeholder",
        lambda tf, x: x + tf.placeholder_with_default(1.0, []),
        (START,),
        lambda x: x + 1,
        gradient=(),
    ),
    Sample(
        "PlaceholderWithDefault",
        lambda tf, x: tf.placeholder_with_default(x, [None, 2]) * 2.0,
        (START,),
        lambda x: x * 2,
    ),
    Sample("VariableV2", after_initializer(lambda tf, v: v.read_value()), (), START),
    Sample(
        "Variable", old_variable, (START,), lambda x: x, gradient=(), oracle=False, note="raw op"
    ),
    Sample(
        "TemporaryVariable",
        temporary,
        (START,),
        lambda x: x,
        gradient=(),
        oracle=False,
        note="raw op",
    ),
    Sample("DestroyTemporaryVariable", temporary, (START,), lambda x: x, gradient=(), oracle=False),
    Sample(
        "Assign",
        lambda tf, x: tf.assign(tf.Variable(START), x),
        (START + 1,),
        lambda x: x,
        gradient=(),
    ),
    Sample(
        "AssignAdd",
        after_initializer(lambda tf, v, x: tf.assign_add(v, x)),
        (START,),
        lambda x: START + x,
        gradient=(),
    ),
    Sample(
        "AssignSub",
        after_initializer(lambda tf, v, x: tf.assign_sub(v, x)),
        (START,),
        lambda x: START - x,
        gradient=(),
    ),
    Sample(
        "IsVariableInitialized",
        after_initializer(lambda tf, v: tf.is_variable_initialized(v)),
        (),
        True,
    ),
    Sample(
        "IsVariableInitialized",
        lambda tf: tf.is_variable_initialized(tf.Variable(1.0)),
        (),
        False,
        note="not yet",
    ),
    Sample("CountUpTo", counted, (), 3),
    Sample("StridedSliceAssign", sliced, (), np.array([[1, 9, 3], [4, 9, 6]], np.float32)),
    *[scatter(f"Scatter{name}", f"scatter_{name.lower()}", f) for name, f in ROW_CHANGES],
    *[
        scatter(f"ResourceScatter{name}", f"scatter_{name.lower()}", f, resource)
        for name, f in ROW_CHANGES
    ],
    *[scatter_nd(f"ScatterNd{name}", f"scatter_nd_{name.lower()}", f) for name, f in CELL_CHANGES],
    *[
        scatter_nd(f"ResourceScatterNd{name}", f"scatter_nd_{name.lower()}", f, resource)
        for name, f in CELL_CHANGES
    ],
    Sample("VarHandleOp", resource(lambda tf, v: v + 1.0), (), START + 1),
    Sample("ReadVariableOp", resource(lambda tf, v: v.read_value()), (), START),
    Sample("VariableShape", resource(shape_read), (), np.array([3, 2]), oracle=False),
    Sample("DisableCopyOnRead", read_in_place, (), START, oracle=False, note="raw op of 2.x"),
    Sample("DestroyResourceOp", destroyed, (), False, oracle=False, note="raw op"),
    Sample(
        "AssignVariableOp",
        resource(lambda tf, v, x: v.assign(x).read_value()),
        (START + 1,),
        lambda x: x,
        gradient=(),
    ),
    Sample(
        "AssignAddVariableOp",
        resource(lambda tf, v, x: v.assign_add(x).read_value()),
        (START,),
        lambda x: START + x,
        gradient=(),
    ),
    Sample(
        "AssignSubVariableOp",
        resource(lambda tf, v, x: v.assign_sub(x).read_value()),
        (START,),
        lambda x: START - x,
        gradient=(),
    ),
    Sample("VarIsInitializedOp", resource(lambda tf, v: v.is_initialized()), (), True),
    Sample("ResourceCountUpTo", lambda tf: counted(tf, True), (), 3),
    Sample(
        "ResourceGather", resource(lambda tf, v, i: tf.gather(v, i)), (ROWS,), lambda i: START[i]
    ),
    Sample(
        "ResourceGatherNd",
        resource(lambda tf, v, i: v.gather_nd(i)),
        (CELLS,),
        lambda i: START[tuple(i.T)],
    ),
    Sample(
        "ResourceStridedSliceAssign",
        lambda tf: sliced(tf, True),
        (),
        np.array([[1, 9, 3], [4, 9, 6]], np.float32),
    ),
    copied("_CopyToDevice"),
    copied("_CopyToHost"),
    Sample(
        "_Fused",
        fused,
        (START, START / 10),
        lambda x, y: np.tanh(x * y),
        gradient=(),
        oracle=False,
        note="made by rewrites",
    ),
    Sample(
        "_FusedRegion",
        fused_region,
        (START, START / 10),
        lambda x, y: [x * y, np.tanh(x * y)],
        gradient=(),
        oracle=False,
        note="made by rewrites",
    ),
    Sample(
        "_FusedRows",
        fused_rows,
        (START, START / 10),
        lambda x, y: [x * y, (x * y).mean(1)],
        gradient=(),
        oracle=False,
        note="made by rewrites",
    ),
    Sample(
        "_SumRepeatedRows",
        sum_repeated_rows,
        (np.arange(8, dtype=np.float32).reshape(4, 2), np.array([7, 2, 7, 0], np.int32)),
        lambda x, i: np.array([x[i == row].sum(0) for row in range(9)], np.float32),
        gradient=(),
        oracle=False,
        note="made by rewrites",
    ),
    Sample(
        "_SafeEmbeddingLookup",
        looked_up,
        (np.arange(8, dtype=np.float32).reshape(4, 2),),
        lambda t: np.stack([t[1] + t[3], 0 * t[0], t[3]]),
        gradient=(),
        oracle=False,
        note="made by rewrites",
    ),
    Sample(
        "_ZeroEmptyRows",
        without_empty_rows,
        (np.arange(8, dtype=np.float32).reshape(4, 2),),
        lambda t: t * np.float32([[1], [0], [1], [0]]),
        gradient=(),
        oracle=False,
        note="made by rewrites",
    ),
    Sample(
        "_MatMulSum",
        added_products,
        (np.ones((2, 3), np.float32) * 0.5, np.arange(6, dtype=np.float32).reshape(2, 3)),
        lambda x, y: x @ y.T + y @ x.T,
        gradient=(),
        oracle=False,
        note="made by rewrites",
    ),
    Sample(
        "_SumOfSlices",
        added_slices,
        (np.array([[1.5], [-2]], np.float32), np.array([4, -8], np.float32)),
        lambda x, y: np.stack([x[:, 0], y, 0 * y], 1),
        gradient=(),
        oracle=False,
        note="made by rewrites",
    ),
    Sample(
        "_Conv2DBias",
        biased_convolution,
        (
            np.array([3, 4, -5, -1], np.float32).reshape(1, 1, 4, 1),
            np.array([[1, 2], [3, -4]], np.float32).reshape(1, 2, 1, 2),
            np.float32([-2, 1]),
        ),
        lambda x, filters, bias: np.float32([[[[13, 0], [0, 29], [0, 0]]]]),
        gradient=(),
        oracle=False,
        note="made by rewrites",
    ),
    *(
        Sample(
            name,
            biased_and_pooled,
            (np.array([3, 4, -5, -1], np.float32).reshape(1, 1, 4, 1), np.float32([-2])),
            lambda x, bias: [
                np.float32([[[[2], [0]]]]),
                np.float32([[[[0], [2], [0], [0]]]]),
            ],
            gradient=(),
            oracle=False,
            note="made by rewrites",
        )
        for name in ("_BiasReluMaxPool", "_BiasReluMaxPoolGrad")
    ),
    *(
        Sample(
            name,
            packed_product,
            (np.ones((2, 3), np.float32) * 0.5, np.arange(6, dtype=np.float32).reshape(2, 3)),
            lambda x, y: x @ y.T,
            gradient=(),
            oracle=False,
            note="made by rewrites",
        )
        for name in ("_PackedMatrix", "_PackedProduct")
    ),
    *(
        Sample(
            name,
            summed_over_rounds,
            (np.ones((2, 3), np.float32) * 0.5, np.arange(6, dtype=np.float32).reshape(2, 3)),
            lambda x, y: [x @ y.T + y @ x.T + 1, (x + y).sum(0) + 1],
            gradient=(),
            oracle=False,
            note="made by rewrites",
        )
        for name in ("_RoundsSum", "_AddProduct", "_AddRows", "_RoundsTotal")
    ),
    Sample(
        "_UpdateAll",
        updated_together,
        (START / 10, START[1]),
        lambda x, y: [START - x / 2, START[0] - y / 2],
        gradient=(),
        oracle=False,
        note="made by rewrites",
    ),
]

"""Samples of loops, conditionals, TensorArrays, assertions and Python functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.raw_op import raw
from tests.samples.base import Sample

X = np.array([0.5, -1.25, 2.0], np.float32)
ROWS = np.array([[1, 2], [3, 4], [5, 6]], np.float32)


def after(tf: Any, op: Any, value: Any) -> Any:
    with tf.control_dependencies([op]):
        return tf.identity(value)


def hidden(tf: Any, value: Any) -> Any:
    """A predicate that no rewrite can know."""
    return tf.placeholder_with_default(tf.constant(value), [])


def conditional(taken: bool) -> Any:
    return lambda tf, x: tf.cond(hidden(tf, taken), lambda: x * x * x, lambda: tf.sin(x) + 1.0)


def powers(tf: Any, x: Any) -> Any:
    return tf.while_loop(
        lambda i, _: i < 3, lambda i, y: (i + 1, y * x), [tf.constant(0), tf.ones_like(x)]
    )[1]


def nested(tf: Any, x: Any) -> Any:
    def body(i: Any, y: Any) -> Any:
        inner = tf.while_loop(
            lambda j, _: j < i, lambda j, z: (j + 1, z * tf.cos(x)), [tf.constant(0), y]
        )[1]
        return i + 1, tf.cond(i < 2, lambda: inner + x, lambda: inner * x)

    return tf.while_loop(lambda i, _: i < 3, body, [tf.constant(0), x])[1]


def nested_expected(x: Any) -> Any:
    y = x
    for i in range(3):
        for _ in range(i):
            y = y * np.cos(x)
        y = y + x if i < 2 else y * x
    return y


def looped_variable(tf: Any) -> Any:
    """A loop whose variable is a reference: Ref* nodes of every kind."""
    v = tf.Variable(1.0, use_resource=False)
    first = after(tf, v.initializer, tf.constant(0))
    ref = v._ref()
    loop = {"frame_name": "loop", "parallel_iterations": 1}
    i = raw(tf, "Enter", data=first, **loop)
    with tf.control_dependencies([v.initializer]):
        r = raw(tf, "RefEnter", data=ref, **loop)
    i_head = raw(tf, "Merge", inputs=[i, i])[0]
    r_head = raw(tf, "RefMerge", inputs=[r, r])[0]
    limit = raw(tf, "Enter", data=tf.constant(3), is_constant=True, **loop)
    go_on = raw(tf, "LoopCond", input=tf.less(i_head, limit))
    _, i_on = raw(tf, "Switch", data=i_head, pred=go_on)
    r_off, r_on = raw(tf, "RefSwitch", data=r_head, pred=go_on)
    one = raw(tf, "Enter", data=tf.constant(1), is_constant=True, **loop)
    i_head.op._update_input(1, raw(tf, "NextIteration", data=i_on + one))
    r_head.op._update_input(1, raw(tf, "RefNextIteration", data=r_on))
    return tf.identity(raw(tf, "RefExit", data=r_off)) + 1.0


def switched_variable(tf: Any) -> Any:
    v = tf.Variable(1.0, use_resource=False)
    pred = after(tf, v.initializer, hidden(tf, True))
    new = tf.cond(pred, lambda: tf.assign(v, 5.0), lambda: tf.constant(0.0))
    return tf.identity(new)


def merged_variables(tf: Any) -> Any:
    v = tf.Variable(1.0, use_resource=False)
    pred = after(tf, v.initializer, hidden(tf, False))
    off, on = raw(tf, "RefSwitch", data=v._ref(), pred=pred)
    return tf.identity(raw(tf, "RefMerge", inputs=[off, on])[0]) + 1.0


def array_of(tf: Any, x: Any, **options: Any) -> Any:
    return tf.TensorArray(x.dtype, size=3, **options).unstack(x)


def array_loop(tf: Any, x: Any) -> Any:
    source = array_of(tf, x, clear_after_read=False)
    out = tf.TensorArray(x.dtype, size=3)
    out = tf.while_loop(
        lambda i, _: i < 3,
        lambda i, a: (i + 1, a.write(i, source.read(i) * source.read(2 - i))),
        [tf.constant(0), out],
    )[1]
    return out.stack()


def pushed(tf: Any, x: Any) -> Any:
    stack = raw(tf, "EmptyTensorList", element_shape=-1, max_num_elements=-1, element_dtype=x.dtype)
    stack = raw(tf, "TensorListPushBack", input_handle=stack, tensor=x)
    stack = raw(tf, "TensorListPushBack", input_handle=stack, tensor=x * x)
    rest, last = raw(
        tf, "TensorListPopBack", input_handle=stack, element_shape=-1, element_dtype=x.dtype
    )
    _, first = raw(
        tf, "TensorListPopBack", input_handle=rest, element_shape=[3], element_dtype=x.dtype
    )
    return [last, first]


def stacked(tf: Any, x: Any) -> Any:
    stack = raw(tf, "StackV2", max_size=-1, elem_type=x.dtype)
    push = raw(tf, "StackPushV2", handle=stack, elem=x)
    with tf.control_dependencies([push]):
        pop = raw(tf, "StackPopV2", handle=stack, elem_type=x.dtype)
    with tf.control_dependencies([pop]):
        close = raw(tf, "StackCloseV2", handle=stack)
    return after(tf, close, pop)


def loop_sample(op_type: str, **options: Any) -> Sample:
    return Sample(op_type, powers, (X,), lambda x: x**3, **options)


def gradients_with_shape(tf: Any, x: Any) -> Any:
    """Gradients of the elements of an array, two for each: of one, and of one that nobody wrote."""
    array = tf.TensorArray(x.dtype, size=2, element_shape=x.shape)
    handle, flow = raw(
        tf,
        "TensorArrayGradWithShape",
        handle=array.handle,
        flow_in=array.flow,
        shape_to_prepend=[2],
        source="two",
    )
    given = tf.TensorArray(x.dtype, handle=handle, flow=flow)
    given = given.write(1, tf.stack([x, 2 * x]))
    return [given.read(1), given.read(0)]


SAMPLES = [
    Sample("NoOp", lambda tf, x: after(tf, tf.no_op(), x), (X,), lambda x: x),
    Sample(
        "ControlTrigger", lambda tf, x: after(tf, raw(tf, "ControlTrigger"), x), (X,), lambda x: x
    ),
    Sample(
        "Abort",
        lambda tf, x: tf.cond(
            hidden(tf, False),
            lambda: after(tf, raw(tf, "Abort", error_msg="stop"), x),
            lambda: x,
        ),
        (X,),
        lambda x: x,
    ),
    Sample("Switch", conditional(True), (X,), lambda x: x**3),
    Sample("Merge", conditional(False), (X,), lambda x: np.sin(x) + 1),
    Sample(
        "Merge",
        lambda tf, x: tf.case(
            [(hidden(tf, False), lambda: x), (hidden(tf, True), lambda: 2.0 * x * x)],
            default=lambda: -x,
        ),
        (X,),
        lambda x: 2 * x * x,
        note="case",
    ),
    Sample("RefSwitch", switched_variable, (), np.float32(5)),
    Sample("RefMerge", merged_variables, (), np.float32(2)),
    Sample("RefEnter", looped_variable, (), np.float32(2)),
    Sample("RefExit", looped_variable, (), np.float32(2)),
    Sample("RefNextIteration", looped_variable, (), np.float32(2)),
    loop_sample("Enter"),
    loop_sample("Exit"),
    loop_sample("NextIteration"),
    Sample("LoopCond", nested, (X,), nested_expected, gradient_tolerance=1e-4),
    Sample(
        "Enter",
        lambda tf, x: tf.while_loop(
            lambda i, _: i < 4,
            lambda i, y: (i + 1, y + tf.gather(x, i % 3)),
            [tf.constant(0), tf.zeros([], x.dtype)],
        )[1],
        (X,),
        lambda x: x.sum() + x[0],
        note="sparse_gradient",
    ),
    Sample(
        "Exit",
        lambda tf, x: tf.while_loop(
            lambda i, _: i < 3,
            lambda i, y: (i + 1, tf.concat([y, y * 2.0], 0)),
            [tf.constant(0), x],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
        )[1],
        (X,),
        lambda x: _doubled(x),
        note="growing",
    ),
    Sample("TensorArrayV3", array_loop, (X,), lambda x: x * x[::-1]),
    Sample(
        "TensorArrayGradWithShape",
        gradients_with_shape,
        (ROWS,),
        lambda x: [np.stack([x, 2 * x]), np.zeros((2, *x.shape))],
        (),
    ),
    Sample("TensorArrayGradV3", array_loop, (ROWS,), lambda x: x * x[::-1]),
    Sample(
        "TensorArrayReadV3", lambda tf, x: array_of(tf, x).read(1) * 2.0, (X,), lambda x: 2 * x[1]
    ),
    Sample(
        "TensorArrayWriteV3",
        lambda tf, x: tf.TensorArray(x.dtype, 2).write(0, x).write(1, x * x).stack(),
        (X,),
        lambda x: np.stack([x, x * x]),
    ),
    Sample(
        "TensorArrayGatherV3",
        lambda tf, x: array_of(tf, x * x, clear_after_read=False).gather([2, 0, 2]),
        (ROWS,),
        lambda x: (x * x)[[2, 0, 2]],
    ),
    Sample(
        "TensorArrayScatterV3",
        lambda tf, x: tf.TensorArray(x.dtype, 3).scatter([2, 0, 1], x * x).stack(),
        (ROWS,),
        lambda x: (x * x)[[1, 2, 0]],
    ),
    Sample(
        "TensorArrayConcatV3",
        lambda tf, x: array_of(tf, x * x).concat(),
        (ROWS,),
        lambda x: (x * x).reshape(-1),
    ),
    Sample(
        "TensorArraySplitV3",
        lambda tf, x: tf.TensorArray(x.dtype, 2, infer_shape=False).split(x * x, [1, 2]).concat(),
        (ROWS,),
        lambda x: x * x,
    ),
    Sample(
        "TensorArraySizeV3",
        lambda tf: tf.TensorArray(tf.float32, 0, dynamic_size=True).write(4, 1.0).size(),
        (),
        np.int32(5),
    ),
    Sample(
        "TensorArrayCloseV3",
        lambda tf, x: after(tf, array_of(tf, x).close(), x),
        (X,),
        lambda x: x,
    ),
    Sample(
        "TensorArrayV3",
        lambda tf, x: tf.map_fn(lambda v: v * tf.sin(v), x),
        (X,),
        lambda x: x * np.sin(x),
        note="map_fn",
    ),
    Sample(
        "TensorArrayV3", lambda tf, x: tf.scan(lambda a, v: a * v, x), (X,), np.cumprod, note="scan"
    ),
    Sample(
        "TensorArrayV3",
        lambda tf, x: tf.scan(
            lambda a, v: a * v + 1.0, x, initializer=tf.constant(2.0, x.dtype), reverse=True
        ),
        (X,),
        lambda x: _reverse_scan(x),
        note="scan_reverse",
    ),
    Sample(
        "TensorArrayV3",
        lambda tf, x: tf.foldl(lambda a, v: a - v * v, x),
        (X,),
        lambda x: x[0] - x[1] ** 2 - x[2] ** 2,
        note="foldl",
    ),
    Sample(
        "TensorArrayV3",
        lambda tf, x: tf.foldr(lambda a, v: a - v * v, x),
        (X,),
        lambda x: x[2] - x[1] ** 2 - x[0] ** 2,
        note="foldr",
    ),
    Sample("EmptyTensorList", pushed, (X,), lambda x: [x * x, x]),
    Sample("TensorListPushBack", pushed, (X,), lambda x: [x * x, x]),
    Sample("TensorListPopBack", pushed, (X,), lambda x: [x * x, x]),
    Sample("StackV2", stacked, (X,), lambda x: x, gradient=()),
    Sample("StackPushV2", stacked, (X,), lambda x: x, gradient=()),
    Sample("StackPopV2", stacked, (X,), lambda x: x, gradient=()),
    Sample("StackCloseV2", stacked, (X,), lambda x: x, gradient=()),
    Sample(
        "Assert",
        lambda tf, x: after(tf, tf.Assert(tf.reduce_all(x < 3.0), [x]), x * x),
        (X,),
        lambda x: x * x,
    ),
    Sample(
        "Assert",
        lambda tf, x: after(tf, tf.assert_less(x, tf.constant(3.0, x.dtype)), x),
        (X,),
        lambda x: x,
        note="assert_less",
    ),
    Sample("Print", lambda tf, x: tf.Print(x * x, [x], "x = "), (X,), lambda x: x * x),
    Sample("PrintV2", lambda tf, x: after(tf, tf.print("x", x), x), (X,), lambda x: x),
    Sample("CheckNumerics", lambda tf, x: tf.check_numerics(x * x, "bad"), (X,), lambda x: x * x),
    Sample(
        "CheckNumerics",
        lambda tf, x: tf.verify_tensor_all_finite(x, "bad"),
        (X,),
        lambda x: x,
        note="verify",
    ),
    Sample("Timestamp", lambda tf: tf.timestamp(), (), None, random=True),
    Sample(
        "PyFunc",
        lambda tf, x: tf.py_func(lambda a: a[::-1] * np.float32(2), [x], tf.float32),
        (X,),
        lambda x: 2 * x[::-1],
        gradient=(),
    ),
    Sample(
        "PyFuncStateless",
        lambda tf, x: tf.py_func(
            lambda a: (a, a.sum()), [x], [tf.float32, tf.float32], stateful=False
        ),
        (X,),
        lambda x: [x, x.sum()],
        gradient=(),
    ),
    Sample(
        "EagerPyFunc",
        lambda tf, x: tf.py_function(lambda a: a.numpy() + 1, [x], tf.float32),
        (X,),
        lambda x: x + 1,
        gradient=(),
    ),
]


def _doubled(x: Any) -> Any:
    for _ in range(3):
        x = np.concatenate([x, 2 * x])
    return x


def _reverse_scan(x: Any) -> Any:
    result, a = np.zeros_like(x), np.float32(2)
    for i in range(len(x) - 1, -1, -1):
        a = a * x[i] + 1
        result[i] = a
    return result

"""Samples of lists of tensors by index."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.raw_op import raw
from tests.samples.base import Sample

X = np.array([[1.0, -2.0], [3.0, 0.5], [-1.0, 4.0]])
ROW = np.array([2.0, 3.0])


def reserved(tf: Any, x: Any, count: int = 3) -> Any:
    return raw(
        tf, "TensorListReserve", element_shape=[2], num_elements=count, element_dtype=x.dtype
    )


def rows(tf: Any, x: Any) -> Any:
    return raw(tf, "TensorListFromTensor", tensor=x, element_shape=[2])


def put(tf: Any, handle: Any, index: int, item: Any) -> Any:
    return raw(tf, "TensorListSetItem", input_handle=handle, index=index, item=item)


def item(tf: Any, handle: Any, index: int, like: Any) -> Any:
    return raw(
        tf,
        "TensorListGetItem",
        input_handle=handle,
        index=index,
        element_shape=[2],
        element_dtype=like.dtype,
    )


def stack(tf: Any, handle: Any, like: Any, shape: Any = (2,)) -> Any:
    return raw(
        tf,
        "TensorListStack",
        input_handle=handle,
        element_shape=list(shape),
        element_dtype=like.dtype,
    )


def squares(tf: Any, x: Any) -> Any:
    """Rows by index, in and out."""
    found = reserved(tf, x)
    for i in range(3):
        found = put(tf, found, i, item(tf, rows(tf, x), i, x) ** 2)
    return stack(tf, found, x)


def one_row(tf: Any, x: Any, row: Any) -> Any:
    return stack(tf, put(tf, rows(tf, x), 1, row * row), x)


def with_hole(tf: Any, row: Any) -> Any:
    handle = put(tf, reserved(tf, row), 2, row * row)
    return [stack(tf, handle, row), item(tf, handle, 0, row)]


def resized(tf: Any, x: Any) -> Any:
    handle = rows(tf, x * x)
    shorter, longer = (
        raw(tf, "TensorListResize", input_handle=handle, size=size) for size in (2, 4)
    )
    return [stack(tf, shorter, x), stack(tf, longer, x)]


def sizes(tf: Any, x: Any) -> Any:
    handle = rows(tf, x)
    known = raw(tf, "TensorListElementShape", input_handle=handle, shape_type=tf.int32)
    return [raw(tf, "TensorListLength", input_handle=handle), known]


def gathered(tf: Any, x: Any) -> Any:
    return raw(
        tf,
        "TensorListGather",
        input_handle=rows(tf, x * x),
        indices=[2, 0, 2],
        element_shape=[2],
        element_dtype=x.dtype,
    )


def scattered(tf: Any, x: Any) -> Any:
    handle = raw(
        tf,
        "TensorListScatterV2",
        tensor=x * x,
        indices=[3, 0, 1],
        element_shape=[2],
        num_elements=-1,
    )
    return stack(tf, handle, x)


def joined(tf: Any, x: Any) -> Any:
    handle = raw(
        tf,
        "TensorListSplit",
        tensor=x * x,
        element_shape=[-1, 2],
        lengths=np.array([1, 2], np.int64),
    )
    tensor, lengths = raw(
        tf,
        "TensorListConcatV2",
        input_handle=handle,
        element_shape=[-1, 2],
        leading_dims=np.array([], np.int64),
        element_dtype=x.dtype,
    )
    return [tensor * x, lengths]


def pushed_and_read(tf: Any, x: Any) -> Any:
    """Lists of both kinds mix."""
    handle = rows(tf, x)
    handle = raw(tf, "TensorListPushBack", input_handle=handle, tensor=x[0] * x[1])
    rest, last = raw(
        tf, "TensorListPopBack", input_handle=handle, element_shape=-1, element_dtype=x.dtype
    )
    rest, third = raw(
        tf, "TensorListPopBack", input_handle=rest, element_shape=-1, element_dtype=x.dtype
    )
    return [stack(tf, handle, x), last, third, stack(tf, rest, x)]


def product_in_both(tf: Any, x: Any) -> Any:
    """A list that is read twice: its gradients are added."""
    handle = rows(tf, x)
    return item(tf, handle, 0, x) * item(tf, handle, 2, x) + tf.reduce_sum(stack(tf, handle, x), 0)


def put_into(tf: Any, x: Any) -> Any:
    handle = raw(
        tf,
        "TensorListScatterIntoExistingList",
        input_handle=rows(tf, x * x),
        tensor=x[:2] * 3.0,
        indices=[2, 4],
    )
    return stack(tf, handle, x)


def of_batches(tf: Any, x: Any) -> Any:
    """Two lists in one tensor: joined to the same two in the other order, and a row more for each."""
    first, second = rows(tf, x), rows(tf, x[:1])
    ahead, behind = tf.stack([first, second]), tf.stack([second, first])
    both = raw(tf, "TensorListConcatLists", input_a=ahead, input_b=behind, element_dtype=x.dtype)
    longer = raw(tf, "TensorListPushBackBatch", input_handles=ahead, tensor=x[1:])
    return [stack(tf, tf.unstack(both)[1], x), stack(tf, tf.unstack(longer)[1], x)]


SAMPLES = [
    Sample(
        "TensorListReserve", with_hole, (ROW,), lambda x: [np.stack([0 * x, 0 * x, x * x]), 0 * x]
    ),
    Sample("TensorListFromTensor", squares, (X,), lambda x: x * x),
    Sample("TensorListGetItem", squares, (X,), lambda x: x * x),
    Sample(
        "TensorListGetItem", product_in_both, (X,), lambda x: x[0] * x[2] + x.sum(0), note="twice"
    ),
    Sample(
        "TensorListSetItem", one_row, (X, ROW), lambda x, row: np.stack([x[0], row * row, x[2]])
    ),
    Sample("TensorListStack", squares, (X,), lambda x: x * x),
    Sample(
        "TensorListStack",
        pushed_and_read,
        (X,),
        lambda x: [np.concatenate([x, x[:1] * x[1:2]]), x[0] * x[1], x[2], x[:2]],
        note="pushed",
    ),
    Sample(
        "TensorListResize",
        resized,
        (X,),
        lambda x: [x[:2] ** 2, np.concatenate([x * x, 0 * x[:1]])],
    ),
    Sample("TensorListLength", sizes, (X,), lambda x: [np.int32(3), np.array([2], np.int32)], ()),
    Sample(
        "TensorListElementShape", sizes, (X,), lambda x: [np.int32(3), np.array([2], np.int32)], ()
    ),
    Sample("TensorListGather", gathered, (X,), lambda x: x[[2, 0, 2]] ** 2),
    Sample(
        "TensorListScatterV2",
        scattered,
        (X,),
        lambda x: np.stack([x[1], x[2], 0 * x[0], x[0]]) ** 2,
    ),
    Sample("TensorListConcatV2", joined, (X,), lambda x: [x**3, np.array([1, 2])]),
    Sample(
        "TensorListScatterIntoExistingList",
        put_into,
        (X,),
        lambda x: np.stack([x[0] ** 2, x[1] ** 2, 3 * x[0], 0 * x[0], 3 * x[1]]),
        oracle=False,  # 2.15 dies of an element that has no value
    ),
    Sample(
        "TensorListConcatLists",
        of_batches,
        (X,),
        lambda x: [np.concatenate([x[:1], x]), x[[0, 2]]],
        (),
    ),
    Sample(
        "TensorListPushBackBatch",
        of_batches,
        (X,),
        lambda x: [np.concatenate([x[:1], x]), x[[0, 2]]],
        (),
    ),
    Sample("TensorListSplit", joined, (X,), lambda x: [x**3, np.array([1, 2])]),
]

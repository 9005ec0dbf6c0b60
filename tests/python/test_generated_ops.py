"""``gen_*_ops``: the ops by their own arguments, not the public functions of the same name."""

from __future__ import annotations

import inspect

import dataflow as tf
from dataflow.python.ops import (
    gen_array_ops,
    gen_math_ops,
    gen_nn_ops,
    gen_string_ops,
    string_ops,
)


def test_arguments_are_in_the_order_and_under_the_names_of_tensorflow() -> None:
    def names(function: object) -> list[str]:
        return list(inspect.signature(function).parameters)  # type: ignore[arg-type]

    assert names(gen_array_ops.split) == ["axis", "value", "num_split", "name"]
    assert names(gen_array_ops.concat)[:2] == ["concat_dim", "values"]
    assert names(gen_math_ops.mean) == ["input", "axis", "keep_dims", "name"]
    assert names(gen_math_ops.select) == ["condition", "x", "y", "name"]
    assert names(gen_nn_ops.conv2d)[:4] == ["input", "filter", "strides", "padding"]
    assert names(gen_string_ops.string_format)[:2] == ["inputs", "template"]


def test_they_make_the_op() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        parts = gen_array_ops.split(axis=0, value=[1, 2, 3, 4], num_split=2)
        assert [p.tolist() for p in sess.run(parts)] == [[1, 2], [3, 4]]
        assert sess.run(gen_math_ops._sum([[1, 2], [3, 4]], axis=1)).tolist() == [3, 7]
        grad = gen_nn_ops._relu_grad([1.0, 2.0], [3.0, -4.0])  # hidden until TensorFlow 1.7
        assert sess.run(grad).tolist() == [1.0, 0.0]
        assert gen_math_ops._sum([1.0], reduction_indices=0).op.type == "Sum"
        assert sess.run(string_ops.string_format("{} and {}", [1, [2, 3]])) == b"1 and [2 3]"


def test_modules_rather_than_what_is_in_them() -> None:
    from dataflow.python.ops import variables
    from dataflow.python.saved_model import simple_save

    assert simple_save.simple_save is tf.saved_model.simple_save
    with tf.Graph().as_default():
        made = variables.Variable(1)
        assert made.dtype == tf.int32 and type(made).__name__ == "ResourceVariable"
        assert isinstance(tf.Variable(1), variables.Variable)
        assert not isinstance(made, variables.RefVariable)

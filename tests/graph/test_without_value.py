"""What people try with tensors as if they were numbers or arrays: the errors are Python's, and say what to write instead."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest

import dataflow as tf
from dataflow.graph.without_value import INSTEAD


@pytest.fixture(params=["tensor", "variable", "resource"])
def symbolic(request: pytest.FixtureRequest) -> Any:
    with tf.Graph().as_default():
        if request.param == "tensor":
            yield tf.constant([1.0, 2.0], name="t")
        else:
            yield tf.get_variable("v", [2], use_resource=request.param == "resource")


def test_no_number_comes_of_it(symbolic: Any) -> None:
    for convert, start in ((float, "float"), (int, "int"), (math.sqrt, "float")):
        with pytest.raises(TypeError, match=rf"(?s)^{start}\(\) argument must be .*sess\.run\(t\)"):
            convert(symbolic)
    with pytest.raises(TypeError, match=r"unsupported format string.*'\.2f'.*sess\.run\(t\)"):
        f"{symbolic:.2f}"
    assert f"{symbolic}" == str(symbolic)


def test_nothing_is_assigned_to_a_part(symbolic: Any) -> None:
    with pytest.raises(TypeError, match=r"does not support item assignment.*tf\.where"):
        symbolic[0] = 3.0


@pytest.mark.parametrize("name", sorted(INSTEAD))
def test_attributes_of_arrays_say_what_there_is_instead(name: str) -> None:
    with tf.Graph().as_default():
        tensor = tf.constant([1.0])
        assert not hasattr(tensor, name)
        with pytest.raises(AttributeError) as error:
            getattr(tensor, name)
    assert str(error.value) == f"'Tensor' object has no attribute {name!r}. {INSTEAD[name]}"
    for instead in ("tf.", "sess.run", "v.assign", "v["):
        if instead in INSTEAD[name]:
            return
    pytest.fail("it says nothing to write")


def test_functions_that_are_named_exist() -> None:
    import re

    for text in INSTEAD.values():
        for name in re.findall(r"\btf\.(\w+)", text):
            assert hasattr(tf, name), name


def test_other_names_are_missing_as_ever() -> None:
    with tf.Graph().as_default():
        tensor = tf.constant(1.0)
        with pytest.raises(
            AttributeError, match=r"^'Tensor' object has no attribute 'frobnicate'$"
        ):
            tensor.frobnicate
        assert getattr(tensor, "_keras_mask", None) is None
        tensor.frobnicate = 3
        assert tensor.frobnicate == 3
        assert copy.copy(tensor).name == tensor.name


def test_a_half_made_tensor_does_not_recurse() -> None:
    with pytest.raises(AttributeError, match="'op'"):
        tf.Tensor.__new__(tf.Tensor).name


def test_a_name_of_a_tensor_that_was_a_variable() -> None:
    with tf.Graph().as_default():
        count = tf.Variable(1)
        count = count + 1
        with pytest.raises(AttributeError, match="makes a tensor of the name"):
            count.assign_add(1)


def test_a_second_fetch_is_no_feed_dict() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.constant(1), tf.constant(2)
        for second in (b, b.op):
            with pytest.raises(
                TypeError, match=r"got (Tensor|Operation)\. .*sess\.run\(\[a, b\]\)"
            ):
                session.run(a, second)
        with pytest.raises(TypeError, match=r"got list\.$"):
            session.run(a, [[1]])
        assert session.run(a) == 1


def test_a_finalized_graph_says_what_was_to_be_built() -> None:
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="x")
        graph.finalize()
        with pytest.raises(
            RuntimeError, match=r"^Graph is finalized.*Const 'y'.*in a loop only run it"
        ):
            tf.constant(2.0, name="y")


def test_the_end_of_a_dataset_says_how_to_go_on() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        element = tf.data.Dataset.range(1).make_one_shot_iterator().get_next()
        session.run(element)
        with pytest.raises(tf.errors.OutOfRangeError, match=r"End of sequence.*repeat\(\)"):
            session.run(element)


def test_eager_tensors_have_their_values() -> None:
    import subprocess
    import sys

    program = (
        "import dataflow as tf; tf.enable_eager_execution(); import pickle\n"
        "t = tf.constant(2.5); v = tf.Variable(1.5)\n"
        "assert t.numpy() == 2.5 and float(t) == 2.5 and f'{t:.2f}' == '2.50'\n"
        "assert float(pickle.loads(pickle.dumps(t))) == 2.5\n"
        "try: float(v)\n"
        "except TypeError as error: assert 'Use .numpy().' in str(error)\n"
        "else: raise AssertionError"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_function_that_was_not_called_is_no_fetch() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.Variable(1.0)
        with pytest.raises(
            TypeError, match=r"was not called: global_variables_initializer\(\) gives"
        ):
            session.run(tf.global_variables_initializer)
        with pytest.raises(TypeError, match=r"This is a value, not a node"):
            session.run(3)


@pytest.mark.parametrize("shape", [[None, 2], [3, 2]])
def test_none_is_fed_by_mistake(shape: list[Any]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, shape, name="x")
        with pytest.raises(
            ValueError, match=r"'x:0'.*\n  The value is None, as a function without"
        ):
            session.run(x, {x: None})


def test_a_folder_without_a_checkpoint_is_named_when_one_is_restored(tmp_path: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.Variable(1.0)
        found = tf.train.latest_checkpoint(str(tmp_path))
        with pytest.raises(
            ValueError, match=r"^Can't load save_path when it is None\..*no checkpoint"
        ):
            tf.train.Saver().restore(session, found)

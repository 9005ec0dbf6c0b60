"""Nodes of a GraphDef that call functions of its library become what the functions hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import dataflow as tf

FLOAT, INT, STRING = tf.float32, tf.int32, tf.string
BOOL = tf.as_dtype("bool")


def node(holder: Any, name: str, op: str, inputs: Sequence[str] = (), **attrs: Any) -> None:
    made = holder.add(name=name, op=op, input=inputs)
    for key, value in attrs.items():
        attr = made.attr[key]
        if isinstance(value, tf.DType):
            attr.type = value.as_datatype_enum
        elif isinstance(value, str):
            attr.func.name = value
        elif isinstance(value, (np.ndarray, np.generic)):
            attr.tensor.CopyFrom(tf.make_tensor_proto(value))
        elif value and isinstance(value[0], str):
            for name_of in value:
                attr.list.func.add(name=name_of)
        else:
            attr.list.type.extend(t.as_datatype_enum for t in value)


class File:
    """A GraphDef that is written by hand."""

    def __init__(self) -> None:
        self.proto = tf.GraphDef()

    def function(
        self,
        name: str,
        inputs: dict[str, tf.DType],
        outputs: dict[str, tuple[tf.DType, str]],
        controls: dict[str, str] | None = None,
    ) -> Any:
        made = self.proto.library.function.add()
        made.signature.name = name
        for arg, dtype in inputs.items():
            made.signature.input_arg.add(name=arg, type=dtype.as_datatype_enum)
        for out, (dtype, reference) in outputs.items():
            made.signature.output_arg.add(name=out, type=dtype.as_datatype_enum)
            made.ret[out] = reference
        for key, of in (controls or {}).items():
            made.signature.control_output.append(key)
            made.control_ret[key] = of
        return made.node_def

    def input(self, name: str, dtype: tf.DType) -> None:
        node(self.proto.node, name, "Placeholder", dtype=dtype)

    def call(self, op: str, inputs: Sequence[str], **attrs: Any) -> None:
        node(self.proto.node, "call", op, inputs, **attrs)

    def run(self, feeds: dict[str, Any], fetches: Any = "call:0") -> Any:
        with tf.Graph().as_default() as graph, tf.Session() as session:
            tf.import_graph_def(self.proto, name="")
            assert graph.get_operation_by_name("call")
            return session.run(fetches, feeds)


def imported(file: File, input_map: dict[str, Any], element: str, name: str | None = None) -> Any:
    found = tf.import_graph_def(file.proto, input_map, [element], name=name)
    assert found is not None
    return found[0]


@pytest.fixture
def file() -> File:
    return File()


def double_and_square(file: File) -> None:
    nodes = file.function(
        "f",
        {"a": FLOAT},
        {"d": (FLOAT, "twice:z:0"), "s": (FLOAT, "square:y:0"), "same": (FLOAT, "a")},
    )
    node(nodes, "twice", "AddV2", ["a", "a"], T=FLOAT)
    node(nodes, "square", "Square", ["twice:z:0"], T=FLOAT)


@pytest.mark.parametrize("op", ["PartitionedCall", "StatefulPartitionedCall", "f"])
def test_a_call_gives_what_the_function_returns(file: File, op: str) -> None:
    double_and_square(file)
    file.input("x", FLOAT)
    attrs = {} if op == "f" else {"f": "f", "Tin": [FLOAT], "Tout": [FLOAT] * 3}
    file.call(op, ["x"], **attrs)
    node(file.proto.node, "after", "Neg", ["call:1"], T=FLOAT)
    assert file.run({"x:0": 3.0}, ["call:0", "call:1", "call:2", "after:0"]) == [6, 36, 3, -36]


def test_the_gradient_goes_through_a_call(file: File) -> None:
    double_and_square(file)
    file.input("x", FLOAT)
    file.call("PartitionedCall", ["x"], f="f", Tin=[FLOAT], Tout=[FLOAT] * 3)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.constant(3.0)
        y = imported(file, {"x:0": x}, "call:1", name="file")
        assert session.run(tf.gradients(y, x)) == [24.0]
        assert "file/call/twice" in [op.name for op in graph.get_operations()]


def test_functions_call_functions(file: File) -> None:
    double_and_square(file)
    nodes = file.function("outer", {"a": FLOAT}, {"r": (FLOAT, "sum:z:0")})
    node(nodes, "first", "PartitionedCall", ["a"], f="f", Tin=[FLOAT], Tout=[FLOAT] * 3)
    node(nodes, "second", "f", ["first:output:1"])
    node(nodes, "sum", "AddV2", ["first:output:0", "second:s:0"], T=FLOAT)
    file.input("x", FLOAT)
    file.call("PartitionedCall", ["x"], f="outer", Tin=[FLOAT], Tout=[FLOAT])
    assert file.run({"x:0": 1.0}) == 2 + (2 * 4) ** 2


@pytest.mark.parametrize("says_so", [True, False])
def test_effects_run_whatever_is_read(file: File, says_so: bool) -> None:
    """A file of TensorFlow 2 lists them; in older ones all nodes with an effect count."""
    controls = {"stored": "assign"} if says_so else None
    nodes = file.function("f", {"v": tf.resource, "a": FLOAT}, {"r": (FLOAT, "a")}, controls)
    node(nodes, "assign", "AssignVariableOp", ["v", "a"], dtype=FLOAT)
    node(file.proto.node, "v", "VarHandleOp", dtype=FLOAT)
    file.proto.node[0].attr["shape"].shape.SetInParent()
    file.input("x", FLOAT)
    file.call("StatefulPartitionedCall", ["v", "x"], f="f", Tin=[tf.resource, FLOAT], Tout=[FLOAT])
    node(file.proto.node, "now", "ReadVariableOp", ["v", "^call"], dtype=FLOAT)
    assert file.run({"x:0": 7.0}, ["call:0", "now:0"]) == [7.0, 7.0]


def test_a_function_without_results_can_be_run(file: File) -> None:
    nodes = file.function("f", {"v": tf.resource}, {}, {"stored": "assign"})
    node(nodes, "one", "Const", value=np.float32(1), dtype=FLOAT)
    node(nodes, "assign", "AssignVariableOp", ["v", "one:output:0"], dtype=FLOAT)
    node(file.proto.node, "v", "VarHandleOp", dtype=FLOAT)
    file.proto.node[0].attr["shape"].shape.SetInParent()
    file.call("StatefulPartitionedCall", ["v"], f="f", Tin=[tf.resource], Tout=[])
    node(file.proto.node, "now", "ReadVariableOp", ["v", "^call"], dtype=FLOAT)
    assert file.run({}, ["call", "now:0"]) == [None, 1.0]


def branches(file: File, *ops: str) -> list[str]:
    for op in ops:
        nodes = file.function(f"by_{op}", {"a": FLOAT}, {"r": (FLOAT, "made:y:0")})
        node(nodes, "made", op, ["a"], T=FLOAT)
    return [f"by_{op}" for op in ops]


@pytest.mark.parametrize(
    ("dtype", "pred", "taken"),
    [
        *((BOOL, True, 1), (BOOL, False, 0), (INT, -2, 1), (INT, 0, 0)),
        *((STRING, "no", 1), (STRING, "", 0), (FLOAT, 0.5, 1)),
    ],
)
def test_a_branch_is_chosen(file: File, dtype: tf.DType, pred: Any, taken: int) -> None:
    then, other = branches(file, "Square", "Neg")
    file.input("p", dtype)
    node(file.proto.node, "pred", "Reshape", ["p", "none"], T=dtype, Tshape=INT)
    node(file.proto.node, "none", "Const", value=np.zeros(0, np.int32), dtype=INT)
    file.input("x", FLOAT)
    file.call(
        "If",
        ["pred", "x"],
        then_branch=then,
        else_branch=other,
        Tcond=dtype,
        Tin=[FLOAT],
        Tout=[FLOAT],
    )
    assert file.run({"p:0": pred, "x:0": 3.0}) == (9.0 if taken else -3.0)


def test_what_is_no_scalar_is_true_unless_it_is_empty(file: File) -> None:
    then, other = branches(file, "Square", "Neg")
    for name, value in (("some", [0, 0]), ("none", [])):
        node(file.proto.node, name, "Const", value=np.array(value, np.int32), dtype=INT)
    file.input("x", FLOAT)
    attrs = {
        "then_branch": then,
        "else_branch": other,
        "Tcond": INT,
        "Tin": [FLOAT],
        "Tout": [FLOAT],
    }
    file.call("If", ["some", "x"], **attrs)
    node(file.proto.node, "other", "StatelessIf", ["none", "x"], **attrs)
    assert file.run({"x:0": 3.0}, ["call:0", "other:0"]) == [9.0, -3.0]


@pytest.mark.parametrize(("index", "value"), [(0, 4.0), (1, -2.0), (2, 0.5), (3, 0.5), (-1, 0.5)])
def test_a_case_is_chosen_and_the_last_one_for_others(file: File, index: int, value: float) -> None:
    names = branches(file, "Square", "Neg", "Reciprocal")
    file.input("i", INT)
    file.input("x", FLOAT)
    file.call("Case", ["i", "x"], branches=names, Tin=[FLOAT], Tout=[FLOAT])
    with tf.Graph().as_default(), tf.Session() as session:
        i, x = tf.constant(index), tf.constant(2.0)
        y = imported(file, {"i:0": i, "x:0": x}, "call:0")
        assert session.run(y) == value


def loop(file: File) -> None:
    """Multiplies ``a`` by ``b``, which stays as it is, ``n`` times."""
    args = {"n": INT, "a": FLOAT, "b": FLOAT}
    nodes = file.function("more", args, {"r": (BOOL, "positive:z:0")})
    node(nodes, "zero", "Const", value=np.int32(0), dtype=INT)
    node(nodes, "positive", "Greater", ["n", "zero:output:0"], T=INT)
    nodes = file.function(
        "step", args, {"n1": (INT, "less:z:0"), "a1": (FLOAT, "product:z:0"), "b1": (FLOAT, "b")}
    )
    node(nodes, "one", "Const", value=np.int32(1), dtype=INT)
    node(nodes, "less", "Sub", ["n", "one:output:0"], T=INT)
    node(nodes, "product", "Mul", ["a", "b"], T=FLOAT)
    for name, dtype in (("count", INT), ("x", FLOAT), ("y", FLOAT)):
        file.input(name, dtype)


@pytest.mark.parametrize("op", ["While", "StatelessWhile"])
def test_a_loop(file: File, op: str) -> None:
    loop(file)
    file.call(op, ["count", "x", "y"], cond="more", body="step", T=[INT, FLOAT, FLOAT])
    feeds = {"count:0": 3, "x:0": 5.0, "y:0": 2.0}
    assert file.run(feeds, ["call:0", "call:1", "call:2"]) == [0, 40.0, 2.0]
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = {"count:0": tf.constant(3), "x:0": tf.constant(5.0), "y:0": tf.constant(2.0)}
        y = imported(file, inputs, "call:1")
        slopes = tf.gradients(y, [inputs["x:0"], inputs["y:0"]])
        assert session.run(slopes) == [8.0, 3 * 5.0 * 4.0]


def test_a_loop_whose_shape_grows(file: File) -> None:
    args = {"a": FLOAT}
    nodes = file.function("more", args, {"r": (BOOL, "short:z:0")})
    node(nodes, "size", "Size", ["a"], T=FLOAT, out_type=INT)
    node(nodes, "most", "Const", value=np.int32(5), dtype=INT)
    node(nodes, "short", "Less", ["size:output:0", "most:output:0"], T=INT)
    nodes = file.function("step", args, {"r": (FLOAT, "longer:output:0")})
    node(nodes, "axis", "Const", value=np.int32(0), dtype=INT)
    node(nodes, "longer", "ConcatV2", ["a", "a", "axis:output:0"], T=FLOAT, Tidx=INT)
    nodes[-1].attr["N"].i = 2
    node(file.proto.node, "x", "Const", value=np.ones(2, np.float32), dtype=FLOAT)
    file.call("While", ["x"], cond="more", body="step", T=[FLOAT])
    assert file.run({}).tolist() == [1.0] * 8


def test_a_loop_whose_file_knows_more_of_the_shapes(file: File) -> None:
    """As in a function of a dataset, whose arguments have no shape in the file."""
    loop(file)
    names = ["count", "x", "y"]
    file.call("While", names, cond="more", body="step", T=[INT, FLOAT, FLOAT])
    for _ in names:
        file.proto.node[-1].attr["output_shapes"].list.shape.add()
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = {"count:0": tf.placeholder(tf.int32)}
        inputs |= {f"{name}:0": tf.placeholder(tf.float32) for name in "xy"}
        y = imported(file, inputs, "call:1")
        assert y.shape.as_list() == []
        values = dict(zip(inputs.values(), (3, 5.0, 2.0), strict=True))
        assert session.run(y, values) == 40.0


@pytest.mark.parametrize(
    ("bounds", "total"), [((0, 4, 1), 106), ((6, 0, -3), 109), ((2, 2, 1), 100)]
)
def test_a_counting_loop(file: File, bounds: tuple[int, int, int], total: int) -> None:
    nodes = file.function("step", {"i": INT, "a": INT}, {"r": (INT, "sum:z:0")})
    node(nodes, "sum", "AddV2", ["a", "i"], T=INT)
    names = ("start", "limit", "delta", "x")
    for name, value in zip(names, (*bounds, 100), strict=True):
        node(file.proto.node, name, "Const", value=np.int32(value), dtype=INT)
    file.call("For", names, body="step", T=[INT])
    assert file.run({}) == total


def test_the_gradient_of_a_function(file: File) -> None:
    nodes = file.function("product", {"a": FLOAT, "b": FLOAT}, {"r": (FLOAT, "times:z:0")})
    node(nodes, "times", "Mul", ["a", "a"], T=FLOAT)  # b has no part in it
    names = ("x", "y", "slope")
    for name, value in zip(names, (3.0, 2.0, 10.0), strict=True):
        node(file.proto.node, name, "Const", value=np.float32(value), dtype=FLOAT)
    file.call("SymbolicGradient", names, f="product", Tin=[FLOAT] * 3, Tout=[FLOAT] * 2)
    node(file.proto.node, "Identity", "Identity", ["call"], T=FLOAT)
    assert file.run({}, ["call:0", "call:1", "Identity:0"]) == [60.0, 0.0, 60.0]


def test_a_function_on_a_device(file: File) -> None:
    nodes = file.function("twice", {"a": FLOAT}, {"r": (FLOAT, "sum:z:0")})
    node(nodes, "sum", "AddV2", ["a", "a"], T=FLOAT)
    node(file.proto.node, "where", "Const", value=np.array(b"/cpu:0", object), dtype=tf.string)
    node(file.proto.node, "x", "Const", value=np.float32(4), dtype=FLOAT)
    file.call("RemoteCall", ["where", "x"], f="twice", Tin=[FLOAT], Tout=[FLOAT])
    assert file.run({}) == 8.0
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(file.proto, name="")
        made = next(op for op in graph.get_operations() if op.type.startswith("Add"))
        assert made.device == "/device:CPU:0"


def test_what_stands_for_a_result_that_nobody_reads(file: File) -> None:
    file.call("FakeParam", [], dtype=FLOAT)
    shape = file.proto.node[-1].attr["shape"].shape
    shape.dim.add(size=-1)
    shape.dim.add(size=3)
    found = file.run({})
    assert (found.shape, found.dtype) == ((0, 3), np.float32)


def test_what_is_wrong_is_said_and_the_graph_stays(file: File) -> None:
    double_and_square(file)
    nodes = file.function("again", {"a": FLOAT}, {"r": (FLOAT, "inner:output:0")})
    node(nodes, "inner", "PartitionedCall", ["a"], f="again", Tin=[FLOAT], Tout=[FLOAT])
    loop(file)
    nodes = file.function("still", {"a": FLOAT}, {"r": (FLOAT, "a")})
    cases = [
        ("PartitionedCall", ["x"], {"f": "gone"}, "'gone', which its library does not hold"),
        ("PartitionedCall", ["x", "y"], {"f": "f"}, "takes 1 tensors, and is called with 2"),
        ("PartitionedCall", ["x"], {"f": "again"}, "'again' calls itself"),
        ("While", ["x"], {"cond": "still", "body": "still"}, "changes nothing"),
        (
            "If",
            ["x", "count"],
            {"then_branch": "f", "else_branch": "f"},
            "incompatible with expected",
        ),
    ]
    for op, inputs, attrs, message in cases:
        broken = tf.GraphDef()
        broken.CopyFrom(file.proto)
        node(broken.node, "call", op, inputs, **attrs)
        with tf.Graph().as_default() as graph:
            before = tf.constant(1.0)
            with pytest.raises((ValueError, tf.errors.OpError), match=message):
                tf.import_graph_def(broken, name="")
            assert graph.get_operations() == [before.op]

"""Graphs as dictionaries, of the form of `dataflow.introspect.graph_json`, for tests of widgets."""

from __future__ import annotations

from typing import Any

EVIL = "<img src=x onerror=window.hacked=1>"
DOT_EVIL = 'a"]; evil [label="\\N\\'


def node(
    name: str,
    op: str = "Add",
    inputs: tuple[str, ...] = (),
    *,
    dtype: str = "float32",
    shape: str = "()",
    **more: Any,
) -> dict[str, Any]:
    """One operation with one output."""
    return {
        "name": name,
        "op": op,
        "device": "",
        "inputs": list(inputs),
        "outputs": [{"dtype": dtype, "shape": shape}],
        "attrs": {},
        "source": {"file": "lesson.py", "line": 7, "cell": 4},
        **more,
    }


def lesson() -> list[dict[str, Any]]:
    """The graph of lesson 02: pow(x + y, x * y), and a multiplication that no fetch needs."""
    return [
        node("x", "Const", value="2", dtype="int32"),
        node("y", "Const", value="3", dtype="int32"),
        node("add_op", "Add", ("x:0", "y:0"), dtype="int32"),
        node("mul_op", "Mul", ("x:0", "y:0"), dtype="int32"),
        node("useless", "Mul", ("x:0", "add_op:0"), dtype="int32"),
        node("pow_op", "Pow", ("add_op:0", "mul_op:0"), dtype="int32"),
    ]


def layers(num_layers: int = 3, *, gradients: bool = True) -> list[dict[str, Any]]:
    """A network of dense layers in scopes, with a loss, gradient ops and updates."""
    nodes = [
        node("x", "Placeholder", shape="(?, 784)"),
        node("labels", "Placeholder", shape="(?,)", dtype="int64"),
    ]
    value = "x:0"
    for i in range(num_layers):
        s = f"layer{i}"
        for v, shape in (("W", "(784, 10)"), ("b", "(10,)")):
            nodes += [
                node(f"{s}/{v}/initial_value", "Const", value="[...]", shape=shape),
                node(f"{s}/{v}", "VariableV2", shape=shape),
                node(
                    f"{s}/{v}/Assign",
                    "Assign",
                    (f"{s}/{v}:0", f"{s}/{v}/initial_value:0"),
                    shape=shape,
                ),
                node(f"{s}/{v}/read", "Identity", (f"{s}/{v}:0",), shape=shape),
            ]
        nodes += [
            node(f"{s}/MatMul", "MatMul", (value, f"{s}/W/read:0"), shape="(?, 10)"),
            node(f"{s}/BiasAdd", "BiasAdd", (f"{s}/MatMul:0", f"{s}/b/read:0"), shape="(?, 10)"),
            node(f"{s}/Relu", "Relu", (f"{s}/BiasAdd:0",), shape="(?, 10)"),
        ]
        value = f"{s}/Relu:0"
    nodes += [
        node(
            "loss/xentropy",
            "SparseSoftmaxCrossEntropyWithLogits",
            (value, "labels:0"),
            shape="(?,)",
        ),
        node("loss/Const", "Const", value="[0]", dtype="int32", shape="(1,)"),
        node("loss/Mean", "Mean", ("loss/xentropy:0", "loss/Const:0")),
    ]
    if not gradients:
        return nodes
    nodes.append(node("gradients/Fill", "Fill", ("loss/Mean:0",)))
    upstream = "gradients/Fill:0"
    updates = []
    for i in reversed(range(num_layers)):
        s = f"layer{i}"
        g = f"gradients/{s}"
        before = f"layer{i - 1}/Relu:0" if i else "x:0"
        nodes += [
            node(f"{g}/Relu_grad/ReluGrad", "ReluGrad", (upstream, f"{s}/Relu:0"), shape="(?, 10)"),
            node(
                f"{g}/BiasAdd_grad/BiasAddGrad",
                "BiasAddGrad",
                (f"{g}/Relu_grad/ReluGrad:0",),
                shape="(10,)",
            ),
            node(
                f"{g}/MatMul_grad/MatMul",
                "MatMul",
                (f"{g}/Relu_grad/ReluGrad:0", f"{s}/W/read:0"),
                shape="(?, 784)",
            ),
            node(
                f"{g}/MatMul_grad/MatMul_1",
                "MatMul",
                (before, f"{g}/Relu_grad/ReluGrad:0"),
                shape="(784, 10)",
            ),
        ]
        upstream = f"{g}/MatMul_grad/MatMul:0"
        for v, grad in (
            ("W", f"{g}/MatMul_grad/MatMul_1:0"),
            ("b", f"{g}/BiasAdd_grad/BiasAddGrad:0"),
        ):
            name = f"train/update_{s}/{v}/ApplyGradientDescent"
            nodes.append(node(name, "ApplyGradientDescent", (f"{s}/{v}:0", grad)))
            updates.append(f"^{name}")
    nodes.append(node("train", "NoOp", tuple(updates)) | {"outputs": []})
    return nodes


def hostile() -> list[dict[str, Any]]:
    """Names, types and values that try to be markup or DOT."""
    return [
        node(EVIL, "Const", value="<script>window.hacked=1</script>"),
        node(DOT_EVIL, "Placeholder", shape="</text><script>window.hacked=1</script>"),
        node("scope</svg>/inner", "Add", (f"{EVIL}:0", f"{DOT_EVIL}:0")),
        node("javascript:alert(1)", "<b>Bold</b>", ("scope</svg>/inner:0",)),
    ]


def chain(num_nodes: int) -> list[dict[str, Any]]:
    """A flat chain without scopes, each node reading the two before it."""
    nodes = [node("a0", "Const", value="0"), node("a1", "Const", value="1")]
    for i in range(2, num_nodes):
        nodes.append(node(f"a{i}", ("Add", "Mul", "Sub")[i % 3], (f"a{i - 1}:0", f"a{i - 2}:0")))
    return nodes


def marks_of(
    nodes: list[dict[str, Any]], fetches: list[str], feeds: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Marks of a run, by an independent walk over the dictionaries."""
    index = {n["name"]: i for i, n in enumerate(nodes)}
    needed: set[str] = set()
    stack = [f for f in fetches if f not in feeds]
    while stack:
        name = stack.pop()
        if name in needed:
            continue
        needed.add(name)
        for text in nodes[index[name]]["inputs"]:
            source = text.lstrip("^").rpartition(":")[0] if not text.startswith("^") else text[1:]
            if source not in feeds:
                stack.append(source)
    return {
        "fetched": sorted(index[f] for f in fetches),
        "fed": sorted(index[f] for f in feeds),
        "needed": sorted(index[n] for n in needed),
    }

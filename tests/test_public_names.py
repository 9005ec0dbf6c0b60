"""The public names: each stands once, in the stub that editors read, and is there at run time."""

from __future__ import annotations

import ast
import functools
import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import dataflow as tf
from dataflow.namespaces import names_of_stub

ROOT = Path(tf.__file__).parent


def stubs() -> list[tuple[str, Path]]:
    """The modules whose names stand in a stub, with its path."""
    found = []
    for path in sorted(ROOT.rglob("*.pyi")):
        parts = ("dataflow", *path.relative_to(ROOT).with_suffix("").parts)
        found.append((".".join(p for p in parts if p != "__init__"), path))
    return found


def test_there_are_stubs() -> None:
    names = [name for name, _ in stubs()]
    assert {"dataflow", "dataflow.nn", "dataflow.train", "dataflow.layers"} <= set(names)
    assert len(names) > 20


@pytest.mark.parametrize(("name", "path"), stubs(), ids=[name for name, _ in stubs()])
def test_a_stub_holds_names_to_export_and_nothing_else(name: str, path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    wanted: dict[str, tuple[str, str]] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.AnnAssign):
            assert ast.unparse(node) == "__version__: str"
            continue
        assert isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0
        for alias in node.names:
            assert alias.asname is not None, f"write `{alias.name} as {alias.name}`: it is exported"
            assert alias.asname not in wanted, f"{alias.asname} stands twice in {path.name}"
            wanted[alias.asname] = (node.module, alias.name)
    assert names_of_stub(text) == wanted


@pytest.mark.parametrize(("name", "path"), stubs(), ids=[name for name, _ in stubs()])
def test_every_name_is_there(name: str, path: Path) -> None:
    module = importlib.import_module(name)
    names = names_of_stub(path.read_text(encoding="utf-8"))
    assert sorted(module.__all__) == dir(module) == sorted(names)
    for public, (home, attribute) in names.items():
        value = getattr(module, public)
        if isinstance(value, ModuleType):
            assert value.__name__.startswith(("dataflow.", "tensorboard."))
        else:
            assert value is getattr(importlib.import_module(home), attribute)
        assert vars(module)[public] is value, "it is looked up once"


def test_a_name_that_a_submodule_has_too_is_not_the_submodule() -> None:
    code = (
        "import dataflow.train.global_step, dataflow as tf;"
        "import dataflow.contrib.seq2seq.monotonic_attention;"
        "print(callable(tf.train.global_step), callable(tf.contrib.seq2seq.monotonic_attention))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert result.stdout.split() == ["True"] * 2


def test_a_missing_name_says_what_is_near_and_says_it_once() -> None:
    code = "import dataflow as tf\ntf.linalg.choleski"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    last = result.stderr.splitlines()[-1]
    assert last.startswith("AttributeError: tf.linalg.choleski is not part of dataflow. ")
    assert "tf.linalg.cholesky" in last and last.count("Did you mean") == 1


@pytest.mark.parametrize(
    ("package", "name", "instead"),
    [
        ("", "concat_v2", "tf.concat(values, axis)"),
        ("", "models", "tf.contrib.legacy_seq2seq"),
        ("nn", "deconv2d", "tf.nn.conv2d_transpose"),
        ("contrib", "boosted_trees", "use tf.estimator.BoostedTreesClassifier"),
    ],
)
def test_a_name_of_the_past_says_what_to_write_instead(
    package: str, name: str, instead: str
) -> None:
    module = getattr(tf, package) if package else tf
    with pytest.raises(AttributeError, match=f"{name} is not part of dataflow") as caught:
        getattr(module, name)
    assert instead in str(caught.value) and "Did you mean" not in str(caught.value)


def test_what_stars_import() -> None:
    names: dict[str, object] = {}
    exec("from dataflow.bitwise import *", names)
    assert names["invert"] is tf.bitwise.invert


@pytest.mark.parametrize(
    "name",
    [
        *(
            "nn.relu",
            "nn.relu6",
            "nn.elu",
            "nn.softplus",
            "tanh",
            "sigmoid",
            "exp",
            "maximum",
            "less",
        ),
        *(
            "logical_and",
            "reduce_sum",
            "reduce_mean",
            "reduce_all",
            "scatter_add",
            "scatter_nd_update",
        ),
        *(
            "segment_max",
            "unsorted_segment_sum",
            "sparse_segment_sqrt_n",
            "signal.fft2d",
            "to_float",
        ),
        *("fake_quant_with_min_max_vars", "nn.l2_loss", "squared_difference", "matmul"),
    ],
)
def test_functions_are_called_what_they_are(name):
    """Programs name layers after ``activation.__name__``."""
    function = functools.reduce(getattr, name.split("."), tf)
    assert function.__name__ == name.split(".")[-1]

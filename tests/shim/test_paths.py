"""Every line of the table of private paths leads to modules that are here."""

from __future__ import annotations

import importlib
import importlib.util

import pytest

from dataflow.python import paths

PATHS = sorted(p for p in paths.homes() if p.startswith(("python", "contrib")))


def test_there_are_many() -> None:
    assert len(PATHS) > 200


@pytest.mark.parametrize("tree", sorted({p.rpartition(".")[0] for p in PATHS if "." in p}))
def test_the_modules_of_a_package_are_found_below_dataflow(tree: str) -> None:
    importlib.import_module("dataflow.python")
    importlib.import_module("dataflow.contrib")
    for path in (p for p in PATHS if p.rpartition(".")[0] == tree):
        if is_there(path):
            module = importlib.import_module(f"dataflow.{path}")
            assert module.__name__.startswith("dataflow")


def is_there(path: str) -> bool:
    """Whether the package of contrib that ``path`` is in is here; a private path may wait for it."""
    root = ".".join(path.split(".")[:2])
    if not path.startswith("contrib"):
        return True
    return importlib.util.find_spec(f"dataflow.{root}") is not None


@pytest.mark.parametrize("path", [p for p in PATHS if is_there(p)])
def test_the_homes_of_a_module_exist(path: str) -> None:
    missing = []
    for home in paths.homes()[path]:
        name = "dataflow" if home == "tf" else f"dataflow.{home}"
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            missing.append(home)
    assert missing == []


def test_a_tree_that_stands_elsewhere_is_the_same_modules() -> None:
    import dataflow.keras.layers
    import dataflow.python.keras.layers as moved

    assert moved is dataflow.keras.layers
    assert moved.__spec__ is not None and moved.__spec__.name == "dataflow.keras.layers"


def test_names_come_from_their_homes_in_order() -> None:
    import dataflow as tf
    from dataflow.python.ops import math_ops, rnn_cell_impl

    assert math_ops.add is tf.add
    assert rnn_cell_impl.LSTMCell is tf.nn.rnn_cell.LSTMCell
    assert "matmul" in dir(math_ops) and not hasattr(math_ops, "no_such_op")
    with pytest.raises(
        AttributeError, match=r"tf\.python\.ops\.math_ops\.mat_mulx is not part .* Did"
    ):
        _ = math_ops.mat_mulx


def test_the_paths_of_ragged_tensors_and_linear_operators() -> None:
    import dataflow as tf
    from dataflow.python.ops.linalg import linear_operator_diag
    from dataflow.python.ops.ragged import ragged_factory_ops, ragged_math_ops, ragged_tensor

    assert linear_operator_diag.LinearOperatorDiag is tf.linalg.LinearOperatorDiag
    assert ragged_tensor.RaggedTensor is tf.RaggedTensor
    assert ragged_math_ops.range is tf.ragged.range and ragged_math_ops.reduce_sum is tf.reduce_sum
    with tf.Graph().as_default():
        rows = ragged_factory_ops.constant([[1], [2, 3]])
        assert ragged_tensor.is_ragged(rows) and not ragged_tensor.is_ragged(rows.values)


def test_packages_of_contrib_have_the_public_names_on_the_way() -> None:
    import dataflow as tf
    from dataflow.contrib.cudnn_rnn.python.layers import CudnnLSTM
    from dataflow.contrib.layers.python.layers import batch_norm
    from dataflow.contrib.learn.python import SKCompat
    from dataflow.contrib.learn.python.learn import RunConfig, learn_runner

    assert SKCompat is tf.contrib.learn.SKCompat
    assert RunConfig is tf.contrib.learn.RunConfig
    assert learn_runner.run is tf.contrib.learn.learn_runner.run
    assert batch_norm is tf.contrib.layers.batch_norm
    assert CudnnLSTM is tf.contrib.cudnn_rnn.CudnnLSTM
    assert tf.contrib.learn.python.learn.models.linear_regression is not None


def test_the_path_of_predictors() -> None:
    import dataflow as tf
    from dataflow.contrib.predictor.predictor import Predictor

    assert Predictor is tf.contrib.predictor.Predictor

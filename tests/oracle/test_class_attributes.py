"""Public classes, swept: what TensorFlow's have, ours have too, or it is named below with the reason."""

from __future__ import annotations

import fnmatch
import inspect
import json
import operator
import re
import subprocess
from typing import Any

import pytest

import dataflow as tf
from tests.oracle import comparison

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(
        comparison.oracle_missing() is not None, reason=str(comparison.oracle_missing())
    ),
]

NAMESPACES = [
    "",
    "train",
    "nn",
    "nn.rnn_cell",
    "layers",
    "estimator",
    "estimator.export",
    "estimator.experimental",
    "data",
    "data.experimental",
    "initializers",
    "io",
    "gfile",
    "python_io",
    "summary",
    "lookup",
    "lookup.experimental",
    "linalg",
    "distributions",
    "sparse",
    "ragged",
    "queue",
    "test",
    "errors",
    "saved_model",
    "config",
    "feature_column",
    "keras",
    "keras.layers",
    "keras.optimizers",
    "keras.callbacks",
    "keras.losses",
    "keras.metrics",
    "keras.constraints",
]

#: Patterns of classes -> attributes that TensorFlow 2.15's have and ours do not. Here: those that came with
#: TensorFlow 2, or are of its eager mode.
LATER = {
    "*": "cast experimental_as_proto experimental_from_proto experimental_type_proto flatten "
    "from_tensors is_subtype_of most_specific_common_supertype placeholder_value to_tensors "
    "experimental_payloads",
    "*Spec": "is_compatible_with most_specific_compatible_type from_value value_type",
    "*nn.rnn_cell.*|layers.*|keras.*": "build_from_config compute_dtype convolution_op dtype_policy "
    "finalize_state get_build_config load_own_variables save_own_variables variable_dtype",
    "keras.metrics.*": "merge_state reset_state interpolate_pr_auc thresholds",
    "keras.Model|keras.Sequential": "autotune_steps_per_execution compile_from_config compute_loss "
    "compute_metrics distribute_reduction_method distribute_strategy export get_compile_config "
    "get_metrics_result get_weight_paths jit_compile make_predict_function make_test_function "
    "make_train_function predict_step save_spec steps_per_execution test_step train_step to_yaml",
    "data.*Dataset": "as_numpy_iterator bucket_by_sequence_length cardinality choose_from_datasets "
    "counter get_single_element group_by_window load ragged_batch random rebatch "
    "rejection_resample sample_from_datasets save snapshot sparse_batch",
    "data.Iterator": "get_next_as_optional",
    "data.Options": "autotune deterministic experimental_external_state_policy "
    "experimental_symbolic_checkpoint experimental_warm_start threading",
    "data.experimental.Optional": "element_spec empty",
    "data.experimental.OptimizationOptions": "filter_parallelization inject_prefetch",
    "linalg.LinearOperator*|Module": "non_trainable_variables",
    "RaggedTensor": "merge_dims numpy uniform_row_length",
    "RaggedTensorSpec": "flat_values_spec",
    "SparseTensor": "set_shape",
    "Tensor": "ndim",
    "Operation": "experimental_set_type from_node_def",
    "Graph": "get new_operations num_operations op_def_for_type operations",
    "estimator.*Head": "update_metrics",
    "test.TestCase": "assertDataclassEqual assertDictAlmostEqual assertIsSubclass assertMappingEqual "
    "assertNotIsSubclass assertRaisesIncompatibleShapesError evaluate_if_both_tensors",
    "*InputSpec": "from_config get_config",
    "GraphKeys": "TRAINABLE_RESOURCE_VARIABLES",
    "train.CheckpointManager": "checkpoint checkpoint_interval directory restore_or_initialize sync",
}

#: The same for TensorFlow 1, with the reason.
ABSENT = {
    # Parts of the graph's C++ side.
    "Graph": "Dismantle",
    "DType": "is_numeric",
    # tf.batch_scatter_update is there.
    "Variable": "batch_scatter_update",
    # Layers of tf.layers and cells are no parts of Keras's models: those of tf.keras have all this.
    "nn.rnn_cell.*|layers.*": "add_metric compute_output_signature get_input_mask_at "
    "get_output_mask_at inbound_nodes input_mask metrics name_scope outbound_nodes output_mask "
    "submodules with_name_scope",
    # Operators hold tensors, and variables only as their user's.
    "linalg.LinearOperator*": "name_scope submodules trainable_variables with_name_scope",
    # Keras keeps these with a layer's cell, or in its configuration.
    "keras.layers.*": "bias_constraint bias_initializer bias_regularizer cell constraints "
    "get_dropout_mask_for_cell get_initial_state get_recurrent_dropout_mask_for_cell implementation "
    "kernel_constraint kernel_initializer kernel_regularizer recurrent_constraint "
    "recurrent_initializer recurrent_regularizer reset_dropout_mask reset_recurrent_dropout_mask "
    "from_config get_config",
    "keras.optimizers.*": "add_slot add_weight get_slot get_slot_names global_clipnorm variables",
    "keras.callbacks.*": "append make_logs on_predict_* on_test_* on_train_* set_model set_params "
    "get_monitor_value in_cooldown",
    "keras.constraints.*": "from_config",
}

#: class -> parameters of its constructor that are not TensorFlow's, in its order.
CONSTRUCTORS = {
    "DType": "a dtype is looked up, not made",
    "Tensor|Operation|data.Iterator|data.experimental.Optional|OptionalSpec": "made by the graph's ops",
    "RaggedTensor": "made by its from_* methods",
    "OpError|errors.*": "`error_code` is the class's own",
    "estimator.Head|keras.*": "`*args` there; see keras_*.py for Keras",
    "*InputSpec": "`allow_last_axis_squeeze` and `name` came later",
    "RaggedTensorSpec": "`flat_values_spec` came later",
    "data.experimental.CsvDataset": "`exclude_cols` came later",
    "lookup.*": "`experimental_is_anonymous` came later",
    "train.CheckpointManager": "`step_counter`, `checkpoint_interval` and `init_fn` came later",
    "data.experimental.DistributeOptions": "none",
}

PROGRAM = """
import inspect, json, operator, os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow.compat.v1 as tf
found = {}
for space in json.loads(sys.argv[1]):
    module = operator.attrgetter(space)(tf) if space else tf
    for name in dir(module):
        value = getattr(module, name, None)
        if name[0] == "_" or not inspect.isclass(value) or hasattr(value, "DESCRIPTOR"):
            continue
        try:
            parameters = list(inspect.signature(value.__init__).parameters)
        except (TypeError, ValueError):
            parameters = None
        attributes = [a for a in dir(value) if a[0] != "_"]
        found[f"{space}.{name}".lstrip(".")] = [attributes, parameters]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def theirs() -> dict[str, Any]:
    done = subprocess.run(
        [comparison.ORACLE_PYTHON, "-c", PROGRAM, json.dumps(NAMESPACES)],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def classes_of_both(theirs: dict[str, Any]) -> dict[str, Any]:
    """The classes that both have, under the first of their names."""
    found: dict[Any, str] = {}
    for name in theirs:
        try:
            value = operator.attrgetter(name)(tf)
        except (AttributeError, ImportError, NotImplementedError):
            continue  # whole names are tests/test_public_names.py's
        if inspect.isclass(value):
            found.setdefault(value, name)
    return {name: value for value, name in found.items()}


def attributes_of(cls: Any) -> set[str]:
    """The attributes of a class and those that its methods give to objects."""
    found = {*dir(cls), *getattr(cls, "_names", ())}
    for base in cls.__mro__:
        found |= {*getattr(base, "__annotations__", {})}
        try:
            source = inspect.getsource(base)
        except (OSError, TypeError):
            continue
        found |= {*re.findall(r"\bself\.(\w+)(?=[^=\n]* = )", source)}
    return found


def matches(name: str, patterns: str) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns.split("|"))


def test_the_sweep_sees_the_everyday_classes(theirs):
    shared = classes_of_both(theirs)
    assert len(shared) > 400
    everyday = "Session Graph Variable train.Saver data.Dataset estimator.Estimator layers.Dense"
    assert {*everyday.split()} <= {*shared}
    assert "graph" in attributes_of(tf.Session)
    assert "model_dir" in attributes_of(tf.estimator.RunConfig)  # given by its __init__


def test_classes_have_tensorflows_attributes(theirs):
    missing = {}
    used = set()
    for name, cls in classes_of_both(theirs).items():
        lists = [*LATER.items(), *ABSENT.items()]
        allowed = [(p, a) for p, names in lists if matches(name, p) for a in names.split()]
        absent = []
        for attribute in sorted({*theirs[name][0]} - attributes_of(cls)):
            rules = [(p, a) for p, a in allowed if fnmatch.fnmatch(attribute, a)]
            used.update(rules)
            if not rules:
                absent.append(attribute)
        if absent:
            missing[name] = absent
    assert missing == {}
    stale = {
        pattern: gone
        for pattern, names in ABSENT.items()
        if (gone := [a for a in names.split() if (pattern, a) not in used])
        and not pattern.startswith("keras.")  # names of several classes share a line
    }
    assert stale == {}, "take these out of ABSENT"


def test_constructors_take_tensorflows_parameters(theirs):
    different = {}
    for name, cls in classes_of_both(theirs).items():
        wanted = theirs[name][1]
        if wanted is None or any(matches(name, patterns) for patterns in CONSTRUCTORS):
            continue
        if wanted[1:] == ["args", "kwargs"]:  # inherited from object
            continue
        ours = list(inspect.signature(cls.__init__).parameters)
        plain = [p for p in wanted if p != "kwargs"]
        if ours[: len(plain)] != plain:
            different[name] = (plain, ours)
    assert different == {}

"""Options of sessions and runs: TensorFlow's names and defaults, copies, and misspelled names."""

from __future__ import annotations

from typing import Any

import pytest

import dataflow as tf
from dataflow.runtime import config as module
from dataflow.runtime.config import Options, OptionsList

#: Defaults that are not a protocol buffer's (0, False, "", nothing): ours, and what TensorFlow acts
#: as if it were there.
OWN = {
    ("GPUOptions", "use_cuda_graphs"): True,
    ("ConfigProto", "watch_numerics"): True,
    ("OptimizerOptions", "do_common_subexpression_elimination"): True,
    ("OptimizerOptions", "do_constant_folding"): True,
    ("OptimizerOptions", "do_function_inlining"): True,
    ("OptimizerOptions", "max_folded_constant_in_bytes"): 10 * 2**20,
}
GROUPS = [v for v in vars(module).values() if isinstance(v, type) and issubclass(v, Options)]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__)
def test_what_nobody_set_is_what_a_protocol_buffer_has(group: Any) -> None:
    for name, value in vars(group()).items():
        if (group.__name__, name) in OWN:
            assert value == OWN[group.__name__, name], name
        elif not isinstance(value, Options):
            assert value in (0, "", [], {}, None), name


@pytest.mark.parametrize(
    ("group", "numbers"),
    [
        (
            "RunOptions",
            {"NO_TRACE": 0, "SOFTWARE_TRACE": 1, "HARDWARE_TRACE": 2, "FULL_TRACE": 3},
        ),
        (
            "OptimizerOptions",
            {"L1": 0, "L0": -1, "DEFAULT": 0, "OFF": -1, "ON_1": 1, "ON_2": 2},
        ),
        (
            "RewriterConfig",
            {
                "DEFAULT": 0,
                "ON": 1,
                "OFF": 2,
                "AGGRESSIVE": 3,
                "DEFAULT_MEM_OPT": 0,
                "NO_MEM_OPT": 1,
                "MANUAL": 2,
                "HEURISTICS": 3,
                "SWAPPING_HEURISTICS": 4,
                "RECOMPUTATION_HEURISTICS": 5,
                "SCHEDULING_HEURISTICS": 6,
            },
        ),
    ],
)
def test_numbers_of_the_protocol(group: str, numbers: dict[str, int]) -> None:
    found = vars(getattr(module, group))
    assert {name: v for name, v in found.items() if name.isupper()} == numbers


def test_groups_are_copied_and_compared_by_value() -> None:
    one = tf.ConfigProto(device_count={"CPU": 2})
    one.graph_options.rewrite_options.remapping = 2
    two = tf.ConfigProto()
    assert one != two and one.graph_options != two.graph_options
    two.CopyFrom(one)
    assert one == two
    two.device_count["CPU"] = 3
    two.graph_options.rewrite_options.remapping = 1
    assert one.device_count == {"CPU": 2} and one.graph_options.rewrite_options.remapping == 2
    third = tf.ConfigProto()
    third.MergeFrom(one)
    assert (
        third == one and third != one.graph_options and third.device_count is not one.device_count
    )
    with pytest.raises(TypeError, match="cannot copy GPUOptions to ConfigProto"):
        third.CopyFrom(tf.GPUOptions())


def test_each_object_has_groups_and_lists_of_its_own() -> None:
    one, two = tf.ConfigProto(), tf.ConfigProto()
    one.device_count["CPU"] = 2
    one.device_filters.append("/job:ps")
    one.gpu_options.allow_growth = True
    added = one.session_inter_op_thread_pool.add(num_threads=3)
    assert two == tf.ConfigProto() and not two.session_inter_op_thread_pool
    assert added.num_threads == 3 and one.session_inter_op_thread_pool == [added]
    assert isinstance(two.session_inter_op_thread_pool, OptionsList)


def test_a_misspelled_option_is_answered_with_the_nearest() -> None:
    with pytest.raises(
        ValueError, match=r"no option 'allow_soft_placment'. Did you mean 'allow_so"
    ):
        tf.ConfigProto(allow_soft_placment=True)
    with pytest.raises(ValueError, match=r"GPUOptions has no option 'zzz'\.$"):
        tf.GPUOptions().zzz = 1


def test_what_differs_from_the_defaults_is_printed() -> None:
    assert repr(tf.ConfigProto()) == "ConfigProto()"
    config = tf.ConfigProto(log_device_placement=True)
    config.gpu_options.allow_growth = True
    text = repr(config)
    assert "log_device_placement=True" in text and "GPUOptions(allow_growth=True)" in text
    assert "device_count" not in text


def test_as_text_it_is_tensorflows_message() -> None:
    assert str(tf.ConfigProto()) == ""
    config = tf.ConfigProto(
        allow_soft_placement=True,
        gpu_options=tf.GPUOptions(allow_growth=True, per_process_gpu_memory_fraction=0.5),
        device_count={"GPU": 0},
        inter_op_parallelism_threads=2,
        device_filters=["/job:ps"],
        watch_numerics=False,  # which the message does not have
    )
    config.session_inter_op_thread_pool.add(num_threads=3)
    assert str(config).split() == [
        *("device_count", "{", "key:", '"GPU"', "value:", "0", "}"),
        *("device_filters:", '"/job:ps"', "inter_op_parallelism_threads:", "2"),
        *("gpu_options", "{", "per_process_gpu_memory_fraction:", "0.5"),
        *("allow_growth:", "true", "}", "allow_soft_placement:", "true"),
        *("session_inter_op_thread_pool", "{", "num_threads:", "3", "}"),
    ]
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    assert f"{options}" == "trace_level: FULL_TRACE\n"

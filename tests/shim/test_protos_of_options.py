"""Options of sessions under ``dataflow run``: texts of protocol buffers fill them, and one joins another."""

from __future__ import annotations

import subprocess
import sys

import dataflow as tf

TEXT = """
from google.protobuf import text_format
import tensorflow as tf
text = "allow_soft_placement: true graph_options { rewrite_options { layout_optimizer: OFF } } device_count { key: 'CPU' value: 2 }"
config = tf.ConfigProto(inter_op_parallelism_threads=3)
assert text_format.Merge(text, config) is config
config.MergeFrom(text_format.Parse("log_device_placement: false", tf.ConfigProto()))
print(config.allow_soft_placement, config.graph_options.rewrite_options.layout_optimizer, config.device_count,
      config.inter_op_parallelism_threads)
example = text_format.Parse("features { feature { key: 'a' value { int64_list { value: 4 } } } }", tf.train.Example())
print(example.features.feature["a"].int64_list.value[0])
"""


def test_texts_fill_options(tmp_path):
    """OpenNMT-tf turns an optimizer off in this way."""
    program = tmp_path / "program.py"
    program.write_text(TEXT)
    done = subprocess.run(
        [sys.executable, "-m", "dataflow", "run", str(program)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.splitlines() == ["True 2 {'CPU': 2} 3", "4"], done.stderr


def test_merging_leaves_what_the_other_does_not_say():
    mine = tf.ConfigProto(allow_soft_placement=True, device_count={"CPU": 1})
    mine.gpu_options.allow_growth = True
    other = tf.ConfigProto(log_device_placement=True, device_count={"GPU": 0})
    other.gpu_options.per_process_gpu_memory_fraction = 0.5
    mine.MergeFrom(other)
    assert mine.allow_soft_placement and mine.log_device_placement and mine.gpu_options.allow_growth
    assert mine.gpu_options.per_process_gpu_memory_fraction == 0.5
    assert mine.device_count == {"CPU": 1, "GPU": 0}

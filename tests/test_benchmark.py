"""`tf.test.Benchmark`, `tf.test.StubOutForTesting` and a cluster in this process."""

from __future__ import annotations

import types
from typing import Any

import pytest

import dataflow as tf


class MatMulBenchmark(tf.test.Benchmark):
    """Measures one op."""

    def benchmark_product(self) -> dict[str, Any]:
        with tf.Graph().as_default(), tf.Session(config=tf.test.benchmark_config()) as session:
            x = tf.placeholder(tf.float32, [2, 2])
            return self.run_op_benchmark(
                session,
                tf.matmul(x, x),
                {x: [[1, 2], [3, 4]]},
                min_iters=3,
                mbs=1.0,
                store_trace=True,
                extras={"size": 2},
            )


def test_what_is_measured_is_printed_and_returned(capsys: pytest.CaptureFixture[str]) -> None:
    found = MatMulBenchmark().benchmark_product()
    assert found["iters"] == 3 and found["wall_time"] > 0
    assert found["throughput"] == 1.0 / found["wall_time"]
    assert found["extras"]["size"] == 2 and found["extras"]["wall_time_mean"] > 0
    assert "MatMul" in found["extras"]["full_trace_chrome_format"]
    printed = capsys.readouterr().out
    assert printed.startswith("MatMulBenchmark.benchmark_product: iters: 3, wall_time: ")


def test_main_runs_the_benchmarks_that_match(capsys: pytest.CaptureFixture[str]) -> None:
    tf.test.main(["program", "--benchmarks=MatMulBenchmark.*product"])
    assert "MatMulBenchmark.benchmark_product" in capsys.readouterr().out
    tf.test.main(["program", "--benchmarks=no such"])
    assert capsys.readouterr().out == ""


def test_a_report_outside_of_a_benchmark_needs_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    benchmark = MatMulBenchmark()
    with pytest.raises(ValueError, match="give report_benchmark a name"):
        benchmark.report_benchmark(iters=1)
    benchmark.report_benchmark(iters=1, name="by_hand", extras={"note": "x"})
    assert capsys.readouterr().out == "MatMulBenchmark.by_hand: iters: 1, note: x\n"


def test_stubs_are_put_back() -> None:
    module = types.SimpleNamespace(a=1, b=2)
    with tf.test.StubOutForTesting() as stubs:
        stubs.Set(module, "a", 10)
        stubs.SmartSet(module, "a", 11)
        stubs.Set(module, "b", 20)
        assert (module.a, module.b) == (11, 20)
        with pytest.raises(AttributeError):
            stubs.Set(module, "c", 0)
    assert (module.a, module.b) == (1, 2)


def test_a_cluster_in_this_process() -> None:
    workers, servers = tf.test.create_local_cluster(num_workers=1, num_ps=1)
    try:
        with tf.Graph().as_default():
            with tf.device("/job:ps/task:0"):
                v = tf.get_variable("v", initializer=2.0)
            with tf.device("/job:worker/task:0"):
                product = v * 3.0
            with tf.Session(workers[0].target) as session:
                session.run(tf.global_variables_initializer())
                assert session.run(product) == 6.0
    finally:
        for server in (*workers, *servers):
            server.stop()

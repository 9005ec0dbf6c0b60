"""`tf.test.Benchmark`: times of ops, measured in a session and printed."""

from __future__ import annotations

import re
import statistics
import sys
import time
from typing import Any

from dataflow.runtime.config import ConfigProto

#: Every class of benchmarks that was defined, in order.
_classes: list[type[Benchmark]] = []


class Benchmark:
    """The base of classes whose methods ``benchmark...`` measure something.

    ``tf.test.main()`` runs them where the command line has ``--benchmarks=PATTERN``.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _classes.append(cls)

    @classmethod
    def is_abstract(cls) -> bool:
        """True of `Benchmark` itself, which measures nothing."""
        return cls is Benchmark

    def _get_name(self, overwrite_name: str | None = None) -> str:
        if overwrite_name is not None:
            return f"{type(self).__name__}.{overwrite_name}"
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_locals.get("self") is self and frame.f_code.co_name.startswith("benchmark"):
                return f"{type(self).__name__}.{frame.f_code.co_name}"
            frame = frame.f_back  # type: ignore[assignment]
        raise ValueError(
            "Unable to determine calling Benchmark class: give report_benchmark a name."
        )

    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: dict[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        """Prints what was measured: times in seconds, throughput in megabytes a second."""
        values = {"iters": iters, "wall_time": wall_time, "cpu_time": cpu_time}
        values |= {"throughput": throughput, **(extras or {})}
        text = ", ".join(f"{key}: {value}" for key, value in values.items() if value is not None)
        print(f"{self._get_name(name)}: {text}")

    def run_op_benchmark(
        self,
        sess: Any,
        op_or_tensor: Any,
        feed_dict: Any = None,
        burn_iters: int = 2,
        min_iters: int = 10,
        store_trace: bool = False,
        store_memory_usage: bool = True,
        name: str | None = None,
        extras: dict[str, Any] | None = None,
        mbs: float = 0,
    ) -> dict[str, Any]:
        """Runs ``op_or_tensor`` ``burn_iters`` times unmeasured, then ``min_iters`` times, and reports.

        ``mbs``: megabytes that one run moves. Returns "iters", "wall_time" (seconds, the median),
        "throughput" and "extras", with mean and standard deviation, and with ``store_trace`` a trace
        in Chrome's format.
        """
        from dataflow.graph.operation import Operation
        from dataflow.graph.tensor import Tensor

        # The result stays in the session: what is measured is the op.
        target = op_or_tensor.op if isinstance(op_or_tensor, Tensor) else op_or_tensor
        if not isinstance(target, Operation):
            target = [item.op if isinstance(item, Tensor) else item for item in op_or_tensor]
        for _ in range(burn_iters):
            sess.run(target, feed_dict)
        seconds = []
        for _ in range(min_iters):
            start = time.perf_counter()
            sess.run(target, feed_dict)
            seconds.append(time.perf_counter() - start)
        found = dict(extras or {})
        median = statistics.median(seconds) if seconds else -1
        values = {
            "iters": min_iters,
            "wall_time": median,
            "extras": found,
            "name": name,
            "throughput": mbs / median if median > 0 else 0.0,
        }
        self.report_benchmark(**values)  # type: ignore[arg-type]
        found["wall_time_mean"] = statistics.fmean(seconds) if seconds else -1
        found["wall_time_stdev"] = statistics.pstdev(seconds) if seconds else -1
        if store_trace:
            found["full_trace_chrome_format"] = _trace(sess, target, feed_dict)
        return values

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors, in the default session or a new one."""
        from dataflow.graph.default_stacks import default_session
        from dataflow.runtime.session import Session

        session = default_session()
        return (Session() if session is None else session).run(tensors)


def _trace(sess: Any, target: Any, feed_dict: Any) -> str:
    from tensorboard.compat.proto.config_pb2 import RunMetadata

    from dataflow.runtime.config import RunOptions
    from dataflow.summary.chrome_trace import Timeline

    metadata = RunMetadata()
    sess.run(target, feed_dict, RunOptions(trace_level=RunOptions.FULL_TRACE), metadata)
    return Timeline(metadata.step_stats).generate_chrome_trace_format()


def benchmark_config() -> ConfigProto:
    """The `ConfigProto` for a session that measures; no option changes what is measured here."""
    return ConfigProto()


def run_benchmarks(pattern: str) -> None:
    """Runs the methods ``benchmark...`` whose "module.Class.method" holds ``pattern``; "all" for all."""
    wanted = re.compile("" if pattern == "all" else pattern)
    for cls in _classes:
        for method in sorted(m for m in dir(cls) if m.startswith("benchmark")):
            if wanted.search(f"{cls.__module__}.{cls.__name__}.{method}"):
                getattr(cls(), method)()

"""One engine in one process: builds a workload, then times it whenever it is told to.

``worker.py ENGINE WORKLOAD [CORE]``; reads a number of seconds per line, answers with the median time of
a step in seconds, and at the end of the input prints the peak memory in bytes. With a core all runs
there, in as many threads as each engine starts on a machine of one core, and times are the processor's.
"""

from __future__ import annotations

import json
import os
import pathlib
import resource
import statistics
import sys
import time
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent


def load(engine: str) -> Any:
    """The engine's module, in graph mode."""
    if engine == "tensorflow":
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        import tensorflow.compat.v1 as tf

        tf.disable_v2_behavior()
        tf.disable_resource_variables()
        tf.disable_control_flow_v2()
        tf.logging.set_verbosity(tf.logging.ERROR)
        return tf
    if engine == "torch":
        import torch

        return torch
    sys.path.insert(0, str(HERE.parent.parent))
    import dataflow as tf

    return tf


def workloads(engine: str) -> Any:
    """What builds each workload on that engine, by name."""
    sys.path.insert(0, str(HERE))
    if engine == "torch":
        from torch_workloads import WORKLOADS  # type: ignore[import-not-found]
    else:
        from conv_networks import CONV_NETWORKS  # type: ignore[import-not-found]
        from eager_code import EAGER_CODE  # type: ignore[import-not-found]
        from learner_networks import LEARNER_NETWORKS  # type: ignore[import-not-found]
        from models import MODELS  # type: ignore[import-not-found]
        from pipelines import PIPELINES  # type: ignore[import-not-found]
        from published_networks import PUBLISHED_NETWORKS  # type: ignore[import-not-found]
        from single_ops import SINGLE_OPS  # type: ignore[import-not-found]
        from workloads import WORKLOADS  # type: ignore[import-not-found]

        families = (MODELS, CONV_NETWORKS, LEARNER_NETWORKS, PUBLISHED_NETWORKS)
        families += (PIPELINES, SINGLE_OPS, EAGER_CODE)
        for family in families:
            WORKLOADS = {**WORKLOADS, **family}
    return WORKLOADS


def main() -> None:
    engine, name, *core = sys.argv[1:]
    clock = time.perf_counter
    if core:
        os.sched_setaffinity(0, {int(core[0])})  # before an engine counts the cores
        clock = time.process_time
    module = load(engine)
    step = workloads(engine)[name](module)
    for _ in range(5):
        step()
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        seconds = float(line)
        times: list[float] = []
        end = time.perf_counter() + seconds
        while not times or time.perf_counter() < end:
            started = clock()
            step()
            times.append(clock() - started)
        print(json.dumps(statistics.median(times)), flush=True)
    print(json.dumps(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024), flush=True)


if __name__ == "__main__":
    main()

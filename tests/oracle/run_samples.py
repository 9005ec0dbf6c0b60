"""Run every op sample of ``tests/samples`` on one engine and write what comes out as JSON.

    python run_samples.py --engine dataflow|tensorflow --out results.json [families ...]

With ``--graphs other.json`` it runs the GraphDefs that the other engine wrote there instead.
For each sample: values, dtypes, static shapes, output names, and the gradient of a weighted sum
of its floating outputs. A family of samples runs in one forked child, so that a crash of the
engine costs one family and says which.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

import numpy as np  # noqa: E402

from tests.oracle.encoding import encode  # noqa: E402
from tests.oracle.run_program import load_engine, shape_of  # noqa: E402
from tests.samples.base import Sample  # noqa: E402

SAMPLES = HERE.parent / "samples"
SECONDS_PER_RUN = 10


def families() -> list[str]:
    """The names of the sample files."""
    return sorted(p.stem for p in SAMPLES.glob("*.py") if p.stem not in ("__init__", "base"))


def named_samples(family: str) -> dict[str, Sample]:
    """The samples of one family by a name that is unique in it."""
    import importlib

    named: dict[str, Sample] = {}
    for sample in importlib.import_module(f"tests.samples.{family}").SAMPLES:
        name, number = sample.id, 2
        while name in named:
            name, number = f"{sample.id} #{number}", number + 1
        named[name] = sample
    return named


def run_sample(tf: Any, sample: Sample) -> dict[str, Any]:
    """What one sample gives: a dict of encoded parts, or ``{"error": ...}``."""
    config = tf.ConfigProto(operation_timeout_in_ms=1000 * SECONDS_PER_RUN)
    try:
        with tf.Graph().as_default(), tf.Session(config=config) as session:
            inputs = [tf.constant(value) for value in sample.inputs]
            built = sample.build(tf, *inputs)
            outputs = list(built) if isinstance(built, (list, tuple)) else [built]
            tensors = [output for output in outputs if isinstance(output, tf.Tensor)]
            report = {
                "graph_def": exported(tf),
                "names": encode([tensor.name for tensor in tensors]),
                "dtypes": encode([tensor.dtype.base_dtype.name for tensor in tensors]),
                "shapes": encode([shape_of(tensor) for tensor in tensors]),
            }
            if sample.setup is not None:
                sample.setup(tf, session)
            values = session.run(outputs)
            if sample.random:
                report["run_shapes"] = encode([list(np.shape(value)) for value in values])
                return report
            report["values"] = encode(values)
            slopes = gradients(tf, sample, inputs, tensors)
            present = [slope for slope in slopes if slope is not None]
            report["connected"] = encode([slope is not None for slope in slopes])
            report["gradients"] = encode(session.run(present))
            return report
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:1500]}


def exported(tf: Any) -> str:
    """The default graph as a GraphDef in base64; why not, after a question mark."""
    try:
        graph_def = tf.get_default_graph().as_graph_def()
        return base64.b64encode(graph_def.SerializeToString()).decode()
    except Exception as error:
        return f"? {type(error).__name__}: {error}"


def gradients(tf: Any, sample: Sample, inputs: list[Any], tensors: list[Any]) -> list[Any]:
    """Dense gradients of a fixed weighting of the floating outputs, by the sample's inputs."""
    chosen = sample.gradient
    if chosen is None:
        chosen = tuple(i for i, v in enumerate(sample.inputs) if np.asarray(v).dtype.kind == "f")
    floating = [t for t in tensors if t.dtype.base_dtype.is_floating]
    if not chosen or not floating:
        return []
    seeds = []
    for tensor in floating:
        count = tf.cast(tf.range(tf.size(tensor)), tf.float64)
        seeds.append(tf.cast(tf.reshape(tf.cos(count) + 1.5, tf.shape(tensor)), tensor.dtype))
    found = tf.gradients(floating, [inputs[i] for i in chosen], grad_ys=seeds)
    return [None if slope is None else tf.convert_to_tensor(slope) for slope in found]


def run_graph(tf: Any, report: dict[str, Any]) -> dict[str, Any]:
    """Import the GraphDef that the other engine made of a sample, and run its outputs."""
    if report["graph_def"].startswith("?"):
        return {"error": f"not exported: {report['graph_def'][2:]}"}
    graph_def = tf.GraphDef()
    config = tf.ConfigProto(operation_timeout_in_ms=1000 * SECONDS_PER_RUN)
    try:
        with tf.Graph().as_default(), tf.Session(config=config) as session:
            graph_def.ParseFromString(base64.b64decode(report["graph_def"]))
            outputs = tf.import_graph_def(graph_def, return_elements=report["names"], name="")
            return {"values": encode(session.run(outputs))}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:1500]}


def travels(sample: Sample, report: dict[str, Any]) -> bool:
    """Whether a sample can be run from its GraphDef alone: no state, no chance, no Python."""
    if sample.setup is not None or sample.random or not report.get("names"):
        return False
    exported = report["graph_def"]
    if not exported.startswith("?") and b"PyFunc" in base64.b64decode(exported):
        return False
    return len(report["names"]) == len(report.get("values", ()))


def run_family(tf: Any, family: str, graphs: dict[str, Any] | None = None) -> dict[str, Any]:
    """All samples of one family, built here, or imported from the other engine's ``graphs``."""
    samples = {name: s for name, s in named_samples(family).items() if s.oracle}
    if graphs is None:
        return {name: run_sample(tf, sample) for name, sample in samples.items()}
    made = graphs[family]
    return {
        name: run_graph(tf, made[name])
        for name, sample in samples.items()
        if travels(sample, made.get(name, {}))
    }


def run_in_child(
    tf: Any, family: str, seconds: float, graphs: dict[str, Any] | None = None
) -> dict[str, Any]:
    """``run_family`` in a forked child, killed when its time is up."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "report"
        pid = os.fork()
        if pid == 0:
            try:
                report = run_family(tf, family, graphs)
                out.with_suffix(".part").write_text(json.dumps(report))
                out.with_suffix(".part").rename(out)
            except BaseException as error:
                out.write_text(json.dumps({"": {"error": f"{type(error).__name__}: {error}"}}))
            finally:
                os._exit(0)
        start = time.monotonic()
        while time.monotonic() - start < seconds:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                break
            time.sleep(0.02)
        else:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
            return {"": {"error": f"the family took more than {seconds:g} seconds"}}
        if out.exists():
            return json.loads(out.read_text())
        return {"": {"error": f"the process died with status {status}"}}


def main(arguments: list[str]) -> int:
    """Run the families named on the command line, all of them by default."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", choices=("dataflow", "tensorflow"), required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=240.0, help="time limit of one family")
    parser.add_argument("--graphs", type=Path, help="the other engine's results: run its GraphDefs")
    parser.add_argument("families", nargs="*")
    options = parser.parse_args(arguments)
    tf = load_engine(options.engine)
    chosen = options.families or families()
    graphs = json.loads(options.graphs.read_text()) if options.graphs else None
    reports = {family: run_in_child(tf, family, options.seconds, graphs) for family in chosen}
    options.out.write_text(json.dumps(reports))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Run oracle programs on one engine and write what each reports as JSON.

    python run_program.py --engine dataflow|tensorflow --out results.json programs/*.py

The engine is imported once, each program runs in a child of its own (`fork`), so a fresh graph,
fresh flags and a real time limit cost nothing. A program is plain text in TensorFlow 1's style
that finds these names bound:

- ``tf``: the engine; ``np``: NumPy; ``tmp_dir``: an empty folder of its own,
- ``result``: the dict it fills with what is compared: values, names, static shapes,
- ``error_of(function)``: the classes of what calling it raises, or ``"nothing"``,
- ``shape_of(tensor)``: its static shape as a list, None where unknown.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent


def load_sibling(name: str) -> Any:
    """A module of this folder, by path: nothing is imported from the test package."""
    spec = importlib.util.spec_from_file_location(f"oracle_{name}", HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_engine(name: str) -> Any:
    """The module that a program knows as ``tf``."""
    if name == "dataflow":
        sys.path.insert(0, str(REPOSITORY))
        import dataflow

        return dataflow
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow

    if tensorflow.__version__.startswith("1."):
        load_sibling("old_names").install_before_1_0(tensorflow)
        return tensorflow
    tf = tensorflow.compat.v1
    tf.disable_v2_behavior()
    tf.disable_resource_variables()
    load_sibling("old_names").install(tf)
    return tf


def error_of(function: Any) -> str:
    """What calling ``function`` raises, ancestors included; ``"nothing"`` where it returns.

    ``"raises ShapeError < ValueError < Exception"``: an engine may raise a subclass.
    """
    try:
        function()
    except Exception as error:
        names = [cls.__name__ for cls in type(error).__mro__]
        return "raises " + " < ".join(names[: names.index("Exception") + 1])
    return "nothing"


def shape_of(tensor: Any) -> list[int | None] | None:
    """The static shape as a list; None where even the rank is unknown."""
    shape = tensor.get_shape() if hasattr(tensor, "get_shape") else tensor
    return None if shape.ndims is None else shape.as_list()


def run_text(path: Path, tf: Any, tmp_dir: str) -> dict:
    """Execute one program and encode its ``result`` key by key."""
    import numpy as np

    encode = load_sibling("encoding").encode
    result: dict[str, Any] = {}
    names = {"__name__": "__main__", "__file__": str(path), "tf": tf, "np": np, "result": result}
    names.update(tmp_dir=tmp_dir, error_of=error_of, shape_of=shape_of)
    report: dict[str, Any] = {"values": {}}
    try:
        exec(compile(path.read_text(), str(path), "exec"), names)
    except BaseException as error:  # SystemExit included: the program did not reach its end
        frames = traceback.extract_tb(error.__traceback__)
        line = next((f.lineno for f in reversed(frames) if f.filename == str(path)), None)
        message = f"{type(error).__name__}: {error}"
        report.update(error=message[:2000], line=line, traceback=traceback.format_exc()[-4000:])
    for key, value in result.items():
        try:
            report["values"][key] = encode(value)
        except TypeError as error:
            report["values"][key] = {"not_reported": str(error)}
    return report


def run_in_child(path: Path, tf: Any, seconds: float) -> dict:
    """``run_text`` in a forked child that is killed when its time is up."""
    folder = Path(tempfile.mkdtemp(prefix="oracle-"))
    (folder / "tmp").mkdir()
    pid = os.fork()
    if pid == 0:
        try:
            os.setpgid(0, 0)
            log = os.open(folder / "log", os.O_CREAT | os.O_WRONLY)
            os.dup2(log, 1)
            os.dup2(log, 2)
            report = run_text(path, tf, str(folder / "tmp"))
            (folder / "report").write_text(json.dumps(report))
        finally:
            os._exit(0)
    try:
        return _wait(pid, folder, seconds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(pid: int, folder: Path, seconds: float) -> dict:
    start = time.monotonic()
    status: int | None = None
    while time.monotonic() - start < seconds:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        time.sleep(0.02)
    else:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return {"values": {}, "error": f"time-out after {seconds:g} seconds", "line": None}
    if (folder / "report").exists():
        return json.loads((folder / "report").read_text())
    log = (folder / "log").read_text(errors="replace")[-2000:] if (folder / "log").exists() else ""
    return {"values": {}, "error": f"the process died with status {status}: {log}", "line": None}


def main(arguments: list[str]) -> int:
    """Run the programs named on the command line; the exit status says only that it came through."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", choices=("dataflow", "tensorflow"), required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of one program")
    parser.add_argument("programs", nargs="+", type=Path)
    options = parser.parse_args(arguments)
    tf = load_engine(options.engine)
    reports = {path.stem: run_in_child(path, tf, options.seconds) for path in options.programs}
    options.out.write_text(json.dumps(reports))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Kernels are found, whichever file was loaded first."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dataflow.kernels.jit.regions import _OTHERS
from dataflow.kernels.loader import get_kernel


@pytest.mark.parametrize("op", _OTHERS)
def test_regions_know_the_files_of_their_kernels(op: str) -> None:
    found = get_kernel(op)
    assert found is not None
    assert found.function.__module__ == f"dataflow.kernels.{_OTHERS[op]}"


#: Each family of ops in a process that has loaded nothing else; the last step, to load all files, is taken out.
_ONE_BY_ONE = """
import os, sys
from dataflow.graph.registry import all_ops
import dataflow.ops.all
from dataflow.kernels import loader

loader._tried.add("")
families = {}
for op_type, op in all_ops().items():
    if not (op.control_flow or op.is_alias or op.is_variable or op_type in sys.argv[1:]):
        families.setdefault(op.family, []).append(op_type)
for family, op_types in families.items():
    child = os.fork()
    if child == 0:
        for op_type in op_types:
            if loader.get_kernel(op_type, "cpu", family) is None:
                print(family, op_type, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
print(len(families), "families")
"""


@pytest.mark.threads
def test_no_op_needs_the_kernels_of_all_others() -> None:
    """A first run would wait while every file of kernels is loaded."""
    generated = ["Const", "NoOp", "ControlTrigger", "Placeholder", "IdentityN"]
    program = [sys.executable, "-c", _ONE_BY_ONE, *generated]
    found = subprocess.run(program, capture_output=True, text=True, timeout=120, check=True)
    *missing, families = found.stdout.splitlines()
    assert not missing
    assert int(families.split()[0]) > 50

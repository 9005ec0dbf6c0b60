"""Pretend GPUs whose CUDA kernels run on the CPU."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dataflow.kernels.cuda.compiler import use_stand_in
from dataflow.kernels.xp import pretend_gpus
from tests.gpu.host_cuda import HostCompiler, compiler


@pytest.fixture(scope="session")
def host_compiler(tmp_path_factory: pytest.TempPathFactory) -> HostCompiler:
    """Compiles CUDA C for the CPU; skips where there is no C++ compiler."""
    if compiler() is None:
        message = "no C++ compiler: install g++ to run CUDA kernels on the CPU"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    folder: Path = tmp_path_factory.mktemp("host_cuda")
    return HostCompiler(folder)


@pytest.fixture
def cuda_on_host(host_compiler: HostCompiler) -> Iterator[HostCompiler]:
    """One pretend GPU on which CUDA C can be compiled."""
    host_compiler.launches.clear()
    use_stand_in(host_compiler)
    try:
        with pretend_gpus(1):
            yield host_compiler
    finally:
        use_stand_in(None)

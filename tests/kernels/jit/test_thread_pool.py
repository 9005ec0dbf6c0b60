"""The team makes each call of a list once, whoever else is at work, and ends with the process."""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import platform
import struct
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

from dataflow.kernels import parallel
from dataflow.kernels.jit import gemm, thread_pool, thread_pool_codegen
from dataflow.kernels.jit.compiler import address_of, compile_source

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")

HAS_TEAMS = sys.platform == "linux" and platform.machine() in thread_pool_codegen.MACHINES
NUMBER_OF_THREAD = """
declare i64 @syscall(i64, ...)
define void @add(ptr %table) {
  %to = load ptr, ptr %table
  %by.at = getelementptr i64, ptr %table, i64 1
  %by = load i64, ptr %by.at
  %who.at = getelementptr i64, ptr %table, i64 2
  %who = load ptr, ptr %who.at
  %old = atomicrmw add ptr %to, i64 %by seq_cst
  %id = call i64 (i64, ...) @syscall(i64 GETTID)
  store i64 %id, ptr %who
  ret void
}
"""


@functools.cache
def _adder() -> int:
    number = {"x86_64": 186, "aarch64": 178}.get(platform.machine(), 186)
    return compile_source(NUMBER_OF_THREAD.replace("GETTID", str(number)), "add")[0]


def _run(count: int, targets: int = 3) -> tuple[Any, Any]:
    """(sums, numbers of the threads) of ``count`` calls that add 1, 2, ... to some numbers."""
    sums, who = np.zeros(targets, np.int64), np.zeros(count, np.int64)
    calls = [
        (
            _adder(),
            struct.pack("3q", address_of(sums) + 8 * (i % targets), i + 1, who.ctypes.data + 8 * i),
        )
        for i in range(count)
    ]
    thread_pool.run_calls(calls)
    return sums, who


def _expected(count: int, targets: int = 3) -> list[int]:
    return [sum(range(i + 1, count + 1, targets)) for i in range(targets)]


@pytest.fixture
def three_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_pool, "num_workers", lambda: 3)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 100, 5000, thread_pool_codegen.MOST_CALLS + 5])
def test_each_call_is_made_once(count: int) -> None:
    sums, who = _run(count)
    assert sums.tolist() == _expected(count)
    assert all(who)


@pytest.mark.skipif(not HAS_TEAMS, reason="teams need Linux")
@pytest.mark.usefixtures("three_threads")
def test_members_take_part() -> None:
    end = time.monotonic() + 60
    while len(set(_run(2000)[1].tolist())) == 1:
        assert time.monotonic() < end, "no member of the team made any of the calls"
        time.sleep(0.01)  # both processors may be busy elsewhere
        _field(thread_pool_codegen.ALONE_UNTIL).value = 0


def _field(offset: int) -> ctypes.c_int64:
    """A field in the memory of this process's team."""
    team, _ = thread_pool.team_for(2)
    assert team is not None
    return ctypes.c_int64.from_address(team.memory + offset)


@pytest.mark.skipif(not HAS_TEAMS, reason="teams need Linux")
@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("switches", [-(10**6), 10**12], ids=["busy", "idle"])
def test_callers_work_alone_on_a_busy_machine(switches: int) -> None:
    """``switches``: how often the system had taken away a processor when the window began."""
    until = _field(thread_pool_codegen.ALONE_UNTIL)
    for offset, value in (("SINCE", 0), ("USED", 0), ("SWITCHES", switches), ("ALONE_UNTIL", 0)):
        _field(getattr(thread_pool_codegen, offset)).value = value
    before = time.monotonic_ns()
    _run(9)
    # What was judged is the window that ended with this list.
    assert _field(thread_pool_codegen.SINCE).value >= before
    assert 0 <= _field(thread_pool_codegen.SWITCHES).value < 10**9
    if switches > 0:
        assert until.value == 0
        return
    assert until.value > before
    until.value = time.monotonic_ns() + 10**12
    try:
        for _ in range(20):
            sums, who = _run(2000)
            assert sums.tolist() == _expected(2000)
            assert set(who.tolist()) == {threading.get_native_id()}
    finally:
        until.value = 0


@pytest.mark.skipif(not HAS_TEAMS, reason="teams need Linux")
def test_a_team_stops_while_callers_work_alone() -> None:
    made = thread_pool.Team(2)
    until = ctypes.c_int64.from_address(made.memory + thread_pool_codegen.ALONE_UNTIL)
    until.value = 2**62
    made.stop()
    assert not any(thread.is_alive() for thread in made._threads)


@pytest.mark.usefixtures("three_threads")
def test_calls_that_belong_together_are_made_in_order_by_one_thread() -> None:
    sums, who = np.zeros(1, np.int64), np.zeros((50, 4), np.int64)
    calls = []
    for i, j in itertools.product(range(50), range(4)):
        where = who.ctypes.data + 8 * (4 * i + j)
        calls.append((_adder(), struct.pack("3q", address_of(sums), 1, where)))
    thread_pool.run_calls(calls, each=4)
    assert sums.tolist() == [200]
    assert who.all()
    assert (who == who[:, :1]).all()


def test_a_thread_may_be_held_to_itself() -> None:
    with parallel.limited_to(1):
        _, who = _run(50)
    assert set(who.tolist()) == {threading.get_native_id()}


@pytest.mark.usefixtures("three_threads")
def test_members_that_sleep_wake_again() -> None:
    for i in range(40):
        time.sleep((i % 4) * 0.0002)  # some of them longer than a member waits
        assert _run(7)[0].tolist() == _expected(7)


@pytest.mark.usefixtures("three_threads")
def test_several_threads_at_once() -> None:
    wrong = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(300):
            count = int(rng.integers(0, 20))
            if _run(count)[0].tolist() != _expected(count):
                wrong.append(count)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


PROGRAM = """
import os, sys
import numpy as np
from tests.kernels.jit import test_thread_pool as t
from dataflow.kernels.jit import thread_pool
thread_pool.num_workers = lambda: 3
assert t._run(9)[0].tolist() == t._expected(9)
if sys.argv[1] == "fork":
    child = os.fork()
    assert t._run(9)[0].tolist() == t._expected(9)  # in both
    if child:
        assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.parametrize("how", ["at once", "fork"])
def test_a_process_ends_with_its_team(how: str) -> None:
    if how == "fork" and not hasattr(os, "fork"):
        pytest.skip("no fork on this system")
    # Later Pythons warn of any fork beside threads, and this one is on purpose.
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, how],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.skipif(not HAS_TEAMS, reason="teams need Linux")
def test_no_more_members_take_part_than_are_asked() -> None:
    made = thread_pool.Team(5)
    try:
        for _ in range(20):
            who = np.zeros(3000, np.int64)
            sums = np.zeros(1, np.int64)
            calls = [
                (_adder(), struct.pack("3q", address_of(sums), 1, who.ctypes.data + 8 * i))
                for i in range(who.size)
            ]
            made.run(calls, 1, 2)
            assert sums.tolist() == [who.size]
            assert len(set(who.tolist())) <= 3
            time.sleep(0.0003)
    finally:
        made.stop()


@pytest.mark.skipif(not HAS_TEAMS, reason="teams need Linux")
def test_a_stopped_team_has_no_threads() -> None:
    made = thread_pool.Team(2)
    assert all(thread.is_alive() for thread in made._threads)
    made.stop()
    assert not any(thread.is_alive() for thread in made._threads)


def test_no_team_for_other_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_pool.platform, "machine", lambda: "riscv64")
    with pytest.raises(ImportError, match="riscv64"):
        thread_pool.Team(1)
    monkeypatch.setattr(thread_pool, "_team", lambda process: None)
    assert _run(9)[0].tolist() == _expected(9)


@pytest.mark.parametrize("parts", [2, 3, 5])
@pytest.mark.parametrize(("m", "k", "n"), [(20, 600, 300), (300, 100, 90), (90, 100, 300)])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.usefixtures("at_once")
@pytest.mark.simd
def test_a_product_in_parts(parts: int, m: int, k: int, n: int, transposed: bool) -> None:
    rng = np.random.default_rng(3)
    a = rng.integers(-9, 9, (m, k)).astype(np.float32)
    b = rng.integers(-9, 9, (n, k) if transposed else (k, n)).astype(np.float32)
    b = b.T if transposed else b
    out = np.full((m, n), np.nan, np.float32)
    assert gemm.multiply(a, b, out, parts=parts)
    np.testing.assert_array_equal(out, a @ b)

"""Parts of a plan on another thread: which, and that results, state and errors stay the same."""

from __future__ import annotations

import itertools
import os
import threading
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels import parallel
from dataflow.kernels.jit import compiler
from dataflow.runtime import buffers, concurrency, plan as plans, plan_recorder
from dataflow.runtime.codegen import Line
from dataflow.runtime.fetches import FetchPlan
from dataflow.runtime.plan import Plan


@pytest.fixture(autouse=True)
def graph(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(plans, "num_threads", lambda: 2)
    with tf.Graph().as_default() as g:
        yield g


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every stretch of lines is worth another thread."""
    monkeypatch.setattr(concurrency, "LEAST_MICROSECONDS", 1e-9)
    monkeypatch.setattr(concurrency, "microseconds", lambda op, single: 2.0)
    monkeypatch.setattr(plan_recorder, "microseconds_saved", lambda lines, scope: 0.0)


def rewritten(fetches: Any, feeds: list[Any], session: Any) -> Plan:
    plan = Plan(session, FetchPlan(session.graph, fetches, session), feeds)
    plan.rewrite()
    return plan


def towers(x: Any, size: int = 128, depth: int = 6) -> list[Any]:
    results = []
    for number in range(2):
        h = x
        for i in range(depth):
            weights = np.full((size, size), 0.01 + 0.001 * (number + i), np.float32)
            h = tf.tanh(tf.matmul(h, tf.Variable(weights)))
        results.append(h)
    return results


@pytest.mark.threads
def test_a_tower_of_products_is_a_part() -> None:
    x = tf.placeholder(tf.float32, [128, 128])
    y = tf.add_n(towers(x))
    value = np.random.default_rng(0).standard_normal((128, 128)).astype(np.float32)
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        plain = s.run(y, {x: value})
        plan = rewritten(y, [x], s)
        assert plan.source.count("future(") == 1
        for _ in range(5):
            np.testing.assert_array_equal(plan.run([value]), plain)


@pytest.mark.parametrize("size", [8, 64])
def test_small_work_stays_in_one_thread(size: int) -> None:
    x = tf.placeholder(tf.float32, [size, size])
    with tf.Session() as s:
        plan = rewritten(tf.add_n(towers(x, size)), [x], s)
    assert "future(" not in plan.source


def test_one_after_the_other_is_no_part() -> None:
    x = tf.placeholder(tf.float32, [128, 128])
    first, _ = towers(x, depth=8)
    with tf.Session() as s:
        assert "future(" not in rewritten(first, [x], s).source


@pytest.mark.threads
def test_one_thread_is_strictly_serial(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tf.placeholder(tf.float32, [128, 128])
    y = tf.add_n(towers(x))
    config = tf.ConfigProto(inter_op_parallelism_threads=1)
    with tf.Session(config=config) as s:
        assert "future(" not in rewritten(y, [x], s).source
    config = tf.ConfigProto(inter_op_parallelism_threads=2, intra_op_parallelism_threads=1)
    seen: list[int] = []
    with tf.Session(config=config) as s:
        s.run(tf.global_variables_initializer())
        plan = rewritten(y, [x], s)
        # Where another test had machine code compiled, the products would not come to BLAS.
        monkeypatch.setattr(compiler.JitEntry, "get", lambda lazy: None)
        monkeypatch.setattr(parallel, "np", _Counting(seen))
        plan.run([np.ones((128, 128), np.float32)])
    assert seen and set(seen) == {1}


class _Counting:
    """NumPy, as kernels see it, noting how many threads a product may use."""

    def __init__(self, seen: list[int]) -> None:
        self._seen = seen

    def __getattr__(self, name: str) -> Any:
        if name in ("dot", "matmul"):
            self._seen.append(parallel.num_workers())
        return getattr(np, name)


def test_large_products_share_their_own_work_instead() -> None:
    x = tf.placeholder(tf.float32, [512, 512])
    W = tf.Variable(np.ones((512, 512), np.float32))
    y = tf.matmul(tf.matmul(x, W), W) + tf.matmul(tf.matmul(x, x), x)
    with tf.Session() as s:
        assert "future(" not in rewritten(y, [x], s).source
    # With one thread for each kernel they are parts like any other.
    config = tf.ConfigProto(intra_op_parallelism_threads=1)
    with tf.Session(config=config) as s:
        assert "future(" in rewritten(y, [x], s).source


def test_who_needs_the_helper_has_nothing_beside_it() -> None:
    x = tf.placeholder(tf.float32, [128, 128])
    one, two = towers(x)
    image = tf.reshape(two, [1, 128, 128, 1])
    conv = tf.nn.conv2d(image, tf.ones([3, 3, 1, 1]), [1, 1, 1, 1], "SAME")
    y = one + tf.reshape(conv, [128, 128])
    with tf.Session() as s:
        assert "future(" not in rewritten(y, [x], s).source


@pytest.mark.parametrize(
    ("build", "large", "single", "known"),
    [
        (lambda x: tf.nn.relu(x), True, False, True),
        (lambda x: tf.gradients(tf.nn.relu(x), x)[0], False, False, True),
        (lambda x: tf.gradients(tf.nn.relu(x), x)[0], True, False, False),
        (lambda x: tf.gradients(tf.nn.relu(x), x)[0], True, True, True),
        (lambda x: tf.matmul(x, x), False, False, True),
        (lambda x: tf.matmul(x, x), True, False, False),
        (lambda x: tf.matmul(x, x), True, True, True),
        (lambda x: tf.nn.max_pool(x[None, :, :, None], 2, 2, "SAME"), False, False, False),
        (lambda x: tf.nn.max_pool(x[None, :, :, None], 2, 2, "SAME"), False, True, True),
    ],
)
def test_a_kernel_that_shares_its_own_work_has_no_cost(
    build: Any, large: bool, single: bool, known: bool
) -> None:
    size = 2048 if large else 32
    op = build(tf.placeholder(tf.float32, [size, size])).op
    assert (concurrency.microseconds(op, single) is not None) is known


@pytest.mark.threads
@pytest.mark.parametrize("names", [("targets", "x"), ("t", "future"), ("a", "b")])
def test_what_is_fed_is_read_in_a_region_by_any_name(eager: None, names: tuple[str, str]) -> None:
    fed = [tf.placeholder(tf.float32, [2], name=name) for name in names]
    one, two = (tf.cumsum(tf.reverse(tf.cumsum(x), [0])) for x in fed)
    with tf.Session() as s:
        plan = rewritten(tf.concat([one, two], 0), fed, s)
        assert "future(" in plan.source
        assert plan.run([[1.0, 2.0], [3.0, 5.0]]).tolist() == [3.0, 4.0, 8.0, 11.0]


@pytest.mark.threads
def test_random_numbers_are_drawn_in_the_steps_own_thread(eager: None) -> None:
    x = tf.placeholder(tf.float32, [4, 4])
    drawn = tf.random_normal([4, 4], name="drawn")
    one = tf.exp(tf.sin(tf.cos(drawn)))
    two = tf.sin(tf.exp(tf.cos(x)))
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.remapping = 2  # OFF
    with tf.Session(config=config) as s:
        plan = rewritten(tf.matmul(one, two), [x], s)
    lines = plan.source.splitlines()
    inside = {op.name for n, op in plan.generated.line_ops.items() if lines[n - 1][:8].isspace()}
    assert "Cos" in inside and "drawn/RandomStandardNormal" not in inside


@pytest.mark.parametrize(("read", "found"), [("x", [(0, 0, 3, (), ("t0",))]), ("v1.array", [])])
def test_a_variable_is_read_before_the_step_changes_it(
    read: str, found: list[Any], eager: None
) -> None:
    pure = tf.tanh(tf.placeholder(tf.float32, [4])).op
    change = tf.assign(tf.Variable(tf.zeros([4])), tf.ones([4])).op
    lines = [
        Line(0, f"t0 = k0({read})", pure, ("t0",)),
        Line(0, "k1(v1, t9)", change, (), ("t9",)),
        Line(0, "t1 = k2(t9)", pure, ("t1",), ("t9",)),
        Line(0, "t2 = k3(t0, t1)", pure, ("t2",), ("t0", "t1")),
    ]
    assert concurrency.find(lines, 1, False) == found


def test_a_longer_region_may_end_before_the_change(eager: None) -> None:
    pure = tf.tanh(tf.placeholder(tf.float32, [4])).op
    change = tf.assign(tf.Variable(tf.zeros([4])), tf.ones([4])).op
    lines = [
        Line(0, "t0 = k0(v1.array)", pure, ("t0",)),
        Line(0, "t1 = k1(x)", pure, ("t1",)),
        Line(0, "t2 = k2(x)", pure, ("t2",)),
        Line(0, "t3 = k3(t1)", pure, ("t3",), ("t1",)),
        Line(0, "k4(v1, x)", change),
        Line(0, "t5 = k5(t0)", pure, ("t5",), ("t0",)),
    ]
    assert concurrency.find(lines, 1, False) == [(0, 1, 3, (), ("t0", "t1"))]


@pytest.mark.parametrize(("shares", "found"), [(False, [(0, 0, 3, (), ("t0",))]), (True, [])])
def test_nothing_runs_beside_a_kernel_that_needs_all_threads(
    shares: bool, found: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    pure, product = (tf.tanh(tf.placeholder(tf.float32, [4])).op for _ in range(2))
    monkeypatch.setattr(concurrency, "LEAST_MICROSECONDS", 1e-9)
    cost = {pure: 2.0, product: None if shares else 2.0}
    monkeypatch.setattr(concurrency, "microseconds", lambda op, single: cost[op])
    lines = [
        Line(0, "t0 = k0(x)", pure, ("t0",)),
        Line(0, "t1 = k1(x)", product, ("t1",)),
        Line(0, "t2 = k2(t1)", pure, ("t2",), ("t1",)),
        Line(0, "t3 = k3(t0, t2)", pure, ("t3",), ("t0", "t2")),
    ]
    assert concurrency.find(lines, 1, False) == found


def test_loops_branches_and_recorded_runs_have_no_parts(eager: None) -> None:
    x = tf.placeholder(tf.float32, [2, 2])
    y = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.exp(x), lambda: tf.sin(x))
    z = tf.add_n([tf.sin(tf.exp(y)), tf.cos(tf.exp(x))])
    with tf.Session() as s:
        assert "future(" not in rewritten(z, [x], s).source


@pytest.mark.threads
def test_an_error_in_a_part_names_its_node(eager: None) -> None:
    x = tf.placeholder(tf.float32, name="x")
    y = tf.placeholder(tf.float32, name="y")
    bad = tf.sin(tf.matmul(x, y, name="product"))
    z = tf.exp(tf.cos(x)) + tf.reduce_sum(bad)
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.remapping = 2  # OFF
    with tf.Session(config=config) as s:
        plan = rewritten(z, [x, y], s)
        assert "future(" in plan.source
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError) as e:
                plan.run([np.ones((2, 3)), np.ones((2, 3))])
            assert e.value.op is bad.op.inputs[0].op
            assert "now of shape (2, 3)" in str(e.value)
            good = plan.run([np.ones((2, 2)), np.ones((2, 2))])
            assert good.shape == (2, 2)


@pytest.mark.threads
def test_who_is_not_helped_does_it_himself() -> None:
    released = threading.Event()
    helpers = parallel._helpers(os.getpid())
    blockers = [parallel.Future(lambda: released.wait(10)) for _ in helpers]
    caller = threading.current_thread()
    assert parallel.Future(threading.current_thread)() is caller
    released.set()
    for blocker in blockers:
        blocker()


@pytest.mark.threads
def test_a_helper_takes_over_and_hands_on_errors() -> None:
    started = threading.Event()

    def wait() -> Any:
        started.set()
        return threading.current_thread()

    later = parallel.Future(wait)
    if started.wait(10):
        assert later() is not threading.current_thread()

    def fail() -> None:
        started.set()
        raise ValueError("mine")

    started.clear()
    later = parallel.Future(fail)
    started.wait(10)
    with pytest.raises(ValueError, match="mine"):
        later()


def random_graph(rng: Any, x: Any, v: Any) -> list[Any]:
    """Ops over [3, 3] matrices, with assignments that wait for what came before them."""
    values = [x, tf.tanh(v), tf.exp(x)]

    def pick() -> Any:
        return values[rng.integers(max(0, len(values) - 8), len(values))]

    for _ in range(int(rng.integers(10, 40))):
        kind, a, b = rng.integers(0, 8), pick(), pick()
        if kind < 3:
            t = [tf.sin, tf.tanh, tf.nn.relu][kind](a)
        elif kind < 6:
            t = [tf.add, tf.multiply, tf.matmul][kind - 3](a, tf.tanh(b))
        elif kind == 6:
            t = tf.reshape(tf.transpose(a), [3, 3])
        else:
            with tf.control_dependencies(values):
                change = tf.assign(v, tf.tanh(a))
            with tf.control_dependencies([change]):
                t = tf.sin(v.read_value())
        values.append(t)
    chosen = rng.choice(len(values), 2, replace=False)
    return [values[-1], *(values[i] for i in chosen)]


@pytest.mark.threads
@pytest.mark.parametrize("seed", range(40))
def test_random_graphs(seed: int, eager: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "_WORTHWHILE_ELEMENTS", 1)
    rng = np.random.default_rng(seed)
    x = tf.placeholder(tf.float32, [3, 3])
    start = rng.standard_normal((3, 3)).astype(np.float32)
    v = tf.Variable(start)
    fetches = random_graph(rng, x, v)
    serial = tf.ConfigProto()
    serial.graph_options.rewrite_options.disable_meta_optimizer = True
    value = rng.standard_normal((3, 3)).astype(np.float32)
    with tf.Session(config=serial) as plain, tf.Session() as s:
        plain.run(v.initializer)
        s.run(v.initializer)
        plan = rewritten(fetches, [x], s)
        for _ in range(4):
            want, got = plain.run(fetches, {x: value}), plan.run([value])
            for w, g in zip(want, got, strict=True):
                np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(s.run(v), plain.run(v), rtol=1e-5, atol=1e-6)


@pytest.mark.threads
def test_sessions_and_threads_at_once(eager: None) -> None:
    x = tf.placeholder(tf.float32, [16, 16])
    y = tf.add_n(towers(x, 16, 3))
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal((16, 16)).astype(np.float32) for _ in range(4)]
    problems: list[Any] = []

    def work(session: Any, value: Any, want: Any) -> None:
        try:
            for _ in range(60):
                np.testing.assert_array_equal(session.run(y, {x: value}), want)
        except BaseException as e:
            problems.append(e)

    with tf.Session() as a, tf.Session() as b:
        for s in (a, b):
            s.run(tf.global_variables_initializer())
        wants = [a.run(y, {x: v}) for v in inputs]
        threads = [
            threading.Thread(target=work, args=([a, b][i % 2], inputs[i], wants[i]))
            for i in range(4)
        ]
        for t in threads:
            t.start()
        for t in threads:
            t.join(60)
        (plan,) = [p for p in a._plans.values() if p.fetches.tensors == [y]]
        assert "future(" in plan.source
    assert not problems


@pytest.mark.threads
def test_random_ops_keep_their_order(eager: None) -> None:
    def run(config: Any) -> list[Any]:
        with tf.Graph().as_default():
            tf.set_random_seed(3)
            parts = [tf.sin(tf.exp(tf.random_uniform([4], seed=i))) for i in range(4)]
            y = tf.add_n(parts)
            with tf.Session(config=config) as s:
                return [s.run(y) for _ in range(6)]

    serial = tf.ConfigProto(inter_op_parallelism_threads=1)
    np.testing.assert_allclose(run(None), run(serial), rtol=1e-6)


def test_a_variable_may_have_changed_before_the_region(eager: None) -> None:
    pure = tf.tanh(tf.placeholder(tf.float32, [4])).op
    change = tf.assign(tf.Variable(tf.zeros([4])), tf.ones([4])).op
    lines = [
        Line(0, "k0(v1, x)", change),
        Line(0, "t0 = k1(v1.array)", pure, ("t0",)),
        Line(0, "t1 = k2(x)", pure, ("t1",)),
        Line(0, "t2 = k3(t0, t1)", pure, ("t2",), ("t0", "t1")),
    ]
    assert concurrency.find(lines, 1, False) == [(1, 1, 3, (), ("t0",))]


def test_one_region_may_begin_where_another_ended(eager: None) -> None:
    pure = tf.tanh(tf.placeholder(tf.float32, [4])).op
    lines = [
        Line(0, "t0 = k0(x)", pure, ("t0",)),
        Line(0, "t1 = k1(x)", pure, ("t1",)),
        Line(0, "t2 = k2(t0)", pure, ("t2",), ("t0",)),
        Line(0, "t3 = k3(t2)", pure, ("t3",), ("t2",)),
        Line(0, "t4 = k4(t1, t3)", pure, ("t4",), ("t1", "t3")),
    ]
    found = [(0, 0, 2, (), ("t0",)), (1, 1, 4, (), ("t1",))]
    assert concurrency.find(lines, 2, False) == found


def test_a_region_needs_enough_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    long, short = (tf.tanh(tf.placeholder(tf.float32, [4])).op for _ in range(2))
    least = concurrency.LEAST_MICROSECONDS
    cost = {long: 3 * least, short: 0.9 * least}
    monkeypatch.setattr(concurrency, "microseconds", lambda op, single: cost[op])
    for beside, found in ((short, []), (long, [(0, 0, 2, (), ("t0",))])):
        lines = [
            Line(0, "t0 = k0(x)", long, ("t0",)),
            Line(0, "t1 = k1(x)", beside, ("t1",)),
            Line(0, "t2 = k2(t0, t1)", long, ("t2",), ("t0", "t1")),
        ]
        assert concurrency.find(lines, 1, False) == found


def _regions_by_definition(search: Any, first: int) -> tuple[int, int] | None:
    """Last line, and where it is needed, of the region from ``first`` with the most beside it, looked at one by one."""
    end = min(first + 64, search.wall[first])
    best, most = None, 0.0
    for last in range(first, end):
        made = [name for line in search.lines[first : last + 1] for name in line.sets]
        uses = [i for name in made for i in search.uses.get(name, ()) if i > last]
        work = search.done[last + 1] - search.done[first]
        needed = min(uses, default=0)
        beside = min(work, search.done[needed] - search.done[last + 1]) if needed else 0.0
        least = concurrency.LEAST_MICROSECONDS
        if work < least or search.costs[last] < 1.0 or beside < least or beside <= most:
            continue
        if search.shared[needed] > search.shared[last + 1]:
            continue
        if any("v1." in line.text for line in search.lines[first : last + 1]) and (
            search.changes[needed] > search.changes[last + 1]
        ):
            continue
        best, most = (last, needed), beside
    return best


@pytest.mark.parametrize("seed", range(20))
def test_the_search_finds_what_the_definition_says(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(seed)
    x = tf.placeholder(tf.float32, [])
    pure = tf.tanh(x).op
    change = tf.assign(tf.Variable(0.0), x).op
    costs: dict[int, float | None] = {}
    turn = itertools.count()
    monkeypatch.setattr(concurrency, "microseconds", lambda op, single: costs[next(turn)])
    lines = []
    for i in range(120):
        near, far = (f"t{random.integers(max(0, i - d), max(1, i))}" for d in (3, 60))
        reads = tuple(dict.fromkeys([near] * int(random.random() < 0.4) + [far]))
        text = "v1.array" if random.random() < 0.1 else "x"
        op = change if random.random() < 0.02 else pure
        costs[i] = None if random.random() < 0.02 else float(random.choice([0.0, 20.0, 90.0]))
        lines.append(Line(0, f"t{i} = k({text})", op, (f"t{i}",), reads if i else ()))
    search = concurrency._Search(lines, False)
    found = [search.longest(first) for first in range(len(lines))]
    wanted = [_regions_by_definition(search, first) for first in range(len(lines))]
    assert [x and (x.last, x.needed) for x in found] == wanted
    assert any(wanted)


@pytest.mark.parametrize("length", [2, 2000])
def test_many_small_kernels_are_lists_instead_of_a_part_beside_them(
    length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_recorder, "MACHINE_CODE", True)
    x = tf.placeholder(tf.float32, [128, 128])
    y = tf.add_n(towers(x))
    small = x[:8, :8]
    for _ in range(length):
        small = tf.nn.softmax(small)
    with tf.Session() as s:
        source = rewritten([y, small], [x], s).source
    assert ("future(" in source) == (length == 2)

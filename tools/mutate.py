"""Mutation testing: change the engine at random places and see whether a test notices.

    make mutate                                         # 40 mutants of each package below
    make mutate ARGS="dataflow/placement --sample 80"   # of one package, or of one file
    make mutate ARGS="--only placer.py:61 dataflow/placement"

Cosmic Ray's operators make the mutants (another comparison, a number off by one, a condition
negated, ...). Places are drawn first and then what is done there, with a fixed seed, so that `|`,
which has eleven replacements, does not crowd out `if`, which has one. Annotations are left out.

A first run of `TESTS` under coverage notes which test runs which line, and how long it takes
(`.mutate/coverage.json`; `--cover` does it again). A mutant then gets the tests that run its line,
the quickest first, one of each function before the second of any, up to `--seconds` of them, in a
copy of the tree. A survivor may still be killed by a test that was too slow: run it again with a larger
`--seconds`. Tests that start Ray, a browser or other programs are left out: what only they
notice counts as a survivor.

The environment is one of its own (`.venv-mutate`); the everyday suite needs none of it.
"""

from __future__ import annotations

import argparse
import ast
import collections
import concurrent.futures
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / ".mutate"
PACKAGES = ("runtime", "rewrites", "cluster/execution", "placement")
# Fast tests of what the packages do.
TESTS = (
    *("tests/runtime", "tests/rewrites", "tests/placement", "tests/test_gradients.py"),
    *(
        "tests/cluster/execution",
        "tests/cluster/partition",
        "tests/cluster/management/test_server.py",
    ),
    *("tests/cluster/management/test_training_modes.py", "tests/cluster/management/test_deaths.py"),
    *("tests/ops/test_while_loop.py", "tests/ops/test_queue.py", "tests/ops/test_waiting.py"),
    *(
        "tests/ops/test_variables.py",
        "tests/ops/test_failed_updates.py",
        "tests/ops/test_traits.py",
    ),
    *("tests/ops/test_synchronization.py", "tests/ops/test_tensor_array.py"),
    *("tests/ops/test_control_flow_gradients.py", "tests/ops/test_sparse.py", "tests/introspect"),
    *("tests/gpu/test_cuda_graphs.py", "tests/gpu/test_sparse_steps_cuda.py"),
    *("tests/train/test_background_jobs.py", "tests/cluster/management/test_thread_backend.py"),
    *(
        "tests/cluster/management/test_message_watch.py",
        "tests/cluster/management/test_operations.py",
    ),
)
FAST = (
    "not gpu and not oracle and not binder and not slow and not cluster and not browser"
    " and not netns"
)
# And what runs where no thread can start. Their tests are named with `MARK` in front.
WITHOUT_THREADS = (
    *("tests/runtime/test_cooperative.py", "tests/runtime/test_waiting.py"),
    *("tests/train/test_coordinator.py", "tests/cluster/management/test_cooperative_backend.py"),
)
NO_THREADS = {"DATAFLOW_THREADS": "0"}
MARK = "without threads: "
# One test may take this long: a mutant that never ends is killed by it.
TEST_SECONDS = 30
# Cosmic Ray's operators that need arguments, or that change nothing but the test for identity, which
# for enumerations, interned names and nodes of a graph is the test for equality.
LEFT_OUT = re.compile("Variable|NoOp|_Eq_Is$|_NotEq_IsNot$|_Is_Eq$|_IsNot_NotEq$")


@dataclass(frozen=True)
class Mutant:
    path: str  # relative to the root
    line: int
    operator: str
    before: str
    after: str
    code: str  # of the whole file

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.operator}\n    - {self.before}\n    + {self.after}"


# --- which test runs which line -------------------------------------------------------------------


def measure(workers: int) -> dict[str, Any]:
    """Run the tests once; return `lines` (path -> line -> tests) and `seconds` (test -> time)."""
    tree = copy_of_tree("cover")
    shutil.rmtree(WORK / "parts", ignore_errors=True)
    (WORK / "parts").mkdir(parents=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tools.mutate", "-p", "no:cacheprovider"]
    if workers > 1:
        command += ["-n", str(workers), "--dist", "worksteal"]
    environment = environment_of(tree) | {"DATAFLOW_COVER": str(WORK / "parts")}
    subprocess.run([*command, "-m", FAST, *TESTS], cwd=tree, env=environment, check=False)
    environment |= NO_THREADS
    command = [part for part in command if part not in ("-n", str(workers), "--dist", "worksteal")]
    command += ["-p", "no:xdist", *WITHOUT_THREADS]
    subprocess.run(command, cwd=tree, env=environment, check=False)
    lines: dict[str, dict[str, list[str]]] = {}
    seconds: dict[str, float] = {}
    for part in (WORK / "parts").glob("*.json"):
        read = json.loads(part.read_text())
        seconds |= read["seconds"]
        for path, by_line in read["lines"].items():
            into = lines.setdefault(path, {})
            for line, tests in by_line.items():
                into.setdefault(line, []).extend(tests)
    return {"lines": lines, "seconds": seconds}


def pytest_configure(config: pytest.Config) -> None:
    """Measure in this process: with pytest-xdist, each worker does."""
    folder = os.environ.get("DATAFLOW_COVER")
    if folder and (hasattr(config, "workerinput") or not config.getoption("numprocesses", None)):
        config.pluginmanager.register(_Measuring(Path(folder)))


class _Measuring:
    """A pytest plugin that notes for each test which lines of the packages it runs."""

    def __init__(self, folder: Path) -> None:
        import coverage

        self.folder = folder
        self.mark = MARK if os.environ.get("DATAFLOW_THREADS") == "0" else ""
        self.seconds: dict[str, float] = {}
        include = [str(Path.cwd() / "dataflow" / package / "*") for package in PACKAGES]
        self.coverage = coverage.Coverage(data_file=None, include=include, config_file=False)
        self.coverage.start()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Of a test with many parameters keep some, drawn at random."""
        chance = random.Random(1)
        by_function: dict[str, list[pytest.Item]] = collections.defaultdict(list)
        for item in items:
            by_function[item.nodeid.partition("[")[0]].append(item)
        kept = {
            item
            for group in by_function.values()
            for item in chance.sample(group, min(len(group), 4 + math.isqrt(len(group))))
        }
        items[:] = [item for item in items if item in kept]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(self.mark + item.nodeid)
        yield
        self.coverage.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.seconds[self.mark + report.nodeid] = round(report.duration, 3)

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        data = self.coverage.get_data()
        lines = {}
        for path in data.measured_files():
            lines[str(Path(path).relative_to(Path.cwd()))] = {
                line: [test for test in tests if test in self.seconds]
                for line, tests in data.contexts_by_lineno(path).items()
            }
        part = self.folder / f"{os.getpid()}.json"
        part.write_text(json.dumps({"lines": lines, "seconds": self.seconds}))


# --- mutants --------------------------------------------------------------------------------------


def mutants_of(paths: Iterable[str], count: int, seed: int) -> list[Mutant]:
    """`count` mutants of these files, at places drawn at random."""
    import cosmic_ray.plugins
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code

    operators = {
        name.split("/")[1]: cosmic_ray.plugins.get_operator(name)()
        for name in cosmic_ray.plugins.operator_names()
        if not LEFT_OUT.search(name)
    }
    places: dict[tuple[str, Any], list[tuple[str, int]]] = {}
    for path in paths:
        source = (ROOT / path).read_text()
        never = list(_never_mutated(ast.parse(source)))
        nodes = list(ast_nodes(get_ast(source)))
        for name, operator in operators.items():
            found = [place for node in nodes for place in operator.mutation_positions(node)]
            for occurrence, (start, _) in enumerate(found):
                if not any(first <= start < last for first, last in never):
                    places.setdefault((path, start), []).append((name, occurrence))
    chance = random.Random(seed)
    mutants = []
    for path, start in chance.sample(sorted(places), min(count, len(places))):
        name, occurrence = chance.choice(places[path, start])
        source = (ROOT / path).read_text()
        code = mutate_code(source, operators[name], occurrence)
        pairs = zip(source.splitlines(), code.splitlines(), strict=False)
        before, after = next(((a, b) for a, b in pairs if a != b), ("", ""))
        mutants.append(Mutant(path, start[0], name, before.strip(), after.strip(), code))
    return mutants


def _never_mutated(tree: ast.Module) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Where a change is none when the program runs: annotations, what only type checkers see."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
            yield _extent(node.annotation)
        elif isinstance(node, ast.FunctionDef) and node.returns:
            yield _extent(node.returns)
        elif isinstance(node, ast.Import | ast.ImportFrom) or (
            isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        ):
            yield _extent(node)


def _extent(node: Any) -> tuple[tuple[int, int], tuple[int, int]]:
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


# --- a mutant's tests -----------------------------------------------------------------------------


def tests_of(mutant: Mutant, covered: dict[str, Any], seconds: float) -> list[str]:
    """The tests that run the mutant's line, quickest first, each function's first test first."""
    by_line = covered["lines"].get(mutant.path, {})
    candidates: set[str] = set()
    for line in _lines_of_statement(mutant):
        candidates.update(by_line.get(str(line), ()))
    if not candidates and _at_import(mutant):
        candidates.update(test for tests in by_line.values() for test in tests)
    times = covered["seconds"]
    by_function: dict[str, list[str]] = collections.defaultdict(list)
    for test in sorted(candidates, key=lambda test: (times[test], test)):
        by_function[test.partition("[")[0]].append(test)
    turn = {test: i for tests in by_function.values() for i, test in enumerate(tests)}
    chosen: list[str] = []
    spent = 0.0
    for test in sorted(candidates, key=lambda test: (turn[test], times[test], test)):
        spent += times[test] + 0.01
        if spent > seconds and chosen:
            break
        chosen.append(test)
    return chosen


def _lines_of_statement(mutant: Mutant) -> range:
    """The lines of the innermost statement at the mutant's line; of a compound one, its head."""
    best = range(mutant.line, mutant.line + 1)
    size = None
    for node in ast.walk(ast.parse((ROOT / mutant.path).read_text())):
        if isinstance(node, ast.stmt) and node.lineno <= mutant.line <= (node.end_lineno or 0):
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            lines = range(node.lineno, max(end, node.lineno) + 1)
            if mutant.line in lines and (size is None or len(lines) < size):
                best, size = lines, len(lines)
    return best


def _at_import(mutant: Mutant) -> bool:
    """Whether the line runs when the module is imported, not in a function's body."""
    for node in ast.walk(ast.parse((ROOT / mutant.path).read_text())):
        if isinstance(node, ast.FunctionDef):
            if node.body[0].lineno <= mutant.line <= (node.end_lineno or 0):
                return False
    return True


# --- running --------------------------------------------------------------------------------------


def copy_of_tree(name: str) -> Path:
    """A copy of what is in the working tree and not ignored, in `.mutate/name`."""
    tree = WORK / name
    shutil.rmtree(tree, ignore_errors=True)
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(listing, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for file in filter(None, files.split("\0")):
        if file.startswith(("dataflow/", "tests/", "widgets/dataflow_widgets", "datasets/")) or (
            "/" not in file or file.startswith("tools/")
        ):
            if (ROOT / file).is_file():
                (tree / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / file, tree / file)
    return tree


def environment_of(tree: Path) -> dict[str, str]:
    paths = os.pathsep.join(str(tree / part) for part in (".", "widgets", "datasets"))
    return os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}


def is_killed(mutant: Mutant, tests: list[str], tree: Path, limit: float) -> str:
    """Return the test that fails, or "" when all pass."""
    path = tree / mutant.path
    original, times = path.read_text(), path.stat()
    without = [test.removeprefix(MARK) for test in tests if test.startswith(MARK)]
    usual = [test for test in tests if not test.startswith(MARK)]
    try:
        path.write_text(mutant.code)
        for group, also in ((usual, {}), (without, NO_THREADS)):
            if group and (failure := _failure(group, tree, limit, also)):
                return failure
        return ""
    finally:
        path.write_text(original)
        # Its time again, or what is compiled of it would count as stale.
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def _failure(tests: list[str], tree: Path, limit: float, also: dict[str, str]) -> str:
    """Run tests in a tree; return the first that fails, or "" when all pass."""
    arguments = tree / ".mutant-tests"
    arguments.write_text("\n".join(tests))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=no"]
    command += [f"--timeout={TEST_SECONDS}", f"@{arguments}"]
    if also:
        command += ["-p", "no:xdist"]  # which starts threads
    with subprocess.Popen(
        command,
        cwd=tree,
        env=environment_of(tree) | also,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.communicate()
            return f"time limit ({limit:.0f} s)"
    if process.returncode == 0:
        return ""
    failed = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return (failed or output.splitlines() or ["pytest ended"])[-1][:150]


def run(mutants: list[Mutant], covered: dict[str, Any], seconds: float, workers: int) -> list[str]:
    """Test each mutant; return what became of each: killed, survived, not covered."""
    trees = [copy_of_tree(f"tree{i}") for i in range(workers)]
    for tree in trees:
        # Once, as mutants write no bytecode: two of one size and one second would be taken for one.
        folders = [tree / "dataflow", tree / "tests", tree / "widgets"]
        subprocess.run([sys.executable, "-m", "compileall", "-q", *folders], check=False)
    free = collections.deque(trees)
    lock = threading.Lock()

    def test(mutant: Mutant) -> str:
        tests = tests_of(mutant, covered, seconds)
        if not tests:
            outcome, by = "not covered", ""
        else:
            with lock:
                tree = free.pop()
            began = time.monotonic()
            # Collection and a loaded machine: thrice the time that the tests took alone, and then some.
            limit = 90 + 3 * sum(covered["seconds"][test] for test in tests)
            by = is_killed(mutant, tests, tree, limit)
            outcome = "killed" if by else "survived"
            by = by or f"{len(tests)} tests in {time.monotonic() - began:.0f} s"
            with lock:
                free.append(tree)
        print(f"{outcome:11} {mutant}\n    {by}", flush=True)
        return outcome

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        return list(pool.map(test, mutants))


def files_of(target: str) -> list[str]:
    path = ROOT / target
    if not path.exists():
        raise SystemExit(f"{target}: no such file or folder; targets are paths in the repository")
    files = [path] if path.is_file() else sorted(path.rglob("*.py"))
    return [str(file.relative_to(ROOT)) for file in files]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("targets", nargs="*", help="files or folders; by default four packages")
    parser.add_argument("--sample", type=int, default=40, help="mutants of each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=40, help="of tests for each mutant")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cover", action="store_true", help="measure again which test runs what")
    parser.add_argument("--only", help="mutants whose description has this text")
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    options = parser.parse_args()
    targets = options.targets or [f"dataflow/{package}" for package in PACKAGES]
    samples = {
        target: [
            mutant
            for mutant in mutants_of(files_of(target), options.sample, options.seed)
            if options.only is None or options.only in str(mutant)
        ]
        for target in targets
    }
    if options.list:
        for mutants in samples.values():
            print(*mutants, sep="\n")
        return
    WORK.mkdir(exist_ok=True)
    kept = WORK / "coverage.json"
    if options.cover or not kept.exists():
        kept.write_text(json.dumps(measure(options.workers)))
    covered = json.loads(kept.read_text())
    total: collections.Counter[str] = collections.Counter()
    for target, mutants in samples.items():
        outcomes = collections.Counter(run(mutants, covered, options.seconds, options.workers))
        total += outcomes
        print(f"{target}: {outcomes['killed']} of {sum(outcomes.values())} killed", flush=True)
    if total:
        print(f"score: {total['killed'] / sum(total.values()):.0%} ({dict(total)})")


if __name__ == "__main__":
    main()

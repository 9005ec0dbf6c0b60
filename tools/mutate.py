"""Mutation testing: change the engine at random places and see whether a test notices.

    make mutate                                         # 40 mutants of each package below
    make mutate ARGS="dataflow/placement --sample 80"   # of one package, or of one file
    make mutate ARGS="dataflow/placement --only placer.py:61"

Cosmic Ray's operators make the mutants (another comparison, a number off by one, a condition
negated, ...). Places are drawn first and then what is done there, with a fixed seed, so that `|`,
which has eleven replacements, does not crowd out `if`, which has one. Annotations are left out.

A first run of `TESTS` under coverage notes which test runs which line, and how long it takes
(`.mutate/coverage.json`; `--cover` does it again, as is needed after code or tests have moved: lines are known by
number, tests by name). A mutant then gets the tests that run its line,
those of the file's own test module and the quickest first, one of each function before the second of any, up
to `--seconds` of them, in a
fork of a process that has imported the engine (`tools/mutant_forks.py`), in a copy of the tree. A test that
fails without the change too kills nothing. A survivor may still be killed by a test that was too slow: run it
again with a larger `--seconds` (`--only`). Tests that start Ray, a browser or other programs are left out: what only they
notice counts as a survivor.

The environment is one of its own (`.venv-mutate`); the everyday suite needs none of it.
"""

from __future__ import annotations

import argparse
import ast
import collections
import concurrent.futures
import json
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

from tools.mutant_forks import NOT_IN_PLACE, REQUESTS
from tools.mutation_coverage import MARK, NO_THREADS, PACKAGES, measure

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / ".mutate"
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
    """The tests that run the mutant's line: the own module's and the quickest first."""
    by_line = covered["lines"].get(mutant.path, {})
    candidates: set[str] = set()
    for line in _lines_of_statement(mutant):
        candidates.update(by_line.get(str(line), ()))
    # A line of a function that ran when the module was imported has no test of its own either.
    if not candidates and (str(mutant.line) in by_line or _at_import(mutant)):
        candidates.update(test for tests in by_line.values() for test in tests)
    times = covered["seconds"]
    by_function: dict[str, list[str]] = collections.defaultdict(list)
    for test in sorted(candidates, key=lambda test: (times[test], test)):
        by_function[test.partition("[")[0]].append(test)
    turn = {test: i for tests in by_function.values() for i, test in enumerate(tests)}
    chosen: list[str] = []
    spent = 0.0
    own = f"/test_{Path(mutant.path).stem}"
    for test in sorted(candidates, key=lambda t: (own not in t, turn[t], times[t], t)):
        spent += times[test] + 0.01
        if spent > seconds and chosen:
            break
        chosen.append(test)
    return chosen


def more_tests_of(mutant: Mutant, tests: Iterable[str]) -> list[str]:
    """Functions of the file's own test module: of those with many parameters, few were measured."""
    stem = Path(mutant.path).stem
    functions = {test.partition("[")[0] for test in tests if "[" in test}
    return sorted(test for test in functions if f"/test_{stem}" in test.partition("::")[0])


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


class ForksEnded(Exception):
    """The process that tests mutants has ended, most likely as it could not import something."""


class Forks:
    """A process that has collected `tests`, and runs some of them for each mutant in a fork."""

    def __init__(self, tree: Path, tests: set[str], without_threads: bool) -> None:
        own = {test for test in tests if test.startswith(MARK) == without_threads}
        self.tree = tree
        self.mark = MARK if without_threads else ""
        self.environment = environment_of(tree) | (NO_THREADS if without_threads else {})
        requests, to_requests = os.pipe()
        from_answers, answers = os.pipe()
        self._requests, self._answers = os.fdopen(to_requests, "w"), os.fdopen(from_answers)
        self.environment[REQUESTS] = f"{requests},{answers}"
        files = sorted({test.removeprefix(self.mark).partition("::")[0] for test in own})
        self._log = tree / f".forks{int(without_threads)}.log"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no"]
        command += ["-p", "tools.mutant_forks", f"--timeout={TEST_SECONDS}"]
        if without_threads:
            command += ["-p", "no:xdist"]  # which starts threads
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [*command, *files],
                cwd=tree,
                env=self.environment,
                pass_fds=(requests, answers),
                stdout=log,
                stderr=log,
            )
        os.close(requests)
        os.close(answers)

    def failure(
        self, path: str, code: str, tests: list[str], limit: float, more: Iterable[str] = ()
    ) -> str:
        """The test that fails with this code in that file, or "" when all pass.

        ``more``: functions whose other parameters are tried when all pass, as long as there is time.
        """
        request = {"path": str(self.tree / path), "code": code, "limit": limit}
        request["tests"] = [test.removeprefix(self.mark) for test in tests]
        request["more"] = [test.removeprefix(self.mark) for test in more]
        print(json.dumps(request), file=self._requests, flush=True)
        answer = self._answers.readline()
        if not answer:
            raise ForksEnded(f"the tests could not be collected: see {self._log}")
        return str(json.loads(answer))

    def close(self) -> None:
        self._requests.close()
        self._process.wait()
        self._answers.close()


class Tree:
    """A copy of the engine with its two processes that test mutants."""

    def __init__(self, path: Path, tests: set[str]) -> None:
        self.path = path
        # Once, as forks write no bytecode.
        folders = [path / "dataflow", path / "tests", path / "widgets"]
        subprocess.run([sys.executable, "-m", "compileall", "-q", *folders], check=False)
        self._forks = {
            without: Forks(path, tests, without)
            for without in {test.startswith(MARK) for test in tests}
        }

    def killer(self, mutant: Mutant, tests: list[str], limit: float) -> str:
        """The test that fails, or "" when all pass. A test that fails anyway is left out."""
        original = (self.path / mutant.path).read_text()
        for without, forks in sorted(self._forks.items()):
            left = [test for test in tests if test.startswith(MARK) == without]
            while left:
                more = more_tests_of(mutant, left)
                failure = forks.failure(mutant.path, mutant.code, left, limit, more)
                if failure == NOT_IN_PLACE:
                    failure = self._anew(mutant, original, left, more, limit)
                failed = failure.partition(" ")[2]
                if "::" not in failed or not forks.failure(mutant.path, original, [failed], limit):
                    break
                names = [test.removeprefix(MARK) for test in left]
                left = left[names.index(failed) + 1 :] if failed in names else []
            if left and failure:
                return failure
        return ""

    def _anew(
        self, mutant: Mutant, original: str, tests: list[str], more: list[str], limit: float
    ) -> str:
        """Import everything from the changed file, for what is done once when a module is imported."""
        path = self.path / mutant.path
        times = path.stat()
        path.write_text(mutant.code)
        try:
            forks = Forks(self.path, set(tests), any(test.startswith(MARK) for test in tests))
            try:
                return forks.failure(mutant.path, mutant.code, tests, limit, more)
            except ForksEnded:
                return "the tests cannot be collected"
            finally:
                forks.close()
        finally:
            path.write_text(original)
            # Its time again, or what is compiled of it would count as stale.
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def close(self) -> None:
        for forks in self._forks.values():
            forks.close()


def run(mutants: list[Mutant], covered: dict[str, Any], seconds: float, workers: int) -> list[str]:
    """Test each mutant; return what became of each: killed, survived, not covered."""
    tests_by_mutant = {mutant: tests_of(mutant, covered, seconds) for mutant in mutants}
    every = {test for tests in tests_by_mutant.values() for test in tests}
    trees = [Tree(copy_of_tree(f"tree{i}"), every) for i in range(workers)]
    free = collections.deque(trees)
    lock = threading.Lock()

    def test(mutant: Mutant) -> str:
        tests = tests_by_mutant[mutant]
        if not tests:
            outcome, by = "not covered", ""
        else:
            with lock:
                tree = free.pop()
            began = time.monotonic()
            # A loaded machine: thrice the time that the tests took alone, and then some.
            limit = 60 + 3 * sum(covered["seconds"][test] for test in tests)
            by = tree.killer(mutant, tests, limit)
            outcome = "killed" if by else "survived"
            by = by or f"{len(tests)} tests in {time.monotonic() - began:.0f} s"
            with lock:
                free.append(tree)
        print(f"{outcome:11} {mutant}\n    {by}", flush=True)
        return outcome

    try:
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            return list(pool.map(test, mutants))
    finally:
        for tree in trees:
            tree.close()


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
    parser.add_argument(
        "--only", nargs="+", help="mutants whose description has one of these texts"
    )
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    options = parser.parse_args()
    targets = options.targets or [f"dataflow/{package}" for package in PACKAGES]
    samples = {
        target: [
            mutant
            for mutant in mutants_of(files_of(target), options.sample, options.seed)
            if options.only is None or any(text in str(mutant) for text in options.only)
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
        tree = copy_of_tree("cover")
        found = measure(tree, environment_of(tree), WORK / "parts", options.workers)
        kept.write_text(json.dumps(found))
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

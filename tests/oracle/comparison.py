"""Run the programs on both engines and say where they differ.

Used by ``test_programs.py`` (one test a program) and by ``summary.py`` (figures). TensorFlow lives
in an environment of its own, ``.venv-oracle``, and is never imported here.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.oracle import encoding
from tests.samples.queue import FOLDER

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
PROGRAMS = HERE / "programs"
ORACLE_PYTHON = Path(
    os.environ.get("DATAFLOW_ORACLE_PYTHON", REPOSITORY / ".venv-oracle" / "bin" / "python")
)
# Which TensorFlow that is: "2.15" (its compat.v1), or "1.15".
RELEASE = os.environ.get("DATAFLOW_ORACLE_RELEASE", "2.15")
# TensorFlow's answers do not change; they are kept beside the environment that gave them.
CACHE = ORACLE_PYTHON.parent.parent / "oracle_answers"
KNOWN = HERE / "known_differences.md"
# How many programs TensorFlow runs before its answers are kept.
_KEPT_TOGETHER = 16
# Sums of many terms in another order; what the gradients of samples add up.
SAMPLE_TOLERANCE = {"gradients": 2e-4, "values": 5e-5}


# The key of a row about a program that ends with an error in TensorFlow itself.
STOPS = "(stops)"


@dataclass(frozen=True)
class KnownDifference:
    """One row of ``known_differences.md``: patterns of a program and a key, and why they differ."""

    program: str
    key: str
    reason: str
    release: str = "2.15"

    def covers(self, program: str, key: str) -> bool:
        """Whether this row is about ``key`` of ``program``."""
        return fnmatch.fnmatchcase(program, self.program) and fnmatch.fnmatchcase(key, self.key)


@dataclass
class Outcome:
    """One program on both engines; it agrees where ``error`` is None and ``differing`` is empty."""

    program: str
    issue: int
    error: str | None = None
    compared: list[str] = field(default_factory=list)
    reached: list[str] = field(default_factory=list)
    differing: dict[str, str] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)

    @property
    def agrees(self) -> bool:
        """True where nothing differs that is not in the table of known differences."""
        return self.error is None and not self.differing


def program_paths() -> list[Path]:
    """Every program, sorted by name."""
    return sorted(PROGRAMS.glob("*.py"))


def sample_families() -> list[str]:
    """The families of op samples: the files of ``tests/samples``."""
    folder = REPOSITORY / "tests" / "samples"
    return sorted(p.stem for p in folder.glob("*.py") if p.stem not in ("__init__", "base"))


def issue_of(path: Path) -> int:
    """The issue a program belongs to, from its first line: ``# issue 3: what it checks``."""
    match = re.match(r"# issue (\d+): \S", path.read_text())
    if not match:
        raise ValueError(f"{path.name}: the first line must read '# issue N: what it checks'")
    return int(match.group(1))


def tolerance_of(path: Path) -> float | None:
    """A program's own relative tolerance, from a line ``# tolerance 1e-4``, or None."""
    match = re.search(r"^# tolerance (\S+)$", path.read_text(), re.M)
    return float(match.group(1)) if match else None


def known_differences() -> list[KnownDifference]:
    """The rows that hold for `RELEASE`; a row without a reason is refused.

    The second table is about TensorFlow 1.15 alone. Where that is asked, the first holds as well.
    """
    rows = []
    release = "2.15"
    for line in KNOWN.read_text().splitlines():
        if line.startswith("## ") and line.endswith(" 1.15"):
            release = "1.15"
        cells = [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or cells[0] == "program" or set(cells[0]) <= set("-: "):
            continue
        if len(cells) != 3 or not all(cells):
            raise ValueError(f"{KNOWN.name}: a row needs program, key and reason: {line}")
        rows.append(KnownDifference(*cells, release))
    return [row for row in rows if row.release in ("2.15", RELEASE)]


def stale_rows(outcomes: list[Outcome], of_samples: bool) -> list[KnownDifference]:
    """The rows of `RELEASE`'s own table that no difference among ``outcomes`` needs."""
    return [
        row
        for row in known_differences()
        if row.release == RELEASE
        and row.program.startswith(("samples/", "graphs/")) == of_samples
        and not any(row.covers(o.program, key) for o in outcomes for key in o.known)
    ]


def oracle_missing() -> str | None:
    """Why TensorFlow cannot be asked, or None where it can."""
    if not ORACLE_PYTHON.exists():
        return "real TensorFlow is not installed: `make oracle` sets up .venv-oracle and runs this"
    return None


def run_samples(engine: str, families: list[str]) -> dict[str, dict]:
    """What each sample gives, by family and name; TensorFlow's come from the cache."""
    if engine == "dataflow":
        return _run_process(sys.executable, engine, "run_samples.py", families, 240.0)
    reports = {}
    missing = []
    for family in families:
        kept = _cached(f"samples-{family}", REPOSITORY / "tests" / "samples" / f"{family}.py")
        if kept.exists():
            reports[family] = json.loads(kept.read_text())
        else:
            missing.append((family, kept))
    if missing:
        names = [family for family, _ in missing]
        reports |= _run_process(str(ORACLE_PYTHON), engine, "run_samples.py", names, 240.0)
        for family, kept in missing:
            if "" not in reports[family]:
                kept.write_text(json.dumps(reports[family]))
    return reports


def compare_samples(families: list[str]) -> list[Outcome]:
    """One outcome a family of op samples, one compared value a sample."""
    theirs = run_samples("tensorflow", families)
    mine = run_samples("dataflow", families)
    known = known_differences()
    return [compare_family(name, mine[name], theirs[name], known) for name in families]


def compare_family(family: str, mine: dict, theirs: dict, known: list[KnownDifference]) -> Outcome:
    """The samples of one family; a sample that only one engine refuses differs."""
    outcome = Outcome(f"samples/{family}", 3)
    _compare_reports(outcome, mine, theirs, known)
    return outcome


def _compare_reports(
    outcome: Outcome, mine: dict, theirs: dict, known: list[KnownDifference]
) -> None:
    """Fill ``outcome`` sample by sample; a report under ``""`` means that the family stopped."""
    for report in (theirs, mine):
        if "" in report:
            outcome.error = report[""]["error"]
            return
    for name, expected in theirs.items():
        outcome.compared.append(name)
        outcome.reached.append(name)
        runner = "TensorFlow" if outcome.program.startswith("graphs/dataflow") else "dataflow"
        found = _sample_difference(mine.get(name), expected, runner)
        if found is None:
            continue
        row = next((row for row in known if row.covers(outcome.program, name)), None)
        if row:
            outcome.known[name] = f"{found} ({row.reason})"
        else:
            outcome.differing[name] = found


def compare_graphs(families: list[str]) -> list[Outcome]:
    """GraphDefs both ways: what each engine wrote, run by the other, gives the same values."""
    known = known_differences()
    outcomes = []
    for maker, runner in (("dataflow", "tensorflow"), ("tensorflow", "dataflow")):
        made = run_samples(maker, families)
        python = sys.executable if runner == "dataflow" else str(ORACLE_PYTHON)
        with tempfile.TemporaryDirectory() as folder:
            graphs = Path(folder) / "graphs.json"
            graphs.write_text(json.dumps(made))
            script = ["run_samples.py", "--graphs", str(graphs)]
            ran = _run_process(python, runner, script, families, 240.0)
        for family in families:
            outcome = Outcome(f"graphs/{maker}/{family}", 3)
            expected = {
                name: {"values": made[family][name]["values"]} for name in ran[family] if name
            }
            _compare_reports(outcome, ran[family], expected, known)
            outcomes.append(outcome)
    return outcomes


def _sample_difference(mine: dict | None, theirs: dict, runner: str) -> str | None:
    if mine is None:
        return "not run"
    if "error" in theirs and "error" in mine:
        return (
            None
            if theirs["error"].split(":")[0] == mine["error"].split(":")[0]
            else (f"raises {mine['error'][:150]}, TensorFlow raises {theirs['error'][:150]}")
        )
    if "error" in theirs or "error" in mine:
        side = "TensorFlow" if "error" in theirs else runner
        return f"only {side} raises {(theirs if 'error' in theirs else mine)['error'][:300]}"
    for part in theirs:
        if part == "graph_def":
            continue
        found = encoding.differences(mine[part], theirs[part], SAMPLE_TOLERANCE.get(part))
        if found:
            return f"{part}: {found}"
    return None


def run(engine: str, paths: list[Path], seconds: float = 300.0) -> dict[str, dict]:
    """Reports by program name; TensorFlow's come from the cache where the text is unchanged.

    TensorFlow's are kept after each few programs: a run that was stopped goes on where it was.
    """
    if engine == "dataflow":
        return _run_process(sys.executable, engine, "run_program.py", paths, seconds)
    reports = {}
    missing = []
    for path in paths:
        kept = _cached(path.stem, path)
        if kept.exists():
            reports[path.stem] = json.loads(kept.read_text())
        else:
            missing.append(path)
    for start in range(0, len(missing), _KEPT_TOGETHER):
        part = missing[start : start + _KEPT_TOGETHER]
        fresh = _run_process(str(ORACLE_PYTHON), engine, "run_program.py", part, seconds)
        for path in part:
            report = reports[path.stem] = fresh[path.stem]
            if "error" not in report:
                _cached(path.stem, path).write_text(json.dumps(report))
    return reports


def _cached(name: str, source: Path) -> Path:
    """Where TensorFlow's answer to ``source`` is kept, as long as nothing that asks has changed."""
    CACHE.mkdir(exist_ok=True)
    digest = hashlib.sha256(source.read_bytes())
    digest.update(str(FOLDER).encode())  # some samples answer with a path in it
    for part in ("run_program.py", "run_samples.py", "encoding.py", "old_names.py"):
        digest.update((HERE / part).read_bytes())
    return CACHE / f"{name}-{digest.hexdigest()[:16]}.json"


def _run_process(
    python: str, engine: str, script: str | list[str], names: list, seconds: float
) -> dict[str, dict]:
    """The reports of ``names``: two processes import the engine, and each runs every second one."""
    parts = [part for part in (names[::2], names[1::2]) if part]
    with ThreadPoolExecutor(2) as threads:
        found = threads.map(lambda part: _run_one(python, engine, script, part, seconds), parts)
        reports = {name: report for part in found for name, report in part.items()}
    return {name: reports[name] for name in map(_stem, names)}


def _stem(name: Path | str) -> str:
    return name.stem if isinstance(name, Path) else name


def _run_one(
    python: str, engine: str, script: str | list[str], names: list, seconds: float
) -> dict[str, dict]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "reports.json"
        name, *options = [script] if isinstance(script, str) else script
        command = [python, str(HERE / name), *options, "--engine", engine, "--out", str(out)]
        command += ["--seconds", str(seconds), *map(str, names)]
        environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
        # By itself TensorFlow takes these kernels on some processors only, and without them it has
        # no gradient of dilated convolutions.
        environment["TF_ENABLE_ONEDNN_OPTS"] = "1"
        limit = 60 + seconds * len(names)
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=limit
        )
        if not out.exists():
            raise RuntimeError(f"{engine} did not come through:\n{done.stderr[-3000:]}")
        return json.loads(out.read_text())


def compare(paths: list[Path]) -> list[Outcome]:
    """Both engines on every program of ``paths``."""
    theirs = run("tensorflow", paths, 600)  # it builds some programs for minutes on a busy machine
    mine = run("dataflow", paths)
    known = known_differences()
    return [compare_one(path, mine[path.stem], theirs[path.stem], known) for path in paths]


def compare_one(path: Path, mine: dict, theirs: dict, known: list[KnownDifference]) -> Outcome:
    """One program's two reports, key by key."""
    outcome = Outcome(path.stem, issue_of(path))
    stop = next((row for row in known if row.covers(path.stem, STOPS)), None)
    if "error" in theirs:
        text = f"fails in TensorFlow itself, line {theirs.get('line')}: {theirs['error']}"
        if stop is None:
            outcome.error = text
            return outcome
        outcome.known[STOPS] = f"{text} ({stop.reason})"
    if "error" in mine:
        outcome.error = f"line {mine.get('line')}: {mine['error']}"
    tolerance = tolerance_of(path)
    for key, expected in theirs["values"].items():
        outcome.compared.append(key)
        if key not in mine["values"]:
            # After an uncaught error the rest is missing by necessity: the error says it all.
            found = None if outcome.error else "not reported"
        else:
            outcome.reached.append(key)
            found = encoding.differences(mine["values"][key], expected, tolerance)
        if found is None:
            continue
        row = next((row for row in known if row.covers(path.stem, key)), None)
        if row:
            outcome.known[key] = f"{found} ({row.reason})"
        else:
            outcome.differing[key] = found
    return outcome

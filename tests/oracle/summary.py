"""Print the oracle's figures: programs and values compared, agreed, differing.

    python tests/oracle/summary.py [--issue 3] [--list FILE] [name patterns ...]

``make oracle`` sets up TensorFlow's environment and calls this. The exit status is 1 where
anything differs that ``known_differences.md`` does not explain.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from tests.oracle import comparison


def select(patterns: list[str], issue: int | None) -> list[Path]:
    """The programs whose name matches one of ``patterns`` and that belong to ``issue``."""
    return [
        path
        for path in comparison.program_paths()
        if (not patterns or any(fnmatch.fnmatch(path.stem, p) for p in patterns))
        and (issue is None or comparison.issue_of(path) == issue)
    ]


def figures(outcomes: list[comparison.Outcome]) -> str:
    """A short table, one line an issue and one for all."""
    lines = [
        f"{'':10}{'programs':>10}{'agreed':>10}{'stopped':>10}{'values':>10}{'agreed':>10}"
        f"{'differ':>10}{'known':>10}"
    ]
    for issue in [*sorted({o.issue for o in outcomes}), None]:
        chosen = [o for o in outcomes if issue is None or o.issue == issue]
        values = sum(len(o.compared) for o in chosen)
        differ = sum(len(o.differing) for o in chosen)
        known = sum(len(o.known) for o in chosen)
        stopped = [o for o in chosen if o.error]
        agreed = sum(o.agrees for o in chosen)
        lost = 0
        for outcome in stopped:
            lost += len(outcome.compared) - len(outcome.reached)
        title = "all" if issue is None else f"issue {issue}"
        row = (
            len(chosen),
            agreed,
            len(stopped),
            values,
            values - differ - known - lost,
            differ,
            known,
        )
        lines.append(f"{title:10}" + "".join(f"{number:>10}" for number in row))
    return "\n".join(lines)


def sample_figures(samples: list[comparison.Outcome]) -> str:
    """One line a family of op samples, one for all."""
    lines = [f"{'':32}{'samples':>10}{'agreed':>10}{'differ':>10}{'known':>10}"]
    for title, chosen in [
        *((o.program, [o]) for o in samples),
        ("all samples", [o for o in samples if o.program.startswith("samples")]),
        ("all graphs", [o for o in samples if o.program.startswith("graphs")]),
    ]:
        compared = sum(len(o.compared) for o in chosen)
        differ = sum(len(o.differing) for o in chosen)
        known = sum(len(o.known) for o in chosen)
        row = (compared, compared - differ - known, differ, known)
        stopped = " stopped" if any(o.error for o in chosen) else ""
        lines.append(f"{title:32}" + "".join(f"{number:>10}" for number in row) + stopped)
    return "\n".join(lines)


def failures(outcomes: list[comparison.Outcome]) -> str:
    """Every program that does not agree: its error line, then its differing keys."""
    lines = []
    for outcome in outcomes:
        if outcome.agrees:
            continue
        error = (
            outcome.error or f"{len(outcome.differing)} of {len(outcome.compared)} values differ"
        )
        lines.append(f"{outcome.program} (issue {outcome.issue}): {error.strip()[:400]}")
        lines += [f"    {key}: {text[:300]}" for key, text in outcome.differing.items()]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Compare, print, and return 1 where something unexplained differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--issue", type=int, help="only the programs of this issue")
    parser.add_argument("--list", type=Path, help="also write every failure to this file")
    parser.add_argument("patterns", nargs="*", help="only programs whose name matches one")
    options = parser.parse_args(arguments)
    missing = comparison.oracle_missing()
    if missing:
        print(missing)
        return 2
    outcomes = comparison.compare(select(options.patterns, options.issue))
    if options.issue in (None, 3):
        names = [f"samples/{family}" for family in comparison.sample_families()]
        chosen = [n for n in names if any(fnmatch.fnmatch(n, p) for p in options.patterns or "*")]
        names = [name.split("/")[1] for name in chosen]
        samples = comparison.compare_samples(names) + comparison.compare_graphs(names)
    else:
        samples = []
    text = failures(outcomes + samples)
    table = f"Programs\n{figures(outcomes)}\n\nOp samples\n{sample_figures(samples)}"
    if options.list:
        options.list.write_text(f"{table}\n\n{text}\n")
    if text:
        print(text, end="\n\n")
    print(table)
    return 0 if all(outcome.agrees for outcome in outcomes + samples) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

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
    text = failures(outcomes)
    if options.list:
        options.list.write_text(figures(outcomes) + "\n\n" + text + "\n")
    if text:
        print(text, end="\n\n")
    print(figures(outcomes))
    return 0 if all(outcome.agrees for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

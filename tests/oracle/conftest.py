"""What the tests compare, made once a session, and the figures of it at the end."""

from __future__ import annotations

import pytest

from tests.oracle import comparison, summary

OUTCOMES = pytest.StashKey[dict[str, comparison.Outcome]]()
SAMPLES = pytest.StashKey[dict[str, comparison.Outcome]]()


@pytest.fixture(scope="session")
def outcomes(request: pytest.FixtureRequest) -> dict[str, comparison.Outcome]:
    """All programs at once: each engine is imported once and forks for every program."""
    found = comparison.compare(comparison.program_paths())
    request.config.stash[OUTCOMES] = {outcome.program: outcome for outcome in found}
    return request.config.stash[OUTCOMES]


@pytest.fixture(scope="session")
def sample_outcomes(request: pytest.FixtureRequest) -> dict[str, comparison.Outcome]:
    """All families of op samples at once, and their GraphDefs both ways."""
    families = comparison.sample_families()
    found = comparison.compare_samples(families) + comparison.compare_graphs(families)
    request.config.stash[SAMPLES] = {outcome.program: outcome for outcome in found}
    return request.config.stash[SAMPLES]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """The same tables as `summary.py` prints."""
    for title, key, table in (
        ("programs", OUTCOMES, summary.figures),
        ("op samples", SAMPLES, summary.sample_figures),
    ):
        if found := config.stash.get(key, None):
            terminalreporter.section(f"TensorFlow and dataflow: {title}")
            terminalreporter.write_line(table(list(found.values())))

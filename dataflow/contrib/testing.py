"""``tf.contrib.testing``: helpers for tests of training loops: summaries read from files, and a fake summary writer."""

from __future__ import annotations

import glob
import os
from typing import Any

from dataflow.formats.event_files import read_events
from dataflow.formats.local_paths import local_path
from dataflow.formats.summary_protos import parse_summary
from dataflow.summary import FileWriterCache, file_writer

__all__ = [
    *("FakeSummaryWriter", "assert_summary", "latest_event_file", "latest_events"),
    *("latest_summaries", "simple_values_from_events", "to_summary_proto"),
]


def to_summary_proto(summary_str: bytes) -> Any:
    """The message ``Summary`` of what running a summary op gives."""
    return parse_summary(summary_str)


def assert_summary(expected_tags: Any, expected_simple_values: Any, summary_proto: Any) -> None:
    """Raises `AssertionError` unless the summary has these tags, and these values (float) of its numbers."""
    tags = {value.tag for value in summary_proto.value}
    if tags != set(expected_tags):
        raise AssertionError(f"expected tags {sorted(expected_tags)}, got {sorted(tags)}")
    numbers = {value.tag: value.simple_value for value in summary_proto.value}
    for tag, expected in dict(expected_simple_values).items():
        if abs(numbers[tag] - expected) > 1e-5 * max(1.0, abs(expected)):
            raise AssertionError(f"{tag}: expected {expected}, got {numbers[tag]}")


def latest_event_file(base_dir: Any) -> str | None:
    """The newest event file of a folder; None where there is none."""
    paths = glob.glob(os.path.join(local_path(base_dir), "events.*"))
    return max(paths, key=os.path.getctime) if paths else None


def latest_events(base_dir: Any) -> list[Any]:
    """The events of the newest event file of a folder."""
    path = latest_event_file(base_dir)
    return [] if path is None else list(read_events(path))


def latest_summaries(base_dir: Any) -> list[Any]:
    """The events of the newest event file that have a summary."""
    return [event for event in latest_events(base_dir) if event.HasField("summary")]


def simple_values_from_events(events: Any, tags: Any) -> dict[str, float]:
    """Tag -> the last number (float) that events have under it."""
    return {
        value.tag: value.simple_value
        for event in events
        if event.summary.value
        for value in event.summary.value
        if value.tag in tags
    }


def _not_before_0(global_step: Any) -> None:
    if global_step is not None and global_step < 0:
        raise ValueError(f"Invalid global_step {global_step}.")


class FakeSummaryWriter:
    """A fake `tf.summary.FileWriter` that keeps what it is given, for tests to inspect.

    ``install()`` makes `tf.summary.FileWriterCache` return fake writers.
    """

    _replaced: type | None = None

    @classmethod
    def install(cls) -> None:
        """Makes all cached writers fake ones; raises `ValueError` if they already are."""
        if FakeSummaryWriter._replaced is not None:
            raise ValueError("FakeSummaryWriter already installed.")
        FakeSummaryWriter._replaced = file_writer.FileWriter
        file_writer.FileWriter = cls  # type: ignore[assignment, misc]

    @classmethod
    def uninstall(cls) -> None:
        """Undoes `install`; raises `ValueError` if it was not called."""
        if FakeSummaryWriter._replaced is None:
            raise ValueError("FakeSummaryWriter not installed.")
        file_writer.FileWriter = FakeSummaryWriter._replaced  # type: ignore[assignment, misc]
        FakeSummaryWriter._replaced = None
        FileWriterCache.clear()

    def __init__(self, logdir: Any, graph: Any = None) -> None:
        self._logdir, self._graph = logdir, graph
        #: Step -> the summaries of it.
        self.summaries: dict[Any, list[Any]] = {}
        self._kept: dict[str, list[Any]] = {"graphs": [], "meta_graphs": [], "session_logs": []}
        self._run_metadata: dict[str, Any] = {}

    def add_summary(self, summ: Any, current_global_step: Any) -> None:
        """Keeps a summary: a message, or its bytes."""
        self.summaries.setdefault(current_global_step, []).append(parse_summary(summ))

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Keeps a graph; raises `ValueError` for a step below 0, and for a GraphDef."""
        _not_before_0(global_step)
        if graph_def is not None:
            raise ValueError(f"Unexpected graph_def {graph_def}.")
        self._kept["graphs"].append(graph)

    def add_meta_graph(self, meta_graph_def: Any, global_step: Any = None) -> None:
        """Keeps a MetaGraphDef; raises `ValueError` for a step below 0."""
        _not_before_0(global_step)
        self._kept["meta_graphs"].append(meta_graph_def)

    def add_session_log(self, session_log: Any, global_step: Any = None) -> None:
        """Keeps a SessionLog."""
        self._kept["session_logs"].append(session_log)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Keeps what a run took; raises `ValueError` for a step below 0."""
        _not_before_0(global_step)
        self._run_metadata[tag] = run_metadata

    def assert_summaries(
        self,
        test_case: Any,
        expected_logdir: Any = None,
        expected_graph: Any = None,
        expected_summaries: Any = None,
        expected_added_graphs: Any = None,
        expected_added_meta_graphs: Any = None,
        expected_session_logs: Any = None,
    ) -> None:
        """Asserts what was kept; ``expected_summaries``: step -> {tag: number}. None is not checked.

        How many steps a second there were is not compared.
        """
        equal, is_true = test_case.assertEqual, test_case.assertTrue
        if expected_logdir is not None:
            equal(expected_logdir, self._logdir)
        if expected_graph is not None:
            is_true(expected_graph is self._graph)
        for step, expected in (expected_summaries or {}).items():
            is_true(step in self.summaries, f"there is no summary of step {step}")
            values = [value for summary in self.summaries[step] for value in summary.value]
            equal(expected, {v.tag: v.simple_value for v in values if v.tag != "global_step/sec"})
        for key, wanted in (
            ("graphs", expected_added_graphs),
            ("meta_graphs", expected_added_meta_graphs),
            ("session_logs", expected_session_logs),
        ):
            if wanted is not None:
                equal(list(wanted), self._kept[key])

    def flush(self) -> None:
        """Nothing waits."""

    def reopen(self) -> None:
        """Nothing was closed."""

    def close(self) -> None:
        """Nothing to close."""

"""Event files, read back with TensorBoard's own loader."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataflow.errors import InvalidArgumentError
from dataflow.formats.event_files import EventFileWriter, new_event, read_events
from dataflow.formats.summary_protos import histogram_summary, scalar_summary


def load(path: str) -> list[Any]:
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

    return list(LegacyEventFileLoader(path).Load())


def test_tensorboard_reads_it(tmp_path: Path) -> None:
    with EventFileWriter(tmp_path / "logs", filename_suffix=".v") as writer:
        writer.add_summary(scalar_summary("loss", 0.5), np.int64(3))
        writer.add_summary(histogram_summary("h", [1.0, 2.0]).SerializeToString(), 4)
        writer.add_graph_def(b"graph bytes", 5)
        writer.add_run_metadata(b"run bytes", "step_6", 6)
        writer.add_session_log("START", 7, "hello")
        path = writer.path
    assert os.path.basename(path).startswith("events.out.tfevents.")
    assert path.endswith(".v")
    assert writer.get_logdir() == str(tmp_path / "logs")
    first, scalar, histogram, graph, run, session = events = load(path)
    assert first.file_version == "brain.Event:2"
    assert [event.step for event in events] == [0, 3, 4, 5, 6, 7]
    assert scalar.summary.value[0].simple_value == 0.5
    assert histogram.summary.value[0].histo.num == 2
    assert graph.graph_def == b"graph bytes"
    assert (run.tagged_run_metadata.tag, run.tagged_run_metadata.run_metadata) == (
        "step_6",
        b"run bytes",
    )
    assert (session.session_log.status, session.session_log.msg) == (1, "hello")
    times = [event.wall_time for event in events]
    assert times == sorted(times)
    assert list(read_events(path)) == events


def test_flushing(tmp_path: Path) -> None:
    with EventFileWriter(tmp_path, max_queue=3, flush_secs=1e9) as writer:
        writer.add_event(new_event(step=1))
        writer.add_event(new_event(step=2))
        assert len(load(writer.path)) == 1
        writer.add_event(new_event(step=3))
        assert len(load(writer.path)) == 4
        writer.add_event(new_event(step=4))
        writer.flush()
        assert len(load(writer.path)) == 5
    with EventFileWriter(tmp_path, max_queue=1000, flush_secs=0) as writer:
        writer.add_event(new_event(step=1))
        assert len(load(writer.path)) == 2


def test_two_writers_have_two_files(tmp_path: Path) -> None:
    with EventFileWriter(tmp_path) as one, EventFileWriter(tmp_path) as two:
        assert one.path != two.path
    assert len(list(tmp_path.iterdir())) == 2


def test_close_and_reopen(tmp_path: Path) -> None:
    writer = EventFileWriter(tmp_path)
    first = writer.path
    writer.reopen()
    assert writer.path == first
    writer.close()
    writer.close()
    with pytest.warns(UserWarning, match="closed writer and is lost"):
        writer.add_event(new_event(step=1))
    writer.reopen()
    assert writer.path != first
    writer.add_event(new_event(step=2))
    writer.close()
    assert [event.step for event in load(writer.path)] == [0, 2]
    assert len(load(first)) == 1


def test_threads(tmp_path: Path) -> None:
    with EventFileWriter(tmp_path) as writer:

        def work(worker: int) -> None:
            for i in range(100):
                writer.add_event(new_event(step=worker * 100 + i))

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=30)
    assert sorted(event.step for event in load(writer.path)[1:]) == list(range(400))


def test_what_is_no_summary(tmp_path: Path) -> None:
    with EventFileWriter(tmp_path) as writer:
        with pytest.raises(InvalidArgumentError, match="not a serialized Summary"):
            writer.add_summary(b"\xff\xff")
        writer.add_summary(scalar_summary("a", 1))
    assert len(load(writer.path)) == 2

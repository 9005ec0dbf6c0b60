"""`CheckpointManager`: the recent checkpoints of a folder, and no more of them."""

from __future__ import annotations

import os
import time
from typing import Any

from dataflow.formats.local_paths import local_path
from dataflow.train.checkpoint_management import (
    get_checkpoint_state,
    latest_checkpoint,
    remove_checkpoint,
    update_checkpoint_state,
)
from dataflow.train.object_checkpoint import Checkpoint
from dataflow.train.object_restore import session_or_default


class CheckpointManager:
    """Saves a `Checkpoint` under numbers into ``directory``, and deletes the oldest beyond ``max_to_keep``.

    ``keep_checkpoint_every_n_hours`` keeps one for each so many hours besides; ``max_to_keep=None``
    keeps all. What a manager of an earlier run left in the folder is counted too.

    Raises `ValueError` for a ``max_to_keep`` that is not positive.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: Any,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
    ) -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(
                f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}."
            )
        self._checkpoint = checkpoint
        self._max_to_keep = max_to_keep
        self._keep_hours = keep_checkpoint_every_n_hours
        self._directory = local_path(directory)
        self._prefix = os.path.join(self._directory, checkpoint_name)
        self._kept: dict[str, float] = {}
        state = get_checkpoint_state(self._directory)
        self._preserved = time.time()
        if state is not None:
            times = list(state.all_model_checkpoint_timestamps)
            paths = list(state.all_model_checkpoint_paths)
            times += [time.time()] * (len(paths) - len(times))
            self._kept = dict(zip(paths, times, strict=True))
            self._preserved = state.last_preserved_timestamp or self._preserved

    @property
    def latest_checkpoint(self) -> str | None:
        """The prefix of the newest checkpoint of the folder; ``None`` where there is none."""
        return latest_checkpoint(self._directory)

    @property
    def checkpoints(self) -> list[str]:
        """The prefixes of those that are kept, oldest first."""
        return list(self._kept)

    def save(self, checkpoint_number: Any = None, session: Any = None) -> str:
        """Writes a checkpoint, numbered by the checkpoint's counter or by ``checkpoint_number``.

        Returns its prefix.
        """
        session = session_or_default(session)
        if checkpoint_number is None:
            path = self._checkpoint.save(self._prefix, session)
        else:
            if hasattr(checkpoint_number, "op"):
                checkpoint_number = session.run(checkpoint_number)
            session.run(self._checkpoint.save_counter.initializer)
            path = self._checkpoint.write(f"{self._prefix}-{int(checkpoint_number)}", session)
        self._kept.pop(path, None)
        self._kept[path] = time.time()
        # The file first: what it names must not be deleted.
        deleted = self._delete_old()
        update_checkpoint_state(
            self._directory,
            path,
            list(self._kept),
            all_model_checkpoint_timestamps=list(self._kept.values()),
            last_preserved_timestamp=self._preserved,
            save_relative_paths=True,
        )
        for old in deleted:
            remove_checkpoint(old)
        return path

    def _delete_old(self) -> list[str]:
        """Takes what is too much from the list; returns what of it is to be deleted."""
        deleted: list[str] = []
        while self._max_to_keep is not None and len(self._kept) > self._max_to_keep:
            path = next(iter(self._kept))
            written = self._kept.pop(path)
            hours = self._keep_hours
            if hours is not None and written - hours * 3600 >= self._preserved:
                self._preserved = written
            else:
                deleted.append(path)
        return deleted

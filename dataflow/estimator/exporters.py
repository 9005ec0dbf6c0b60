"""Exporters: when `train_and_evaluate` writes SavedModels, and how many are kept."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import Any


class Exporter:
    """Base: ``name`` is the folder below ``model_dir/export``."""

    name = ""

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: Any,
        eval_result: Any,
        is_the_final_export: bool,
    ) -> Any:
        """Exports, or does not; returns the path or ``None``."""
        raise NotImplementedError


class _SavedModelExporter(Exporter):
    def __init__(
        self, name: str, serving_input_receiver_fn: Any, assets_extra: Any, as_text: bool
    ) -> None:
        if not name:
            raise ValueError("an exporter needs a name")
        self.name = name
        self._receiver_fn = serving_input_receiver_fn
        self._assets_extra = assets_extra
        self._as_text = as_text

    def _write(self, estimator: Any, export_path: str, checkpoint_path: Any) -> Any:
        return estimator.export_savedmodel(
            export_path,
            self._receiver_fn,
            assets_extra=self._assets_extra,
            as_text=self._as_text,
            checkpoint_path=checkpoint_path,
        )


def _remove_old(folder: str, exports_to_keep: int | None) -> None:
    if exports_to_keep is None or not os.path.isdir(folder):
        return
    stamps = sorted((d for d in os.listdir(folder) if d.isdigit()), key=int)
    for stamp in stamps[:-exports_to_keep]:
        shutil.rmtree(os.path.join(folder, stamp))


class FinalExporter(_SavedModelExporter):
    """One export, at the end of training."""

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Any,
        assets_extra: Any = None,
        as_text: bool = False,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: Any,
        eval_result: Any,
        is_the_final_export: bool,
    ) -> Any:
        """Exports if this is the end."""
        if not is_the_final_export:
            return None
        return self._write(estimator, export_path, checkpoint_path)


class LatestExporter(_SavedModelExporter):
    """An export at each evaluation; the last ``exports_to_keep`` stay."""

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Any,
        assets_extra: Any = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)
        if exports_to_keep is not None and exports_to_keep <= 0:
            raise ValueError(f"exports_to_keep must be positive number, got {exports_to_keep}")
        self._exports_to_keep = exports_to_keep

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: Any,
        eval_result: Any,
        is_the_final_export: bool,
    ) -> Any:
        """Exports, and removes what is older than the ones to keep."""
        result = self._write(estimator, export_path, checkpoint_path)
        _remove_old(export_path, self._exports_to_keep)
        return result


def loss_is_smaller(best_eval_result: dict[str, Any], current_eval_result: dict[str, Any]) -> bool:
    """Whether the current loss is below the best one so far."""
    return bool(current_eval_result["loss"] < best_eval_result["loss"])


class BestExporter(LatestExporter):
    """An export whenever an evaluation beats all before it in this run."""

    def __init__(
        self,
        name: str = "best_exporter",
        serving_input_receiver_fn: Any = None,
        event_file_pattern: str = "eval/*.tfevents.*",
        compare_fn: Callable[..., bool] = loss_is_smaller,
        assets_extra: Any = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)
        self._compare = compare_fn
        self._best: Any = None

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: Any,
        eval_result: Any,
        is_the_final_export: bool,
    ) -> Any:
        """Exports if the result is the best."""
        if self._best is not None and not self._compare(
            best_eval_result=self._best, current_eval_result=eval_result
        ):
            return None
        self._best = eval_result
        return super().export(
            estimator, export_path, checkpoint_path, eval_result, is_the_final_export
        )

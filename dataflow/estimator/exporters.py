"""Exporters: when `train_and_evaluate` writes SavedModels, and how many are kept."""

from __future__ import annotations

import glob
import inspect
import os
import shutil
from collections.abc import Callable
from typing import Any

from dataflow.formats.event_files import read_scalars
from dataflow.formats.local_paths import local_path


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
    """Whether the current loss is below the best one so far; raises `ValueError` for a result without a loss."""
    for which, result in (("best", best_eval_result), ("current", current_eval_result)):
        if not result or "loss" not in result:
            raise ValueError(f"The {which} evaluation's result needs the key 'loss', got {result}.")
    return bool(current_eval_result["loss"] < best_eval_result["loss"])


def _check_compare(compare_fn: Callable[..., bool]) -> None:
    arguments = inspect.signature(compare_fn).parameters
    if any(p.kind is p.VAR_KEYWORD for p in arguments.values()):
        return
    for name in ("best_eval_result", "current_eval_result"):
        if name not in arguments:
            raise ValueError(
                f"compare_fn is called with best_eval_result= and current_eval_result=, but {compare_fn} has "
                f"no argument {name}."
            )


class BestExporter(LatestExporter):
    """An export whenever an evaluation beats all before it.

    Those of earlier runs count: they are read from the event files below ``model_dir`` that
    ``event_file_pattern`` names; with None each run begins anew. ``compare_fn(best_eval_result=,
    current_eval_result=)`` says whether the current result is the better one. The last ``exports_to_keep``
    stay. Raises `ValueError` for a ``compare_fn`` without these arguments.
    """

    def __init__(
        self,
        name: str = "best_exporter",
        serving_input_receiver_fn: Any = None,
        event_file_pattern: str | None = "eval/*.tfevents.*",
        compare_fn: Callable[..., bool] | None = loss_is_smaller,
        assets_extra: Any = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        if compare_fn is None:
            raise ValueError("`compare_fn` must not be None: write a function of two results.")
        _check_compare(compare_fn)
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)
        self._compare = compare_fn
        self._pattern = event_file_pattern
        self._model_dir: str | None = None
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
        if self._pattern and self._model_dir != estimator.model_dir:
            self._model_dir = estimator.model_dir
            self._best = self._best_of_events(eval_result)
        if self._best is not None and not self._compare(
            best_eval_result=self._best, current_eval_result=eval_result
        ):
            return None
        self._best = eval_result
        return super().export(
            estimator, export_path, checkpoint_path, eval_result, is_the_final_export
        )

    def _best_of_events(self, current: dict[str, Any]) -> dict[str, float] | None:
        """The best result on file. The current evaluation is on file, too, and is not to beat itself."""
        best: dict[str, float] | None = None
        folder = str(local_path(self._model_dir))
        for path in sorted(glob.glob(os.path.join(glob.escape(folder), str(self._pattern)))):
            for step, result in read_scalars(path):
                if step == current.get("global_step") or not result.keys() & current.keys():
                    continue
                if best is None or self._compare(best_eval_result=best, current_eval_result=result):
                    best = result
        return best

"""``tf.saved_model.builder``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataflow.train.saved_models import INIT_OP_SIGNATURE_KEY, SavedModelBuilder
from dataflow.train.signatures import build_signature_def, build_tensor_info_from_op

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession
    from dataflow.train.saver import Saver

__all__ = ["SavedModelBuilder"]


class _SavedModelBuilder(SavedModelBuilder):
    """TensorFlow 1.15's inner builder: the op of initialization is in a signature, not in a collection."""

    def add_meta_graph_and_variables(  # type: ignore[override]
        self,
        sess: BaseSession,
        tags: Any,
        signature_def_map: Any = None,
        assets_list: Any = None,
        clear_devices: bool = False,
        init_op: Any = None,
        train_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Adds the session's graph under ``tags``, and saves its variables."""
        del train_op
        signatures = dict(signature_def_map or {})
        if init_op is not None:
            info = build_tensor_info_from_op(init_op)
            signatures[INIT_OP_SIGNATURE_KEY] = build_signature_def(
                outputs={INIT_OP_SIGNATURE_KEY: info}
            )
        super().add_meta_graph_and_variables(
            sess,
            tags,
            signatures,
            assets_list,
            None,
            clear_devices,
            None,
            strip_default_attrs,
            saver,
        )

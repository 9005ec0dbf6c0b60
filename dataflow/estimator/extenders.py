"""Functions that extend an estimator or optimizer: clipped gradients, features among the predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.estimator.estimator import Estimator
from dataflow.estimator.export_outputs import PredictOutput
from dataflow.estimator.model_fn import EstimatorSpec
from dataflow.graph.tensor import Tensor
from dataflow.ops.clip import clip_by_global_norm
from dataflow.ops.sparse import convert_to_tensor_or_sparse_tensor, sparse_tensor_to_dense
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.train.optimizer import Optimizer


class _TransformGradients(Optimizer):
    """An optimizer whose gradients a function changes before they are applied."""

    def __init__(
        self,
        optimizer: Optimizer,
        transform_grads_fn: Callable[[Any], Any],
        name: str | None = None,
    ) -> None:
        super().__init__(False, name or optimizer.get_name())
        self._optimizer = optimizer
        self._transform_grads_fn = transform_grads_fn

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: Any = None
    ) -> Any:
        changed = self._transform_grads_fn(list(grads_and_vars))
        return self._optimizer.apply_gradients(changed, global_step, name)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        return self._optimizer.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        return self._optimizer.get_slot_names(*args, **kwargs)

    def variables(self) -> list[Any]:
        return self._optimizer.variables()


def clip_gradients_by_norm(optimizer: Optimizer, clip_norm: float) -> Optimizer:
    """An optimizer like this one whose gradients are scaled to a global norm of at most ``clip_norm``."""

    def clip(grads_and_vars: Any) -> list[tuple[Any, Any]]:
        gradients, variables = zip(*grads_and_vars, strict=True)
        return list(zip(clip_by_global_norm(gradients, clip_norm)[0], variables, strict=True))

    return _TransformGradients(optimizer, clip, f"ClipByNorm{optimizer.get_name()}")


def _checked_keys(keys: Any) -> list[str] | None:
    if keys is None:
        return None
    if isinstance(keys, str):
        return [keys]
    if not isinstance(keys, list | tuple):
        raise TypeError(f"keys should be either a string or a list of strings. Given: {type(keys)}")
    for key in keys:
        if not isinstance(key, str):
            raise TypeError(
                "All items in the given keys list should be a string. "
                f"There exist an item with type: {type(key)}"
            )
    return list(keys)


def _dense_feature(key: str, value: Any, default_values: dict[str, Any]) -> Tensor:
    feature = convert_to_tensor_or_sparse_tensor(value)
    if key in default_values:
        if not isinstance(feature, SparseTensor):
            raise ValueError(f"Feature ({key}) is expected to be a `SparseTensor`.")
        feature = sparse_tensor_to_dense(feature, default_value=default_values[key])
    if not isinstance(feature, Tensor):
        raise ValueError(
            f"Feature ({key}) should be a Tensor. Use the argument keys of forward_features to "
            f"leave it out, or name it in sparse_default_values. Type of features[{key}] is {type(feature)}."
        )
    return feature


def forward_features(
    estimator: Estimator, keys: Any = None, sparse_default_values: dict[str, Any] | None = None
) -> Estimator:
    """An estimator like this one whose predictions have features too: ``keys``, or all.

    Sparse ones become dense, with the values of ``sparse_default_values`` where they have none.
    Raises `TypeError` for keys that are not strings; `ValueError`, when the model is built, for a
    feature that is not there, is a prediction already, or is sparse and has no default value.
    """
    wanted = _checked_keys(keys)
    defaults = sparse_default_values or {}

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        spec: EstimatorSpec = estimator.model_fn(features, labels, mode, config)
        if spec.predictions is None:
            return spec
        if not isinstance(spec.predictions, dict):
            raise ValueError(
                "Predictions should be a dict to be able to forward features. "
                f"Given: {type(spec.predictions)}"
            )
        extra = {}
        for key in list(features) if wanted is None else wanted:
            if key not in features:
                raise ValueError(
                    f'keys should be exist in features. Key "{key}" is not in features dict. '
                    f"features dict has following keys: {list(features)}."
                )
            if key in spec.predictions:
                raise ValueError(
                    f"Cannot forward feature key ({key}). Since it does exist in predictions. "
                    f"Existing prediction keys: {list(spec.predictions)}."
                )
            extra[key] = _dense_feature(key, features[key], defaults)
        outputs = spec.export_outputs or {}
        for name in ("predict", "serving_default"):
            if isinstance(outputs.get(name), PredictOutput):
                outputs[name].outputs.update(extra)
        return spec._replace(predictions={**spec.predictions, **extra})

    return Estimator(model_fn, estimator.model_dir, estimator.config)

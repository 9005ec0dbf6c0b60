"""Where windows begin: at a model's start state, or at one that is given."""

from __future__ import annotations

from typing import Any

from dataflow.contrib.timeseries.keys import FilteringFeatures
from dataflow.estimator.model_fn import ModeKeys


class PassthroughStateManager:
    """Windows begin at the model's start state."""

    def initialize_graph(self, model: Any, input_statistics: Any = None) -> None:
        """Nothing is to be made."""

    def define_loss(self, model: Any, features: dict[str, Any], mode: str) -> Any:
        """The loss of the windows; raises `ValueError` for features with a state."""
        if FilteringFeatures.STATE_TUPLE in features:
            raise ValueError("Overriding start state is not supported for this model.")
        return model.define_loss(features, mode)


class FilteringOnlyStateManager(PassthroughStateManager):
    """Windows begin at the state among the features, if there is one, except in training."""

    def define_loss(self, model: Any, features: dict[str, Any], mode: str) -> Any:
        """The loss of the windows; raises `ValueError` for a state in training."""
        name = FilteringFeatures.STATE_TUPLE
        if name not in features:
            return model.define_loss(features, mode)
        if mode == ModeKeys.TRAIN:
            raise ValueError(
                "Overriding saved state for training is not supported (but a value for feature "
                f"{name} was specified)."
            )
        rest = {key: value for key, value in features.items() if key != name}
        return model.get_batch_loss(features=rest, mode=mode, state=features[name])

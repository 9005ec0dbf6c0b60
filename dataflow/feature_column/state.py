"""Where feature columns keep what they learn: `StateManager` and the two that are used."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from dataflow import dtypes
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops.seeds import count_left_out
from dataflow.ops.variable_scope import get_variable


class StateManager:
    """Makes and keeps the variables and resources (tables) of columns, by column and name."""

    def create_variable(
        self,
        feature_column: Any,
        name: str,
        shape: Any,
        dtype: DTypeLike | None = None,
        trainable: bool = True,
        use_resource: bool = True,
        initializer: Any = None,
    ) -> Any:
        """A new variable of ``feature_column``."""
        raise NotImplementedError("StateManager.create_variable")

    def add_variable(self, feature_column: Any, var: Any) -> None:
        """Takes a variable that exists."""
        raise NotImplementedError("StateManager.add_variable")

    def get_variable(self, feature_column: Any, name: str) -> Any:
        """The variable that was made under ``name``."""
        raise NotImplementedError("StateManager.get_variable")

    def add_resource(self, feature_column: Any, name: str, resource: Any) -> None:
        """Keeps a table."""
        raise NotImplementedError("StateManager.add_resource")

    def get_resource(self, feature_column: Any, name: str) -> Any:
        """The table that was kept under ``name``."""
        raise NotImplementedError("StateManager.get_resource")


class KeptState(StateManager):
    """Variables and resources in two dictionaries; subclasses say how a variable is made."""

    def __init__(self) -> None:
        self._variables: dict[Any, dict[str, Any]] = defaultdict(dict)
        self._resources: dict[Any, dict[str, Any]] = defaultdict(dict)

    def create_variable(
        self,
        feature_column: Any,
        name: str,
        shape: Any,
        dtype: DTypeLike | None = None,
        trainable: bool = True,
        use_resource: bool = True,
        initializer: Any = None,
    ) -> Any:
        """A new variable of ``feature_column``; raises `ValueError` where it has one of this name."""
        if name in self._variables[feature_column]:
            raise ValueError(f"Variable already exists: {name} of {feature_column}.")
        made = self._make(name, shape, dtype or dtypes.float32, trainable, initializer)
        self._variables[feature_column][name] = made
        return made

    def _make(self, name: str, shape: Any, dtype: Any, trainable: bool, initializer: Any) -> Any:
        raise NotImplementedError

    def get_variable(self, feature_column: Any, name: str) -> Any:
        """The variable that was made under ``name``; raises `ValueError` where there is none."""
        if name not in self._variables[feature_column]:
            raise ValueError(f"Variable does not exist: {name} of {feature_column}.")
        return self._variables[feature_column][name]

    def add_resource(self, feature_column: Any, name: str, resource: Any) -> None:
        """Keeps a table."""
        self._resources[feature_column][name] = resource

    def get_resource(self, feature_column: Any, name: str) -> Any:
        """The table that was kept under ``name``; raises `ValueError` where there is none."""
        if name not in self._resources[feature_column]:
            raise ValueError(f"Resource does not exist: {name} of {feature_column}.")
        return self._resources[feature_column][name]


class ScopedState(KeptState):
    """Variables in the variable scope that is open: those of `input_layer` and `linear_model`.

    A column's variables are made when it asks for one.
    """

    def __init__(self, weight_collections: Any = None, trainable: bool | None = True) -> None:
        super().__init__()
        self.weight_collections = weight_collections
        self.trainable = trainable is None or trainable

    def _make(self, name: str, shape: Any, dtype: Any, trainable: bool, initializer: Any) -> Any:
        return get_variable(
            name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            trainable=self.trainable and trainable,
            collections=self.weight_collections,
        )

    def get_variable(self, feature_column: Any, name: str) -> Any:
        """The variable ``name``, made now if need be."""
        if name not in self._variables[feature_column]:
            feature_column.create_state(self)
        return super().get_variable(feature_column, name)


class ResourceState(ScopedState):
    """Variables in the variable scope that is open, of models whose variables TensorFlow makes as resources."""

    def _make(self, name: str, shape: Any, dtype: Any, trainable: bool, initializer: Any) -> Any:
        made = super()._make(name, shape, dtype, trainable, initializer)
        count_left_out(1)  # whether it is initialized is a node of its own there
        return made

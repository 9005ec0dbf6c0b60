"""`HParams`: the hyperparameters of a model by name, with fixed types."""

from __future__ import annotations

import json
import re
from typing import Any

from dataflow.contrib.hparam_def import hparam_def as message_of, values_of
from dataflow.graph.type_aliases import TensorLike

#: ``name=value``, ``name[3]=value`` or ``name=[a,b]``, up to a comma.
_ASSIGNMENT = re.compile(
    r"\s*(?P<name>[a-zA-Z][\w.]*)(?:\[(?P<index>\d+)\])?\s*=\s*"
    r"(?:\[(?P<items>[^\]]*)\]|(?P<value>[^,\[]*))\s*(?:,|$)"
)


def _converted(name: str, kind: type, value: Any) -> Any:
    """``value`` in the type of a hyperparameter; raises `ValueError` where it would lose something."""
    if kind is type(None) or value is None:
        return value
    if kind is bool and not isinstance(value, bool):
        raise ValueError(f"Could not cast hparam {name!r} of type {kind} from value {value!r}")
    if kind is str and not isinstance(value, str):
        raise ValueError(f"Could not cast hparam {name!r} of type {kind} from value {value!r}")
    number = isinstance(value, (int, float)) or hasattr(value, "dtype")
    if issubclass(kind, (int, float)) and not number:
        raise ValueError(f"Could not cast hparam {name!r} of type {kind} from value {value!r}")
    if kind is int and not float(value).is_integer():
        raise ValueError(f"Could not cast hparam {name!r} of type {kind} from value {value!r}")
    if kind is int and isinstance(value, (bool, float)):
        raise ValueError(f"Could not cast hparam {name!r} of type {kind} from value {value!r}")
    return kind(value) if kind in (int, float, str, bool) else value


def _parsed(name: str, kind: type, text: str) -> Any:
    text = text.strip()
    if kind is bool:
        if text.lower() in ("true", "1", "false", "0"):
            return text.lower() in ("true", "1")
        raise ValueError(f"Could not parse hparam of type 'bool' named {name!r} from {text!r}")
    try:
        return kind(text) if kind is not type(None) else text
    except ValueError as error:
        raise ValueError(
            f"Could not parse hparam of type {kind.__name__!r} named {name!r} from {text!r}"
        ) from error


def parse_values(
    values: str, type_map: dict[str, type], ignore_unknown: bool = False
) -> dict[str, Any]:
    """What a text such as ``"lr=0.3,layers=[32,32],names[1]=a"`` assigns, in the types of ``type_map``.

    By name: a value, a list of values, or for single elements ``{index: value}``. Names that ``type_map`` lacks are
    passed over with ``ignore_unknown``. Raises `ValueError` for them otherwise, for text of another form or another
    type, and for a name or an element that is assigned twice.
    """
    at = 0
    found: dict[str, Any] = {}
    while at < len(values):
        match = _ASSIGNMENT.match(values, at)
        if match is None or match.end() == at:
            raise ValueError(f"Malformed hyperparameter value: {values[at:]}")
        at = match.end()
        name, index = match["name"], match["index"]
        kind = type_map.get(name)
        if kind is None:
            if ignore_unknown:
                continue
            raise ValueError(f"Unknown hyperparameter type for {name}")
        if name in found and (index is None or not isinstance(found[name], dict)):
            raise ValueError(f"Multiple assignments to variable {name!r} in {values!r}")
        if match["items"] is not None:
            if index is not None:
                raise ValueError(f"Assignment of a list to a list index: {name}[{index}]")
            items = [text for text in match["items"].split(",") if text.strip()]
            found[name] = [_parsed(name, kind, text) for text in items]
        elif index is None:
            found[name] = _parsed(name, kind, match["value"])
        else:
            elements = found.setdefault(name, {})
            if int(index) in elements:
                raise ValueError(
                    f"Multiple assignments to variable '{name}[{index}]' in {values!r}"
                )
            elements[int(index)] = _parsed(name, kind, match["value"])
    return found


class HParams:
    """Hyperparameters as attributes: ``HParams(lr=0.1, layers=[64, 64])``.

    The type of each is that of its first value (for lists, of the elements): setting another one raises
    `ValueError`. `parse` overrides them by a text such as ``"lr=0.3,layers=[32,32]"``.
    """

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **kwargs: Any) -> None:
        self._types: dict[str, tuple[type, bool]] = {}
        self._model_structure = model_structure
        if hparam_def is not None:
            # TensorFlow asserts it, and programs ask for the same class.
            if type(hparam_def).__name__ != "HParamDef":
                raise AssertionError(f"hparam_def must be an HParamDef message, got {hparam_def!r}")
            kwargs = dict(values_of(hparam_def))
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: TensorLike) -> None:
        """Adds one; raises `ValueError` for a name that is taken and for an empty list."""
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        if isinstance(value, (list, tuple)):
            if not value:
                raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
            self._types[name] = (type(value[0]), True)
        else:
            self._types[name] = (type(value), False)
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Changes one; raises `KeyError` for an unknown name, `ValueError` for another type."""
        kind, is_list = self._types[name]
        if isinstance(value, list) != is_list and value is not None:
            wanted = "a list" if is_list else "a single value"
            raise ValueError(f"hparam {name!r} must be {wanted}, got {value!r}")
        if is_list and value is not None:
            value = [_converted(name, kind, item) for item in value]
        else:
            value = _converted(name, kind, value)
        setattr(self, name, value)

    def del_hparam(self, name: str) -> None:
        """Removes one, if it is there."""
        if hasattr(self, name):
            delattr(self, name)
            del self._types[name]

    def parse(self, values: str) -> HParams:
        """Overrides from ``"name=value,name=[a,b],name[1]=c"``; raises `ValueError` for bad text."""
        kinds = {name: kind for name, (kind, _) in self._types.items()}
        items = parse_values(values, kinds)
        for name, value in items.items():
            is_list = self._types[name][1]
            if isinstance(value, dict):
                if not is_list:
                    raise ValueError(f"hparam {name!r} is a single value, and has no elements")
                items[name] = changed = list(getattr(self, name))
                for index, item in value.items():
                    changed.extend([None] * (index + 1 - len(changed)))
                    changed[index] = item
        return self.override_from_dict(items)

    def override_from_dict(self, values_dict: dict[str, Any]) -> HParams:
        """Overrides from a dict; as `set_hparam` for each."""
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def set_from_map(self, values_map: dict[str, Any]) -> HParams:
        """The older name of `override_from_dict`."""
        return self.override_from_dict(values_map)

    def parse_json(self, values_json: str) -> HParams:
        """Overrides from the text of a JSON object."""
        return self.override_from_dict(json.loads(values_json))

    def to_json(
        self,
        indent: Any = None,
        separators: Any = None,
        sort_keys: bool = False,
    ) -> str:
        """All of them as a JSON object; those that are functions are left out."""
        kept = {name: value for name, value in self.values().items() if not callable(value)}
        return json.dumps(kept, indent=indent, separators=separators, sort_keys=sort_keys)

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The message ``HParamDef``, from which ``HParams(hparam_def=)`` makes them again."""
        return message_of(self.values(), self._types)

    def values(self) -> dict[str, Any]:
        """A dict of all."""
        return {name: getattr(self, name) for name in self._types}

    def get(self, key: str, default: Any = None) -> Any:
        """The value of ``key``, or the default, which has to be of its type (`ValueError`)."""
        if key not in self._types:
            return default
        kind, is_list = self._types[key]
        if default is not None:
            items = default if isinstance(default, list) else [default]
            if is_list != isinstance(default, list) or any(
                type(item) is not kind for item in items
            ):
                wanted = f"a list of {kind.__name__}" if is_list else kind.__name__
                raise ValueError(f"the default of hparam {key!r} must be {wanted}, got {default!r}")
        return getattr(self, key)

    def set_model_structure(self, model_structure: Any) -> None:
        """Keeps a description of the model."""
        self._model_structure = model_structure

    def get_model_structure(self) -> Any:
        """What `set_model_structure` kept."""
        return self._model_structure

    def __contains__(self, key: str) -> bool:
        return key in self._types

    def __str__(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self.values().items())

    def __repr__(self) -> str:
        return f"HParams({sorted(self.values().items())!s})"

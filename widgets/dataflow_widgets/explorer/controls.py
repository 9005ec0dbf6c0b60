"""Controls of an explorer: ipywidgets say what they are, the page draws them.

A control is one of ipywidgets' own: `IntSlider`, `FloatSlider`, `FloatLogSlider`, `Dropdown`,
`ToggleButtons` or `Checkbox`. Its ``value`` and the explorer's move together, so it can also be
displayed by itself, observed, or linked with another widget.
"""

from __future__ import annotations

import math
from typing import Any

import ipywidgets


def control_spec(name: str, control: Any) -> dict[str, Any]:
    """What the page needs to draw ``control``. Raises `TypeError` for a control it cannot draw."""
    label = control.description or name.replace("_", " ")
    common = {"name": name, "label": label, "help": control.tooltip or ""}
    if isinstance(control, ipywidgets.FloatLogSlider):
        least, most = control.base**control.min, control.base**control.max
        return common | {"form": "slider", "min": least, "max": most, "step": 0, "log": True}
    if isinstance(control, ipywidgets.FloatSlider | ipywidgets.IntSlider):
        whole = isinstance(control, ipywidgets.IntSlider)
        limits = {"min": control.min, "max": control.max, "step": control.step}
        return common | {"form": "slider", **limits, "log": False, "whole": whole}
    if isinstance(control, ipywidgets.Dropdown | ipywidgets.ToggleButtons):
        form = "choice" if isinstance(control, ipywidgets.Dropdown) else "toggles"
        return common | {"form": form, "options": labels(control)}
    if isinstance(control, ipywidgets.Checkbox):
        return common | {"form": "check"}
    raise TypeError(
        f"the control {name!r} is a {type(control).__name__}; an explorer takes IntSlider, "
        "FloatSlider, FloatLogSlider, Dropdown, ToggleButtons and Checkbox of ipywidgets"
    )


def labels(control: Any) -> list[str]:
    """The texts of a choice's options, which are values, pairs (text, value), or a dictionary."""
    return [str(o[0]) if isinstance(o, tuple) and len(o) == 2 else str(o) for o in control.options]


def shown_value(control: Any) -> Any:
    """The value as the page holds it: of a choice, the text of the option."""
    return str(control.label) if hasattr(control, "options") else control.value


def accept(name: str, control: Any, value: Any) -> Any:
    """Sets ``control`` to a value that the page or a caller gave, and returns what it became.

    A slider's value is brought within its limits. Raises `ValueError` for what is no value of it.
    """
    if hasattr(control, "options"):
        texts, text = labels(control), str(value)
        if text not in texts:
            raise ValueError(f"{name} is one of {', '.join(texts)}; got {value!r}")
        control.index = texts.index(text)
    elif isinstance(control, ipywidgets.Checkbox):
        if not isinstance(value, bool):
            raise ValueError(f"{name} is True or False; got {value!r}")
        control.value = value
    else:
        control.value = _number(name, control, value)
    return shown_value(control)


def _number(name: str, control: Any, value: Any) -> float | int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{name} is a number; got {value!r}")
    least, most = control.min, control.max
    if isinstance(control, ipywidgets.FloatLogSlider):
        least, most = control.base**least, control.base**most
    value = min(max(value, least), most)
    return round(value) if isinstance(control, ipywidgets.IntSlider) else float(value)

"""States of an explorer that a notebook keeps, so that its controls move something without a kernel."""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow_widgets.explorer.controls import control_spec
from dataflow_widgets.explorer.panels import encode

if TYPE_CHECKING:
    from dataflow_widgets.explorer.base import Explorer

_RECORD_CHARS = 150_000  # what a notebook keeps of one explorer at most, as base64


def recorded_states(explorer: Explorer, positions: int, ticks: int) -> Generator[None, None, str]:
    """Computes the states that `Explorer.record` keeps, a step at a time; returns them packed.

    Of what is too large every second state goes; "" where one alone is.
    """
    states = []
    last = ticks - 1 if explorer.plays else 0
    twin = explorer.twin()
    for tick in range(last + 1):
        states.append(_state_of(twin, tick))
        yield
        for _ in range(explorer.record_steps // max(1, last) if tick < last else 0):
            twin.step()
            yield
    twin.close()
    for name, control in explorer.controls.items():
        for value in spread(control_spec(name, control), positions):
            if value == explorer.values[name]:
                continue
            moved = explorer.twin(**{name: value})
            for _ in range(explorer.record_steps if explorer.plays else 0):
                moved.step()
                yield
            states.append(_state_of(moved, last))
            moved.close()
            yield
    while len(text := _pack(states)) > _RECORD_CHARS and len(states) > 1:
        states = states[::2]
    return text if len(text) <= _RECORD_CHARS else ""


def _state_of(explorer: Explorer, tick: int) -> dict[str, Any]:
    panels, buffers = encode(explorer.frame())
    return {
        "values": dict(explorer.values),
        "tick": tick,
        "sentence": explorer.sentence(),
        "panels": _inline(panels, buffers),
    }


def _pack(states: list[dict[str, Any]]) -> str:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    text = json.dumps(states, separators=(",", ":")).encode()
    return base64.b64encode(packer.compress(text) + packer.flush()).decode()


def spread(spec: Mapping[str, Any], count: int) -> list[Any]:
    """Values of a control to record: of a slider ``count`` from end to end, of a choice all."""
    if spec["form"] in ("choice", "toggles"):
        return list(spec["options"])
    if spec["form"] == "check":
        return [False, True]
    least, most = spec["min"], spec["max"]
    at = [i / (count - 1) if count > 1 else 0.5 for i in range(count)]
    if spec["log"]:
        values = [math.exp(math.log(least) + t * (math.log(most) - math.log(least))) for t in at]
    else:
        values = [least + t * (most - least) for t in at]
    return [round(v) for v in values] if spec.get("whole") else values


def _inline(value: Any, buffers: Sequence[bytes]) -> Any:
    """The arrays of a frame written into its JSON, in 255 steps between their least and most."""
    if isinstance(value, dict):
        if "$" not in value:
            return {key: _inline(item, buffers) for key, item in value.items()}
        array = np.frombuffer(buffers[value["$"]], np.float32)
        finite = array[np.isfinite(array)]
        least, most = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
        scale = (most - least) or 1.0
        steps = np.where(np.isfinite(array), 1 + np.round((array - least) / scale * 254), 0)
        text = base64.b64encode(np.nan_to_num(steps).astype(np.uint8).tobytes()).decode()
        return {"q": text, "least": least, "scale": scale, "shape": value["shape"]}
    if isinstance(value, list):
        return [_inline(item, buffers) for item in value]
    return value

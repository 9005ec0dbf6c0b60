"""Explorers: pictures that the engine computes anew while their controls move.

`Explorer` is the base for one of your own, `Plot`, `HeatMap`, `Images`, `Bars`, `Tokens`, `Lanes`,
`Network`, `Matrix` and `Numbers` are its pictures, `Challenge` is something to find.
"""

from __future__ import annotations

from dataflow_widgets.explorer.base import Explorer
from dataflow_widgets.explorer.challenges import Challenge
from dataflow_widgets.explorer.panels import (
    Bars,
    HeatMap,
    Images,
    Lanes,
    Matrix,
    Network,
    Numbers,
    Panel,
    Plot,
    Tokens,
)

__all__ = [
    "Bars",
    "Challenge",
    "Explorer",
    "HeatMap",
    "Images",
    "Lanes",
    "Matrix",
    "Network",
    "Numbers",
    "Panel",
    "Plot",
    "Tokens",
]

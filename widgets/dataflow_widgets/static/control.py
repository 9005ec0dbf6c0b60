"""What the nodes of loops and conditions do, in the few words that stand in the node, and what an open scope of them is.

The same words as ``shared/control.js`` and ``shared/measure.js``; a test compares them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

WORDS = {
    "Enter": "comes in",
    "constant": "always the same",
    "LoopCond": "once more?",
    "NextIteration": "next iteration",
    "Exit": "goes out",
    "loopMerge": "first or next",
    "loopSwitch": "on or out",
    "condMerge": "from one branch",
    "condSwitch": "to one branch",
}
NATURES = {"loop": "while loop", "cond": "two branches"}


def control_words(
    node: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]], names: Mapping[str, int]
) -> str:
    """The words of a node of a loop or a condition; empty for another one."""
    kind = re.sub(r"^Ref(?=Switch|Merge|Enter|Exit|NextIteration)", "", node["op"])

    def type_of(text: str) -> str:
        source = names.get(text.rpartition(":")[0] or text)
        return "" if source is None else str(nodes[source]["op"])

    inputs = [text for text in node["inputs"] if not text.startswith("^")]
    if kind == "Enter" and str((node.get("attrs") or {}).get("is_constant")) == "True":
        kind = "constant"
    elif kind == "Merge":
        loops = any(type_of(text).endswith("NextIteration") for text in inputs)
        kind = "loopMerge" if loops else "condMerge"
    elif kind == "Switch":
        loops = len(inputs) > 1 and type_of(inputs[1]) == "LoopCond"
        kind = "loopSwitch" if loops else "condSwitch"
    return WORDS.get(kind, "")


def nature(types: Iterable[str]) -> str:
    """What a scope with ops of these types is, in words: a loop, the branches of a condition, or nothing of that kind."""
    held = set(types)
    if held & {"LoopCond", "While"}:
        return NATURES["loop"]
    return NATURES["cond"] if {"Merge", "Switch"} <= held or "If" in held else ""

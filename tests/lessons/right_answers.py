"""The answers to the lessons' questions that their texts and explanations take to be right.

The engine grades an answer from a run, and a text is written by hand: here both have to agree. An answer
is what `Predict.answer` takes: node names, row numbers or chosen texts in a list, or a value as typed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.course.variants import current, drawn
from tests.lessons.stated_numbers import found, published

#: Runs after a question's cell, whose last value is the widget; publishes what `verdict` gives.
ASK = "from tests.lessons import right_answers as _right_answers; " + published(
    "_right_answers.verdict(list(Out.values())[-1])"
)

RIGHT: dict[str, Any] = {
    "lesson00.q1": ["once"],
    "lesson00.q2": "[10]",
    "lesson01.q1": ["a tensor's name, shape and dtype"],
    "lesson01.q2": ["a batch of pictures with their labels"],
    "lesson01.q3": ["Add", "Add/x", "Add/y", "Add_1", "Add_1/y"],
    "lesson01.q4": ["(4, 3)"],
    "lesson02.q1": ["Add_1:0"],
    "lesson02.q2": ["useless"],
    "lesson02.q3": ["x", "y", "add_op", "mul_op", "pow_op"],
    "lesson02.q4": ["mul_op", "pow_op", "y"],
    "lesson03.q1": ["400"],
    "lesson03.q2": ["three times"],
    "lesson03.q3": ["(?, 2)"],
    "lesson03.q4": "5",
    "lesson03.q5": ["a"],
    "lesson04.q1": "3",
    "lesson04.q2": ["three numbers: shape (3,)"],
    "lesson04.q3": ["doubled", "doubled/y", "v/read"],
    "lesson04.q4": ["seven", "write", "later", "answer"],
    "lesson04.q5": [1],
    "lesson05.q1": "6",
    "lesson05.q2": "6",
    "lesson05.q3": ["a", "b", "d", "gradients/AddN", "gradients/a_grad/Mul_1"],
    "lesson05.q4": ["0.001498"],
    "lesson06.q1": "[[0, 1], [0, 1]]",
    "lesson06.q2": "0.6",
    "lesson06.q3": ["8"],
    "lesson06.q4": ["OneShotIterator", "total"],
    "lesson07.q1": ["6 and 5"],
    "lesson07.q2": "[[4.2, 0, 1, 0]]",
    "lesson07.q3": "193",
    "lesson07.q4": ["29"],
    "lesson07.q5": ["Cast", "Const", "hits", "label", "share"],
    "lesson08.q1": ["nothing"],
    "lesson08.q2": ["nan"],
    "lesson08.q3": ["none: it is an error"],
    "lesson08.q4": ["(?, 14, 14, 8)"],
    "lesson08.q5": ["rises by more than a twentieth"],
    "lesson09.q1": "5",
    "lesson09.q2": ["about 2.3"],
    "lesson09.q3": [
        "save/SaveV2",
        "save/SaveV2/shape_and_slices",
        "save/SaveV2/tensor_names",
        "save/control_dependency",
        "save/filename",
        "save/filename/input",
        "v/Assign",
        "v/initial_value",
        "v/read",
    ],
    "lesson10.q1": ["by their names in the graph"],
    "lesson10.q2": ["(?, 32)"],
    "lesson10.q3": "3",
    "lesson10.q4": ["embeddings alone"],
    "lesson11.q1": ["6"],
    "lesson11.q2": ["(?, 7, 1, 8)"],
    "lesson11.q3": ["No, logits do not need it"],
    "lesson11.q4": ["It gets better: friendly words stay together"],
    "lesson12.q1": ["no: both means are the same"],
    "lesson12.q2": ["three: one for each step"],
    "lesson12.q3": ["about 0.01"],
    "lesson13.q1": ["about 0.1"],
    "lesson13.q2": ["choose/minus", "choose/switch_f", "choose/times", "choose/times/y"],
    "lesson13.q3": "1",
    "lesson13.q4": ["seven times"],
    "lesson13.q5": ["the run waits until there is a place"],
    "lesson14.q1": ["yes: it was made outside of the branch"],
    "lesson14.q2": ["day", "day/y", "hour", "hour/x", "hour/y", "right"],
    "lesson14.q3": ["two"],
    "lesson15.q1": ["one"],
    "lesson15.q2": ["y", "z"],
    "lesson15.q3": ["3"],
    "lesson16.q1": ["the processor"],
    "lesson16.q2": ["reduce_0/count", "reduce_0/gather", "reduce_1/count", "reduce_1/gather"],
    "lesson16.q3": ["reduce_1/count", "reduce_1/gather", "reduce_1/gather/axis"],
    "lesson16.q4": ["Ever more slowly, as most words have been seen before"],
    "lesson17.q1": ["4"],
    "lesson17.q2": ["w", "w/Assign", "w/initial_value", "w/read"],
    "lesson17.q3": [1],
    "lesson18.q1": "95",
    "lesson18.q2": ["what the first session left"],
    "lesson18.q3": ["w0", "w0/Assign", "w0/read", "w2", "w2/Assign", "w2/read"],
    "lesson18.q4": [1, 2, 4],
    "lesson18.q5": ["nearly 1,000"],
    "lesson19.q1": ["about 7"],
    "lesson19.q2": ["hidden"],
    "lesson19.q3": ["Every piece is a message, and that takes time"],
    "lesson19.q4": ["(?, 16)", "float32"],
    "lesson19.q5": ["By layer, and by data"],
    "lesson20.q1": ["5"],
    "lesson20.q2": ["table"],
    "lesson20.q3": ["at a step before that, but not at 0"],
    "lesson21.q1": "7",
    "lesson21.q2": ["1,024 times"],
    "lesson21.q3": ["h"],
    "lesson21.q4": ["forward mode: 3 walks"],
    "lesson22.q1": ["once for each step in between"],
    "lesson22.q2": ["about 8"],
    "lesson22.q3": "[0.5, 0.5, 0, 0]",
    "lesson22.q4": ["7 back"],
    "lesson23.q1": ["a third as fast"],
    "lesson23.q2": ["worker 3"],
    "lesson23.q3": ["nearly 2"],
    "lesson24.q1": ["one or two"],
    "lesson24.q2": "112",
    "lesson24.q3": ["8: eight results kept, and eight computed again"],
    "lesson24.q4": ["worker0/part", "worker1/part"],
    "lesson25.q1": ["about half as long: half as many bytes move"],
    "lesson25.q2": "2048",
    "lesson25.q3": ["it learns as in float32"],
    "lesson26.q1": ["which ops there are, what to feed, what to fetch"],
    "lesson26.q2": ["the weights"],
    "lesson26.q3": "8000",
}

#: The same for questions whose answer depends on the variant: a function of its values.
VARIED: dict[str, Callable[[Any], Any]] = {
    "lesson00.q2": lambda v: f"[{float(v.factor):g}]",
    "lesson03.q4": lambda v: f"{(v.a**2 + v.b**2) ** 0.5:g}",
    "lesson05.q2": lambda v: str(2 * v.level),
    "lesson06.q2": lambda v: f"{0.2 * v.goal:g}",
    "lesson06.q3": lambda v: [str(-(-v.count * v.repeats // v.size))],
    "lesson07.q2": lambda v: (
        f"[[{v.petal}, {int(float(v.petal) < 2)}, {int(2 <= float(v.petal) < 5)}, "
        f"{int(float(v.petal) >= 5)}]]"
    ),
    "lesson08.q4": lambda v: [f"(?, {v.side // 2}, {v.side // 2}, {v.filters})"],
    "lesson09.q1": lambda v: str(v.offset),
    "lesson11.q1": lambda v: [str(2 * (len(v.words.split()) - 1))],
    "lesson12.q3": lambda v: [{"0.9": "about 0.01", "0.95": "about 0.1", "0.98": "about 0.4"}[v.w]],
    "lesson16.q1": lambda v: [
        f"the card: it adds {v.times} times as fast"
        if float(v.copy) + float(v.card) < float(v.cpu)
        else "the processor"
    ],
    "lesson17.q1": lambda v: [str(len(set(v.first.split())) + len(set(v.second.split())))],
    "lesson19.q1": lambda v: [f"about {v.others}"],
    "lesson20.q1": lambda v: [str(v.stages + v.pieces - 1)],
    "lesson21.q1": lambda v: str(2 * v.x + v.k),
    "lesson21.q2": lambda v: [f"{2**v.num:,} times"],
    "lesson22.q2": lambda v: [f"about {v.d**0.5:g}"],
    "lesson23.q1": lambda v: [f"a {v.ordinal} as fast"],
    "lesson23.q2": lambda v: [f"worker {(v.chunk + 3) % 4}"],
    "lesson24.q2": lambda v: str(16 * v.billions),
    "lesson25.q2": lambda v: str(v.large),
    "lesson26.q3": lambda v: f"{v.size * 1000 / v.ms:g}",
}


def right_answer(name: str) -> Any:
    """The answer in the variant of this kernel."""
    return VARIED[name](drawn(name)) if name in VARIED and current() else RIGHT[name]


def verdict(widget: Any) -> list[Any]:
    """How the engine grades the answer that the text takes to be right: name, whether right, words."""
    words = widget.answer(right_answer(widget.name))
    return [widget.name, widget.answers[-1]["right"], words]


def contradiction(cell: Any) -> list[str]:
    """What a cell of `ASK` that ran says against the text, as sentences."""
    name, right, words = found(cell)
    return [] if right else [f"{name}: the text takes {RIGHT[name]!r} to be right. {words}"]

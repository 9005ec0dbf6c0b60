"""How a check is written, and what it says.

    @exercise("look there", "think this", "nearly the code")
    def ex1(tensor):
        expect(tensor.shape.as_list() == [5, 7], f"the shape is {tensor.shape}, needed (5, 7)")
        return "Right: rows of the first, columns of the second."

In a variant of the lesson (`dataflow.course.variants`) a check takes its numbers from ``drawn("lesson05.ex1")``;
a hint that names one is a function of them: ``lambda v: f"the sum is {v.total}"``.

The check says right and why, or what is wrong, with the first hint at the first wrong try, the second at
the second, and the third from then on. An answer that is still ``...`` is not a try, and one of the wrong
type (`expect_type`) costs no hint: it says what was got and what is needed, and is not kept.
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import math
import signal
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from numbers import Real
from typing import Any, NoReturn

from dataflow.course import attempts as records
from dataflow.course.translations import translate, translate_hint
from dataflow.course.variants import drawn

#: How long a check may take before it says that the answer never ends. The longest takes a tenth of that.
LIMIT_SECONDS = 120.0

#: A hint, or what makes it of the values of this variant.
Hint = str | Callable[[Any], str]


class WrongAnswer(Exception):
    """What is wrong with an answer, in words for the learner."""


class WrongType(WrongAnswer):
    """An answer that is not of the kind asked for: no try."""


class StillOpen(Exception):
    """There is nothing to check yet."""


class _NoEnd(BaseException):
    """The check took too long. (No Exception, so that a learner's ``except Exception`` lets it through.)"""


def begun(
    condition: Any,
    message: str = "Nothing to check yet: put your answer in place of the dots.",
) -> None:
    """Ends the check as "nothing to check yet" unless ``condition`` holds: an empty graph, say."""
    if not condition:
        raise StillOpen(message)


def expect(condition: Any, message: str) -> None:
    """Ends the check with what is wrong, unless ``condition`` holds."""
    if not condition:
        raise WrongAnswer(message)


def expect_type(condition: Any, message: str) -> None:
    """As `expect`, for what an answer is rather than whether it is right; this try costs no hint."""
    if not condition:
        raise WrongType(message)


def expect_tensor(name: str, value: Any) -> None:
    """`expect_type` for a tensor; ``name`` is what the message calls it."""
    from dataflow.graph.tensor import Tensor

    expect_type(isinstance(value, Tensor), f"{name} is {type(value).__name__}, needed a tensor")


def expect_number(name: str, value: Any) -> float:
    """`expect_type` for one number, of Python or NumPy, also in an array without an axis; returns it as a float."""
    plain = value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value
    expect_type(isinstance(plain, Real), f"{name} is {value!r}, needed a number")
    try:
        return float(plain)
    except OverflowError:  # A whole number of Python has no largest.
        return math.inf if plain > 0 else -math.inf


def expect_whole(name: str, value: Any) -> int:
    """`expect_type` for one whole number, also as a float such as 71.0 or in an array without an axis; returns
    it as an int.
    """
    plain = value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value
    whole = isinstance(plain, Real) and not isinstance(plain, bool) and plain % 1 == 0
    expect_type(whole, f"{name} is {value!r}, needed a whole number")
    return int(plain)


def wrong(message: str) -> NoReturn:
    """Ends the check with what is wrong."""
    raise WrongAnswer(message)


_LOOKS = {
    "right": ("✓", "Right", "#1a7f37"),
    "wrong": ("✗", "Not yet", "#b35900"),
    "open": ("…", "Open", "#59636e"),
}


@dataclass(frozen=True)
class Verdict:
    """What a check says: ``state`` is "right", "wrong" or "open" (nothing to check yet).

    True in a condition when right. Its rich display carries the attempts, which is how they get
    into the notebook.
    """

    name: str
    state: str
    words: str
    hint: str = ""
    attempts: tuple[records.Attempt, ...] = ()

    def __bool__(self) -> bool:
        return self.state == "right"

    def __repr__(self) -> str:
        sign, word, _ = _LOOKS[self.state]
        word, words = translate(word), translate(self.words)
        if not words.startswith(word):  # "Right: ..." needs no second "Right"
            # Most go on in small letters, or begin with a name of the learner's.
            words = f"{word}{'.' if not words or words[0].isupper() else ':'} {words}".rstrip()
        text = f"{sign} {words}"
        if not self.hint:
            return text
        return f"{text}\n  {translate_hint(self.hint)}"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        color = _LOOKS[self.state][2]
        head, _, rest = repr(self).partition("\n")
        html = (
            f'<div role="status" style="border-left:4px solid {color};padding:4px 12px;'
            f'white-space:pre-wrap">{escape(head)}'
            + (f"\n<em>{escape(rest.strip())}</em>" if rest else "")
            + "</div>"
        )
        record = {"exercise": self.name, "attempts": list(self.attempts)}
        return {"text/plain": repr(self), "text/html": html, records.MIME: record}


def exercise(*hints: Hint) -> Callable[[Callable[..., str]], Callable[..., Verdict]]:
    """Makes a check of a function that returns why the answer is right, or calls `expect`.

    ``hints`` are three: where to look, what to think, nearly the code. The exercise is called after its
    module and function, ``lesson05.ex2``. What the learner's own code raises while it is tried is
    told as part of the verdict; calling the check with the wrong number of arguments is a
    `TypeError`, as for any function. Where a parameter is annotated ``Callable[[int, float], Any]``, what is
    no function, or cannot be called with two arguments, is told before the check begins, and costs no hint.
    """
    if len(hints) != 3:
        raise ValueError(
            f"an exercise has three hints (look there; think this; nearly the code), got {len(hints)}"
        )

    def decorate(function: Callable[..., str]) -> Callable[..., Verdict]:
        name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        signature = inspect.signature(function)

        @functools.wraps(function)
        def check(*args: Any, **kwargs: Any) -> Verdict:
            given = signature.bind(*args, **kwargs).arguments
            try:
                begun(not any(is_blank(value) for value in given.values()))
                for parameter, value in given.items():
                    _expect_function(parameter, value, signature.parameters[parameter].annotation)
                with limited(LIMIT_SECONDS):
                    words = function(*args, **kwargs)
            except StillOpen as e:
                return Verdict(name, "open", str(e), attempts=tuple(records.earlier(name)))
            except WrongType as e:
                words = f"{e}. This try costs no hint."
                return Verdict(name, "wrong", words, attempts=tuple(records.earlier(name)))
            except WrongAnswer as e:
                return _not_yet(name, str(e), hints)
            except (KeyboardInterrupt, _NoEnd) as e:
                words = f"your answer had not come to an end when it was stopped{_place(e)}: is there a loop that never ends?"
                return _not_yet(name, words, hints)
            except Exception as e:  # the learner's code failed while it was tried
                return _not_yet(name, _failure_words(e), hints)
            known = records.add(name, {"right": True, "words": words})
            return Verdict(name, "right", words, attempts=tuple(known))

        return check

    return decorate


def _expect_function(name: str, value: Any, annotation: Any) -> None:
    """`expect_type` for a function that takes as many arguments as ``annotation`` says, the source of one."""
    if not str(annotation).startswith("Callable["):
        return
    expect_type(callable(value), f"{name} is {type(value).__name__}, needed a function")
    needed = _num_arguments(annotation)
    if needed is None:
        return
    try:
        own = inspect.signature(value)
    except (TypeError, ValueError):  # Some of those that are written in C have none.
        return
    try:
        own.bind(*[None] * needed)
    except TypeError:
        expect_type(
            False,
            f"your function is {name}{own}, and the check calls it with this many arguments: {needed}",
        )


@functools.cache
def _num_arguments(annotation: str) -> int | None:
    """How many arguments ``Callable[[int, float], Any]`` takes; ``None`` for ``Callable[..., Any]``."""
    body = ast.parse(annotation, mode="eval").body
    assert isinstance(body, ast.Subscript) and isinstance(body.slice, ast.Tuple), annotation
    arguments = body.slice.elts[0]
    return len(arguments.elts) if isinstance(arguments, ast.List) else None


def _not_yet(name: str, words: str, hints: tuple[Hint, ...]) -> Verdict:
    before = records.num_wrong(records.earlier(name))
    told = hints[min(before, len(hints) - 1)]
    hint = told if isinstance(told, str) else told(drawn(name))
    known = records.add(name, {"right": False, "words": words})
    if before >= len(hints):
        hint += " " + "(A solution is at the end of the lesson, unless your teacher took it out.)"
    return Verdict(name, "wrong", words, hint, tuple(known))


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Ends the check as wrong where what is inside takes longer: "your answer had not come to an end".

    Every check has a limit; this is for less, where a loop that never ends is a likely mistake. It needs the
    system's alarm, which only the main thread has: there the kernel runs cells. Elsewhere nothing is limited.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(
        signal, "setitimer"
    ):
        yield
        return

    def ring(number: int, frame: Any) -> None:
        raise _NoEnd

    before = signal.signal(signal.SIGALRM, ring)
    left, every = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left, every)
        signal.signal(signal.SIGALRM, before)


def _failure_words(error: Exception) -> str:
    message = str(error).strip()
    return f"while your answer was tried it raised {type(error).__name__}{_place(error)}: {message}"


def _place(error: BaseException) -> str:
    """Which line of the learner's cell the error came from, the innermost; nothing if from none."""
    line = ""
    trace = error.__traceback__
    while trace is not None:
        # Cells have made-up file names: <ipython-input-...>, or a folder ipykernel_... of no files.
        file = trace.tb_frame.f_code.co_filename
        if "ipykernel" in file or file.startswith("<"):
            line = f" (line {trace.tb_lineno} of your cell)"
        trace = trace.tb_next
    return line


def is_blank(value: Any) -> bool:
    """Whether an answer is still open: ``...``, or a function with nothing but ``...`` in it."""
    if value is ...:
        return True
    if not isinstance(value, types.FunctionType):
        return False
    idle = {"RESUME", "NOP", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE", "COPY_FREE_VARS"}
    code = list(dis.get_instructions(value))
    returned = [i.argval for i in code if i.opname in ("RETURN_CONST", "LOAD_CONST")]
    return all(i.opname in idle for i in code) and all(v is None or v is ... for v in returned)

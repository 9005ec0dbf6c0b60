"""``tensorflow.python.util.tf_decorator``: wrappers that say what they wrap, and with which arguments."""

from __future__ import annotations

import sys
from typing import Any

_ATTRIBUTE = "_tf_decorator"  # where programs look for what a wrapper knows


class TFDecorator:
    """What one wrapper knows: the callable in it, its own name and text, and the arguments that it takes.

    ``decorator_argspec`` is ``None`` where the arguments are those of the callable inside. An object
    of this class is called, and bound to an instance, as that callable is.
    """

    def __init__(
        self,
        decorator_name: str,
        target: Any,
        decorator_doc: str = "",
        decorator_argspec: Any = None,
    ) -> None:
        self.decorated_target = target
        self.decorator_name = decorator_name
        self.decorator_doc = decorator_doc
        self.decorator_argspec = decorator_argspec
        for name in ("__name__", "__qualname__"):
            if hasattr(target, name):
                setattr(self, name, getattr(target, name))
        self.__doc__ = decorator_doc or getattr(target, "__doc__", None) or ""

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self.decorated_target.__get__(instance, owner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.decorated_target(*args, **kwargs)


def make_decorator(
    target: Any,
    decorator_func: Any,
    decorator_name: str | None = None,
    decorator_doc: str = "",
    decorator_argspec: Any = None,
) -> Any:
    """``decorator_func`` with the name, the attributes and the text of ``target``, as its wrapper.

    ``decorator_name`` is the caller's name by default; ``decorator_doc`` takes the place of the text.
    """
    if decorator_name is None:
        decorator_name = sys._getframe(1).f_code.co_name
    known = TFDecorator(decorator_name, target, decorator_doc, decorator_argspec)
    for name in ("__name__", "__qualname__", "__module__"):
        if hasattr(target, name):
            setattr(decorator_func, name, getattr(target, name))
    for name, value in getattr(target, "__dict__", {}).items():
        decorator_func.__dict__.setdefault(name, value)
    setattr(decorator_func, _ATTRIBUTE, known)
    decorator_func.__doc__ = known.__doc__
    decorator_func.__wrapped__ = decorator_func.__original_wrapped__ = target
    return decorator_func


def _of(candidate: Any) -> TFDecorator | None:
    if isinstance(candidate, TFDecorator):
        return candidate
    known = getattr(candidate, _ATTRIBUTE, None)
    return known if isinstance(known, TFDecorator) else None


def unwrap(maybe_tf_decorator: Any) -> tuple[list[TFDecorator], Any]:
    """The wrappers of a callable, the outermost first, and the callable inside."""
    wrappers = []
    while (known := _of(maybe_tf_decorator)) is not None:
        wrappers.append(known)
        maybe_tf_decorator = known.decorated_target
    return wrappers, maybe_tf_decorator


def rewrap(decorator_func: Any, previous_target: Any, new_target: Any) -> Any:
    """``decorator_func``, changed to wrap ``new_target`` where it wrapped ``previous_target``.

    The wrapper has to call its ``__wrapped__``. Where nothing is wrapped: ``new_target``. Raises
    `ValueError` when ``previous_target`` is not in it.
    """
    wrapper, inside = None, decorator_func
    while inside is not previous_target and _of(inside) is not None:
        wrapper, inside = inside, _of(inside).decorated_target  # type: ignore[union-attr]
    if inside is not previous_target:
        raise ValueError(
            f"{previous_target!r} is not what {decorator_func!r} wraps: {inside!r} is."
        )
    if wrapper is None:
        return new_target
    _of(wrapper).decorated_target = new_target  # type: ignore[union-attr]
    getattr(wrapper, "__func__", wrapper).__wrapped__ = new_target
    return decorator_func

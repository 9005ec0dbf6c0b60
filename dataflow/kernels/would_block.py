"""`WouldBlock`: how a kernel is left, and called again later, on a machine without threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class WouldBlock(BaseException):
    """A kernel would have to wait (see `runtime.cooperative`); only raised where there are no threads.

    ``wait`` (a `runtime.cooperative.Wait`) says until when. Then the kernel is called again, and finds
    what it kept with `KernelContext.carried`. With ``in_line`` it is not: it has done its part and
    stands in line. ``withdraw`` leaves the line, and returns the error if its turn had not come; it is
    called at the end of that wait, and in any case when the step fails meanwhile.
    """

    def __init__(
        self, wait: Any, withdraw: Callable[[], Exception | None] | None, in_line: bool = False
    ) -> None:
        super().__init__("a kernel would block")
        self.wait, self.withdraw, self.in_line = wait, withdraw, in_line

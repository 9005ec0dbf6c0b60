"""Compiled code, loaded without LLVM: object files for x86-64 in the format ELF.

What LLVM makes of our text (for its large code model) needs little: some sections lie one after the other, and
addresses are written into them, each a whole word. Doing so takes 0.1 ms; LLVM's own loader takes 2, after 30 to load
LLVM itself, and keeps more memory. A file with anything else in it is left to LLVM (`compiler.compile_source`).
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_MAGIC, _RELOCATABLE, _X86_64 = b"\x7fELF\x02\x01\x01", 1, 62
_HEADER = struct.Struct("<16xHH20xQ10xHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_ADDRESS = struct.Struct("<QQq")
_SYMBOLS, _ADDRESSES, _UNWINDING = 2, 4, 0x70000001
_WRITABLE, _IN_MEMORY = 1, 2
_WHOLE_WORD = 1
_UNDEFINED, _FIRST_RESERVED = 0, 0xFF00
_PAGE = mmap.PAGESIZE
#: Whether files for this system can be loaded here.
IS_KNOWN = sys.platform.startswith("linux") and platform.machine() == "x86_64"
#: Code lives as long as the process.
_loaded: list[mmap.mmap] = []


class _Refused(Exception):
    """Something in the file that this loader does not know."""


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int

    @property
    def is_loaded(self) -> bool:
        # How to unwind is not asked of code that calls nothing that throws.
        return bool(self.flags & _IN_MEMORY and self.kind != _UNWINDING and self.size)


def load(code: bytes, functions: Mapping[str, int], names: Sequence[str]) -> list[int] | None:
    """The addresses of the functions ``names`` of an object file, which calls ``functions`` and the C library's.

    ``None`` where the system, or something in the file, is none that is known here.
    """
    if not IS_KNOWN:
        return None
    try:
        return _Loader(code, functions).load(names)
    except (_Refused, struct.error, OSError, ValueError):
        return None


class _Loader:
    """Loads one file."""

    def __init__(self, code: bytes, functions: Mapping[str, int]) -> None:
        if not code.startswith(_MAGIC):
            raise _Refused
        self._code, self._functions = code, functions
        kind, machine, start, size, count, _ = _HEADER.unpack_from(code)
        if kind != _RELOCATABLE or machine != _X86_64 or size != _SECTION.size:
            raise _Refused
        self._sections = [
            _Section(*_SECTION.unpack_from(code, start + i * size)) for i in range(count)
        ]
        #: Where each section begins in memory, by number.
        self._begins: dict[int, int] = {}

    def load(self, names: Sequence[str]) -> list[int]:
        places, end = {}, 0
        for i, section in enumerate(self._sections):
            if section.is_loaded:
                if section.flags & _WRITABLE or section.alignment > _PAGE:
                    raise _Refused
                end = -(-end // section.alignment) * section.alignment
                places[i] = end
                end += section.size
        memory = mmap.mmap(-1, end, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        for i, place in places.items():
            section = self._sections[i]
            memory[place : place + section.size] = self._part(section)
            self._begins[i] = base + place
        symbols = self._symbols()
        for section in self._sections:
            if section.kind == _ADDRESSES and section.info in places:
                self._write_addresses(memory, places[section.info], section, symbols)
        by_name = dict(symbols)
        if not all(map(by_name.get, names)):
            raise _Refused
        _make_executable(base, end)
        _loaded.append(memory)
        return [by_name[name] for name in names]

    def _part(self, section: _Section) -> bytes:
        return self._code[section.offset : section.offset + section.size]

    def _symbols(self) -> list[tuple[str, int]]:
        """The name and the address of each symbol, in the order of the file."""
        (table,) = (s for s in self._sections if s.kind == _SYMBOLS)
        strings = self._part(self._sections[table.link])
        found = []
        for name, _, _, number, value, _ in _SYMBOL.iter_unpack(self._part(table)):
            text = strings[name : strings.index(b"\0", name)].decode()
            if number in self._begins:
                found.append((text, self._begins[number] + value))
            elif number == _UNDEFINED and text:
                found.append((text, self._functions.get(text) or _of_the_process(text)))
            else:  # the file's name, or of a section that is not loaded
                found.append(("", 0))
        return found

    def _write_addresses(
        self, memory: mmap.mmap, place: int, section: _Section, symbols: list[tuple[str, int]]
    ) -> None:
        for offset, what, addend in _ADDRESS.iter_unpack(self._part(section)):
            _, address = symbols[what >> 32]
            if what & 0xFFFFFFFF != _WHOLE_WORD or not address:
                raise _Refused
            struct.pack_into("<Q", memory, place + offset, address + addend)


def _of_the_process(name: str) -> int:
    """The address of a function of the C library."""
    try:
        found = ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value
    except AttributeError:
        raise _Refused from None
    return found or 0


def _make_executable(address: int, size: int) -> None:
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    if protect(address, size, mmap.PROT_READ | mmap.PROT_EXEC):
        raise OSError(ctypes.get_errno(), "memory cannot be made executable")

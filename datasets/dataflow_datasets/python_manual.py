"""Half a megabyte of English that comes with Python: the pages behind ``help("topics")``.

The pages differ a little from one Python version to the next. Nothing is downloaded.
"""

from __future__ import annotations

import gzip
from pathlib import Path

from .books import split_words
from .registry import DatasetInfo

#: Only in the site of `make site`, as Pyodide leaves the module out: `tools/wheels.py` puts the pages there.
PACKED = Path(__file__).parent / "packed" / "python_manual.txt.gz"

INFO = DatasetInfo(
    name="python_manual",
    title="the reference pages that come with Python, 0.5 MB of English",
    license="PSF license (Python)",
)


def load_text() -> str:
    """The pages in alphabetical order of their topics, with ``\\n`` line ends."""
    if PACKED.is_file():
        return gzip.decompress(PACKED.read_bytes()).decode("utf-8")
    from pydoc_data.topics import topics

    return "\n".join(text for _, text in sorted(topics.items()))


def load_data() -> list[str]:
    """The words of all pages in lower case: runs of letters, apostrophes inside words kept."""
    return split_words(load_text())

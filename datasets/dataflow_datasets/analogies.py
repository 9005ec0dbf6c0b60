"""19,544 questions of the form "Athens is to Greece as Oslo is to ...?" (Mikolov et al. 2013)."""

from __future__ import annotations

from pathlib import Path

from .fetch import fetch
from .registry import DatasetInfo, RemoteFile
from .tables import BadRowError

FILE = RemoteFile(
    "text",
    "questions-words.txt",
    (
        "https://raw.githubusercontent.com/tmikolov/word2vec/master/questions-words.txt",
        "https://raw.githubusercontent.com/nicholas-leonard/word2vec/master/questions-words.txt",
    ),
    "8c29b3332afc46f3fb8be04cb5297bf96f39aa7131272dff57869b4485b22a36",
    603_955,
)
INFO = DatasetInfo(
    name="analogies",
    title="19,544 word analogies in 14 groups",
    license="Apache-2.0 (Mikolov et al. 2013)",
    files=(FILE,),
)

Question = tuple[str, str, str, str]


def load_data(lower: bool = True) -> dict[str, list[Question]]:
    """Group name to its questions ``(a, b, c, d)``: a is to b as c is to d.

    ``lower`` puts the words in lower case, as the texts of this package are.
    """
    return read_questions(fetch(FILE), lower)


def read_questions(path: Path, lower: bool = True) -> dict[str, list[Question]]:
    """Read a file in the format of questions-words.txt: ``: group`` lines and four words a line.

    Raises `BadRowError` for a line that is neither, naming file and line.
    """
    groups: dict[str, list[Question]] = {}
    questions: list[Question] | None = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith(":"):
            questions = groups.setdefault(line[1:].strip(), [])
            continue
        words = (line.lower() if lower else line).split()
        if not words:
            continue
        if len(words) != 4 or questions is None:
            raise BadRowError(
                f"{path}, line {number}: {line!r} is not four words under a ': group' line."
            )
        a, b, c, d = words
        questions.append((a, b, c, d))
    return groups

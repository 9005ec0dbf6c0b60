"""All that a class's server keeps, in one SQLite file.

What a method has returned from is on the disk (WAL, ``synchronous=FULL``): a server that is killed and
started again goes on with the same code and the same tokens. Tokens of learners are kept as hashes.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dataflow.course.class_report import CLASS_FILE
from dataflow.course.classroom.limits import (
    MAX_ANSWERS,
    MAX_LEARNERS,
    MAX_NAME,
    MAX_NOTEBOOK_VERSIONS,
)
from dataflow.course.classroom.messages import Answer
from dataflow.course.classroom.questions import Question, digest_of, plain
from dataflow.course.classroom.refusal import Refusal

#: No vowels, so that no code is a word; no 0 and O, 1, I and L, 5 and S, 2 and Z, 8 and B, U and V.
_LETTERS = "CDFGHJKMNPQRTWXY34679"
_CODE_LENGTH = 6

_SCHEMA = """
CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS learners (
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, key TEXT NOT NULL UNIQUE, joined REAL NOT NULL);
CREATE TABLE IF NOT EXISTS questions (
  task TEXT NOT NULL, digest TEXT NOT NULL, question TEXT NOT NULL, by_teacher INTEGER NOT NULL, told TEXT,
  PRIMARY KEY (task, digest));
CREATE TABLE IF NOT EXISTS answers (
  id INTEGER PRIMARY KEY AUTOINCREMENT, learner INTEGER NOT NULL REFERENCES learners, uid TEXT NOT NULL,
  task TEXT NOT NULL, digest TEXT, correct INTEGER NOT NULL, shown INTEGER NOT NULL, words TEXT NOT NULL,
  given TEXT, told TEXT, at REAL NOT NULL, UNIQUE (learner, uid));
CREATE INDEX IF NOT EXISTS answers_of_task ON answers (task);
CREATE TABLE IF NOT EXISTS notebooks (
  id INTEGER PRIMARY KEY AUTOINCREMENT, learner INTEGER NOT NULL REFERENCES learners, file TEXT NOT NULL,
  digest TEXT NOT NULL, at REAL NOT NULL, body BLOB NOT NULL, UNIQUE (learner, file, digest));
"""


@dataclass(frozen=True)
class Learner:
    """Who joined. ``label`` is the name, or "learner 7"; of two with one name the second is "Ada (2)"."""

    id: int
    name: str
    label: str


@dataclass(frozen=True)
class Given:
    """An answer as it is kept; ``at`` are seconds since 1970."""

    learner: int
    task: str
    digest: str | None
    right: bool
    shown: bool
    words: str
    given: Any
    told: dict[str, Any] | None
    at: float


@dataclass(frozen=True)
class HandedIn:
    """The newest version of a notebook that a learner handed in; ``at`` are seconds since 1970."""

    learner: int
    file: str
    at: float
    body: bytes


class Store:
    """The file of a class, made if there is none. To be used by one thread.

    ``code`` is what learners type, ``teacher`` the teacher's token. Raises `OSError` where the folder
    cannot be written, and `ValueError` for a file that is damaged or not a class's.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.path = folder / CLASS_FILE
        # The teacher's token and everybody's answers are in it.
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        self._base = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        try:
            self._base.execute("PRAGMA journal_mode=WAL")
            self._base.execute("PRAGMA synchronous=FULL")
            self._base.executescript(_SCHEMA)
            letters = (secrets.choice(_LETTERS) for _ in range(_CODE_LENGTH))
            self.code = self._about("code", "".join(letters))
            self.teacher = self._about("teacher", secrets.token_hex(16))
        except sqlite3.DatabaseError as e:
            self._base.close()
            raise ValueError(
                f"{self.path} is not a class's file, or it is damaged ({e}); give another --data"
            ) from None

    def close(self) -> None:
        """Ends the use of the file."""
        self._base.close()

    def _about(self, key: str, otherwise: str) -> str:
        self._base.execute("INSERT OR IGNORE INTO about VALUES (?, ?)", (key, otherwise))
        found = self._base.execute("SELECT value FROM about WHERE key = ?", (key,)).fetchone()
        return str(found[0])

    def keep_lessons(self, tasks: Mapping[str, Sequence[str]]) -> None:
        """Keeps which questions and exercises each lesson has, by its file, for the report."""
        text = json.dumps({file: list(names) for file, names in tasks.items()})
        self._base.execute("INSERT OR REPLACE INTO about VALUES ('lessons', ?)", (text,))

    def lessons(self) -> dict[str, list[str]]:
        """What `keep_lessons` was told."""
        found: dict[str, list[str]] = json.loads(self._about("lessons", "{}"))
        return found

    # ---- learners --------------------------------------------------------------------------------

    def join(self, key: str, name: str) -> int:
        """The learner who has this key, made if new; joining again is the same learner, renamed.

        Raises `Refusal` when the class is full.
        """
        name = plain(name, MAX_NAME)
        hashed = _hashed(key)
        with self._base:
            self._base.execute("BEGIN IMMEDIATE")
            found = self._base.execute(
                "SELECT id FROM learners WHERE key = ?", (hashed,)
            ).fetchone()
            if found:
                if name:
                    self._base.execute(
                        "UPDATE learners SET name = ? WHERE id = ?", (name, found[0])
                    )
                return int(found[0])
            count = self._base.execute("SELECT COUNT(*) FROM learners").fetchone()[0]
            if count >= MAX_LEARNERS:
                raise Refusal(403, f"The class is full: it has {MAX_LEARNERS} learners.")
            made = self._base.execute(
                "INSERT INTO learners (name, key, joined) VALUES (?, ?, ?)",
                (name, hashed, time.time()),
            )
            return int(made.lastrowid or 0)

    def learner_of(self, key: str) -> int | None:
        """Whose token this is."""
        row = self._base.execute(
            "SELECT id FROM learners WHERE key = ?", (_hashed(key),)
        ).fetchone()
        return int(row[0]) if row else None

    def learners(self) -> dict[int, Learner]:
        """All who joined, by number."""
        found: dict[int, Learner] = {}
        taken: set[str] = set()
        for number, name in self._base.execute("SELECT id, name FROM learners ORDER BY id"):
            label, count = name or f"learner {number}", 1
            while label in taken:
                count += 1
                label = f"{name or f'learner {number}'} ({count})"
            taken.add(label)
            found[number] = Learner(number, name, label)
        return found

    # ---- answers ---------------------------------------------------------------------------------

    def record(self, sent: Iterable[tuple[int, Sequence[Answer]]]) -> list[int]:
        """Keeps answers of several learners in one transaction; how many of each were new.

        Raises `Refusal` for a learner with too many answers; nothing is kept then.
        """
        counts = []
        with self._base:
            self._base.execute("BEGIN IMMEDIATE")
            for learner, answers in sent:
                counts.append(sum(self._record_one(learner, answer) for answer in answers))
        return counts

    def num_answers(self, learner: int) -> int:
        """How many answers a learner has given."""
        query = "SELECT COUNT(*) FROM answers WHERE learner = ?"
        return int(self._base.execute(query, (learner,)).fetchone()[0])

    def _record_one(self, learner: int, answer: Answer) -> int:
        if answer.question is not None:
            self._keep_question(answer.task, answer.question, by_teacher=False)
        made = self._base.execute(
            "INSERT OR IGNORE INTO answers (learner, uid, task, digest, correct, shown, words, given, told, at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(learner, answer.uid, answer.task, answer.digest, answer.right, answer.shown),
                *(answer.words, _text(answer.given), _text(answer.told), time.time()),
            ),
        )
        return made.rowcount

    def answers(self, task: str | None = None) -> list[Given]:
        """The answers to a task, or all of them, in the order in which they came."""
        where, values = ("WHERE task = ?", (task,)) if task is not None else ("", ())
        return [
            Given(
                *(learner, about, digest, bool(right), bool(shown), words),
                *(_value(given), _value(told), at),
            )
            for learner, about, digest, right, shown, words, given, told, at in self._base.execute(
                "SELECT learner, task, digest, correct, shown, words, given, told, at "
                f"FROM answers {where} ORDER BY id",
                values,
            )
        ]

    def num_answered(self) -> dict[str, int]:
        """How many learners have answered each task."""
        query = "SELECT task, COUNT(DISTINCT learner) FROM answers WHERE shown = 0 GROUP BY task"
        return dict(self._base.execute(query).fetchall())

    # ---- questions -------------------------------------------------------------------------------

    def keep_questions(self, asked: Iterable[tuple[str, Question, dict[str, Any] | None]]) -> None:
        """Keeps what a teacher's kernel asks, and the answer."""
        with self._base:
            self._base.execute("BEGIN IMMEDIATE")
            for task, question, told in asked:
                self._base.execute("UPDATE questions SET by_teacher = 0 WHERE task = ?", (task,))
                self._keep_question(task, question, by_teacher=True, told=told)

    def _keep_question(
        self, task: str, question: Question, *, by_teacher: bool, told: dict[str, Any] | None = None
    ) -> None:
        self._base.execute(
            "INSERT INTO questions VALUES (?, ?, ?, ?, ?) ON CONFLICT DO "
            + ("UPDATE SET by_teacher = 1, told = excluded.told" if by_teacher else "NOTHING"),
            (task, digest_of(question), _text(question), int(by_teacher), _text(told)),
        )

    def question(self, task: str) -> tuple[Question, str, dict[str, Any] | None] | None:
        """What is asked in a task, its digest, and the teacher's answer: the teacher's form of it, else
        the one that most learners had."""
        row = self._base.execute(
            "SELECT question, digest, told FROM questions AS q WHERE task = ? ORDER BY by_teacher DESC, "
            "(SELECT COUNT(DISTINCT learner) FROM answers AS a WHERE a.task = q.task AND a.digest = q.digest) "
            "DESC, rowid LIMIT 1",
            (task,),
        ).fetchone()
        return (_value(row[0]), row[1], _value(row[2])) if row else None

    # ---- notebooks -------------------------------------------------------------------------------

    def hand_in(self, learner: int, file: str, body: bytes) -> None:
        """Keeps a notebook, as it came; the same once more is the same. Raises `Refusal` for too many."""
        digest = hashlib.sha256(body).hexdigest()
        with self._base:
            self._base.execute("BEGIN IMMEDIATE")
            known = self._base.execute(
                "SELECT COUNT(*), SUM(file = ? AND digest = ?) FROM notebooks WHERE learner = ?",
                (file, digest, learner),
            ).fetchone()
            if known[0] >= MAX_NOTEBOOK_VERSIONS and not known[1]:
                raise Refusal(
                    403,
                    f"At most {MAX_NOTEBOOK_VERSIONS} notebooks can be handed in; ask your teacher.",
                )
            self._base.execute(
                "INSERT INTO notebooks (learner, file, digest, at, body) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT DO UPDATE SET at = excluded.at",
                (learner, file, digest, time.time(), zlib.compress(body, 6)),
            )

    def notebooks(self) -> Iterator[HandedIn]:
        """The newest version of each learner's notebooks, one after the other: all at once may be a GB."""
        newest = (
            "SELECT learner, file, at, body FROM notebooks AS n WHERE id = (SELECT id FROM notebooks "
            "WHERE learner = n.learner AND file = n.file ORDER BY at DESC, id DESC LIMIT 1) "
            "ORDER BY learner, file"
        )
        for learner, file, at, body in self._base.execute(newest):
            yield HandedIn(learner, file, at, zlib.decompress(body))

    def num_notebooks(self) -> int:
        """How many notebooks were handed in, versions counted once."""
        query = "SELECT COUNT(*) FROM (SELECT DISTINCT learner, file FROM notebooks)"
        return int(self._base.execute(query).fetchone()[0])


def check_room(num_kept: int, num_more: int) -> None:
    """Raises `Refusal` for a learner who would have too many answers."""
    if num_kept + num_more > MAX_ANSWERS:
        raise Refusal(403, f"A learner gives at most {MAX_ANSWERS} answers; ask your teacher.")


def _hashed(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def _text(value: Any) -> str | None:
    return None if value is None else json.dumps(value)


def _value(text: str | None) -> Any:
    return None if text is None else json.loads(text)

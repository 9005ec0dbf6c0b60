"""`tf.gfile`: files and folders with TensorFlow's error classes."""

from __future__ import annotations

from pathlib import Path

import pytest

import dataflow as tf


def test_text_and_bytes(tmp_path: Path) -> None:
    path = str(tmp_path / "a.txt")
    with tf.gfile.GFile(path, "w") as f:
        f.write("one\r\n")
        f.write("zwölf\n")
    with tf.gfile.Open(path) as f:
        assert f.read() == "one\r\nzwölf\n"
    with tf.gfile.FastGFile(path, "rb") as f:
        assert f.size() == 12
        assert f.read(3) == b"one"
        assert f.tell() == 3
        f.seek(5)
        assert f.read() == "zwölf\n".encode()
    with tf.gfile.GFile(path, "a") as f:
        f.write("end")
    with tf.gfile.GFile(path) as f:
        assert f.readline() == "one\n"  # as in TensorFlow, lines have no CR
        assert f.tell() == 5
        assert f.readlines() == ["zwölf\n", "end"]
    with tf.gfile.GFile(path, "r") as f:
        assert list(f) == ["one\n", "zwölf\n", "end"]


def test_a_mode_that_is_none() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="mode is not 'r' .*: 'q'"):
        tf.gfile.GFile("x", "q")


def test_a_file_is_read_from_its_start_and_written_at_its_end(tmp_path: Path) -> None:
    path = str(tmp_path / "both")
    for mode in ("w+", "r+", "w+b"):  # each empties the file, and makes it where there is none
        with tf.gfile.GFile(path, mode) as file:
            file.write("one\ntwo\n")
            file.flush()
            assert file.tell() == 0
            assert file.read(3) in ("one", b"one")
            file.write("three")
            file.flush()
            assert file.read() in ("\ntwo\nthree", b"\ntwo\nthree")
        assert file.size() == 13
    with tf.gfile.GFile(path, "a+") as file:
        file.write(" and four")
        file.flush()
        assert [len(line) for line in file] == [4, 4, 14]
    with tf.gfile.GFile(path, "w") as file:
        file.write("abc")
        assert file.tell() == 3


def test_a_mode_says_what_may_be_done(tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    with pytest.raises(tf.errors.PermissionDeniedError, match="isn't open for writing: .*'r'"):
        tf.gfile.GFile(path, "r").write("x")
    assert not tf.gfile.Exists(path)
    (tmp_path / "file").write_text("kept")
    for use in ("read", "readline", "readlines", "__next__"):
        with pytest.raises(tf.errors.PermissionDeniedError, match="isn't open for reading: .*'w'"):
            getattr(tf.gfile.GFile(path, "w"), use)()
    assert (tmp_path / "file").read_text() == "kept"


def test_a_place_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("0123456789")
    file = tf.gfile.GFile(str(tmp_path / "file"))
    file.seek(4)
    file.seek(2, 1)
    assert file.read(1) == "6"
    file.seek(-3, whence=2)
    assert file.read() == "789"
    file.seek(position=1)
    assert file.tell() == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="negative position: -1"):
        file.seek(-2, 1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="whence argument: 3"):
        file.seek(0, 3)
    with pytest.raises(tf.errors.OutOfRangeError, match="has 10 bytes, not 11"):
        file.seek(11)
    with pytest.raises(TypeError, match="offset argument required"):
        file.seek()
    with pytest.raises(TypeError, match="give one"):
        file.seek(offset=0, position=0)


def test_missing_files_are_not_found(tmp_path: Path) -> None:
    missing = str(tmp_path / "no" / "where")
    file = tf.gfile.GFile(missing)  # opened when first used
    for use in (
        file.read,
        lambda: tf.gfile.GFile(missing, "w").write("x"),
        lambda: tf.gfile.Remove(missing),
        lambda: tf.gfile.ListDirectory(missing),
        lambda: tf.gfile.Stat(missing),
        lambda: tf.gfile.Rename(missing, missing + "2"),
        lambda: tf.gfile.DeleteRecursively(missing),
    ):
        with pytest.raises(tf.errors.NotFoundError, match="where"):
            use()
    assert not tf.gfile.Exists(missing)
    assert not tf.gfile.IsDirectory(missing)


def test_folders(tmp_path: Path) -> None:
    deep = str(tmp_path / "a" / "b")
    with pytest.raises(tf.errors.NotFoundError):
        tf.gfile.MkDir(deep)
    tf.gfile.MakeDirs(deep)
    tf.gfile.MakeDirs(deep)  # is there already: no error
    with pytest.raises(tf.errors.AlreadyExistsError):
        tf.gfile.MkDir(deep)
    with tf.gfile.Open(deep + "/x.txt", "w") as f:
        f.write("x")
    assert tf.gfile.IsDirectory(deep)
    assert tf.gfile.ListDirectory(deep) == ["x.txt"]
    assert tf.gfile.Glob(deep + "/*.txt") == [deep + "/x.txt"]
    assert tf.gfile.Glob([deep + "/*.txt", deep + "/*.py"]) == [deep + "/x.txt"]
    assert [found[2] for found in tf.gfile.Walk(str(tmp_path))] == [[], [], ["x.txt"]]
    assert tf.gfile.Stat(deep + "/x.txt").length == 1
    tf.gfile.DeleteRecursively(str(tmp_path / "a"))
    assert not tf.gfile.Exists(deep)


def test_copies_and_renames_keep_what_is_there_unless_told(tmp_path: Path) -> None:
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    Path(a).write_text("new")
    Path(b).write_text("old")
    for change in (tf.gfile.Copy, tf.gfile.Rename):
        with pytest.raises(tf.errors.AlreadyExistsError):
            change(a, b)
        assert Path(b).read_text() == "old"
    tf.gfile.Copy(a, b, overwrite=True)
    assert Path(b).read_text() == "new"
    tf.gfile.Rename(b, a, overwrite=True)
    assert not tf.gfile.Exists(b)
    tf.gfile.Remove(a)
    assert not tf.gfile.Exists(a)


def test_files_take_text_and_bytes_whatever_their_mode(tmp_path: Path) -> None:
    with tf.gfile.GFile(str(tmp_path / "bytes"), "wb") as file:
        file.write("gr\u00fcn")
        file.write(b"\xff")
    assert (tmp_path / "bytes").read_bytes() == b"gr\xc3\xbcn\xff"
    with tf.gfile.GFile(str(tmp_path / "text"), "w") as file:
        file.write(b"gr\xc3\xbcn")
        file.write("\u00fc")
        file.write(b"\x80\x03")  # a pickle in a file of text
        file.write("!")
        with pytest.raises(TypeError, match="binary or unicode string, got int 3"):
            file.write(3)
    assert (tmp_path / "text").read_bytes() == b"gr\xc3\xbcn\xc3\xbc\x80\x03!"

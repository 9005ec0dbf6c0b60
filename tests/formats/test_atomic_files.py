"""Files that appear whole: who may read them, and what killed writers leave behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import dataflow as tf
from dataflow.formats import atomic_files
from dataflow.formats.atomic_files import remove_abandoned, replace_with, write_atomically

ROOT = Path(__file__).resolve().parents[2]
HOST = atomic_files._host()
posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither umask nor flock")


def killed_writer(path: Path) -> subprocess.Popen[bytes]:
    """A process that is in the middle of writing ``path``."""
    code = (
        "import sys, time\n"
        "from dataflow.formats.atomic_files import replace_with\n"
        "def write(temporary):\n"
        "    with open(temporary, 'wb') as opened:\n"
        "        opened.write(b'half')\n"
        "    print('writing', flush=True)\n"
        "    time.sleep(600)\n"
        "replace_with(sys.argv[1], write)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], cwd=ROOT, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"writing\n"
    return process


@posix
def test_the_next_writer_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    process = killed_writer(tmp_path / "model-1")
    try:
        write_atomically(str(tmp_path / "model-2"), b"two")
        # It is still being written.
        assert len(os.listdir(tmp_path)) == 2
        assert remove_abandoned(str(tmp_path)) == []
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
    write_atomically(str(tmp_path / "model-3"), b"three")
    assert sorted(os.listdir(tmp_path)) == ["model-2", "model-3"]


@posix
def test_a_process_id_that_was_given_to_another_process(tmp_path: Path) -> None:
    """The id in the name is one of a process that lives, but did not write it."""
    abandoned = f".model.df-{HOST}-{os.getppid()}-0.tmp"
    (tmp_path / abandoned).write_bytes(b"half")
    assert remove_abandoned(str(tmp_path)) == [abandoned]
    assert os.listdir(tmp_path) == []


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    names = [
        ".model.df-00000000-1-0.tmp",  # another host's, on a file system of the network
        ".model.1234.tmp",
        f"model.df-{HOST}-1-0.tmp",
        f".model.df-{HOST}-x-0.tmp",
    ]
    for name in names:
        (tmp_path / name).write_bytes(b"")
    os.mkdir(tmp_path / f".folder.df-{HOST}-1-0.tmp")
    write_atomically(str(tmp_path / "model"), b"content")
    assert sorted(os.listdir(tmp_path)) == sorted([*names, f".folder.df-{HOST}-1-0.tmp", "model"])


@posix
def test_links_and_pipes_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"1")
    os.symlink(tmp_path / "precious", tmp_path / f".a.df-{HOST}-1-0.tmp")
    os.mkfifo(tmp_path / f".b.df-{HOST}-1-0.tmp")
    assert remove_abandoned(str(tmp_path)) == []
    assert (tmp_path / "precious").read_bytes() == b"1"


@posix
def test_two_threads_write_one_file(tmp_path: Path) -> None:
    path = str(tmp_path / "model")
    meet = threading.Barrier(2)

    def save(content: bytes) -> None:
        def write(temporary: str) -> None:
            meet.wait(timeout=60)
            Path(temporary).write_bytes(content)
            meet.wait(timeout=60)

        replace_with(path, write)

    threads = [threading.Thread(target=save, args=(c,)) for c in (b"one", b"two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert Path(path).read_bytes() in (b"one", b"two")
    assert os.listdir(tmp_path) == ["model"]


def test_names_as_long_as_the_file_system_takes(tmp_path: Path) -> None:
    name = "é" * 127
    write_atomically(str(tmp_path / name), b"content")
    assert os.listdir(tmp_path) == [name]


@posix
@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077, 0o002])
def test_files_have_the_permissions_that_the_umask_leaves(tmp_path: Path, umask: int) -> None:
    """In a process of its own: the umask belongs to all threads."""
    code = (
        "import os, sys, numpy as np, dataflow as tf\n"
        "os.umask(int(sys.argv[2]))\n"
        "os.chdir(sys.argv[1])\n"
        "tf.Variable(1.0)\n"
        "with tf.Session() as session:\n"
        "    session.run(tf.global_variables_initializer())\n"
        "    for format in (tf.train.SaverDef.V1, tf.train.SaverDef.V2):\n"
        "        tf.train.Saver(write_version=format).save(session, f'model-{format}')\n"
        "from dataflow.formats.safetensors_store import write_arrays\n"
        "write_arrays('some.safetensors', {'x': np.ones(3)})\n"
        "assert os.umask(0) == int(sys.argv[2])\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path), str(umask)], cwd=ROOT, check=True)
    files = sorted(tmp_path.iterdir())
    assert any(f.suffix == ".safetensors" for f in files)
    assert len(files) >= 4
    for file in files:
        assert file.stat().st_mode & 0o777 == 0o666 & ~umask, file.name


@posix
def test_a_saver_removes_what_killed_saves_left(tmp_path: Path) -> None:
    process = killed_writer(tmp_path / "model-7.safetensors")
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    (abandoned,) = os.listdir(tmp_path)
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(np.ones(3))
        session.run(v.initializer)
        tf.train.Saver([v]).save(session, str(tmp_path / "model"), global_step=8)
    assert abandoned not in os.listdir(tmp_path)
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]

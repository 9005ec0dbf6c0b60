"""`tf.keras.utils.get_file`: a file of the cache, downloaded where it is not there yet."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname


def _hash_file(fpath: Any, algorithm: str = "sha256", chunk_size: int = 65535) -> str:
    """The SHA-256 of a file's bytes, or their MD5."""
    with open(fpath, "rb") as opened:
        return hashlib.file_digest(opened, "md5" if algorithm == "md5" else "sha256").hexdigest()


def validate_file(
    fpath: Any, file_hash: str, algorithm: str = "auto", chunk_size: int = 65535
) -> bool:
    """Whether a file has this hash: a SHA-256, or an MD5 where it is shorter."""
    if algorithm not in ("auto", "md5", "sha256"):
        raise ValueError(f"get_file: hash_algorithm is auto, md5 or sha256, got {algorithm!r}.")
    kind = "sha256" if algorithm == "sha256" or len(file_hash) == 64 else "md5"
    return _hash_file(fpath, kind) == file_hash.lower()


def _extract(archive: Path, folder: Path, archive_format: Any) -> bool:
    """Unpacks a tar or zip file into ``folder``; members that point outside it are refused."""
    if archive_format == "auto":
        archive_format = ["tar", "zip"]
    formats = [archive_format] if isinstance(archive_format, str) else list(archive_format or [])
    if "tar" in formats and tarfile.is_tarfile(archive):
        with tarfile.open(archive) as opened_tar:
            opened_tar.extractall(folder, filter="data")
        return True
    if "zip" in formats and zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened_zip:
            opened_zip.extractall(folder)
        return True
    return False


def _download(origin: str, target: Path) -> None:
    if os.environ.get("DATAFLOW_OFFLINE", "0") not in ("", "0"):
        raise FileNotFoundError("downloads are forbidden by DATAFLOW_OFFLINE")
    target.parent.mkdir(parents=True, exist_ok=True)
    if origin.startswith("file:"):
        shutil.copyfile(url2pathname(urlsplit(origin).path), target)
        return
    from dataflow_datasets.fetch import download

    download(origin, target)


def cached_file(name: str, cache_subdir: str = "datasets", cache_dir: str | None = None) -> Path:
    """Where Keras's cache has a file of this name, or would have it: ``~/.keras/datasets/name``."""
    return Path(cache_dir or Path.home() / ".keras").expanduser() / cache_subdir / name


def get_file(
    fname: str | None = None,
    origin: str | None = None,
    untar: bool = False,
    md5_hash: str | None = None,
    file_hash: str | None = None,
    cache_subdir: str = "datasets",
    hash_algorithm: str = "auto",
    extract: bool = False,
    archive_format: Any = "auto",
    cache_dir: str | None = None,
) -> str:
    """The path of a file: in the cache, in ``DATAFLOW_DATA``, or downloaded from ``origin``.

    The cache is ``cache_dir`` (``~/.keras`` without one) and ``cache_subdir`` below it. A download
    shows a progress bar, goes on where an earlier one stopped, and appears whole or not at all.
    ``file_hash`` (MD5 or SHA-256) is checked; a file with another one is downloaded anew.
    ``extract`` unpacks a tar or zip file beside it; ``untar`` returns the folder ``fname`` that
    ``fname.tar.gz`` is unpacked to.

    Raises `FileNotFoundError`, which says where to put the file, when there is no network;
    `ValueError` for a download with another hash.
    """
    if fname is None:
        if not origin:
            raise ValueError("get_file: give fname, the file's name, or origin, its address.")
        fname = os.path.basename(origin.partition("?")[0])
    name = fname + ".tar.gz" if untar else fname
    target = cached_file(name, cache_subdir, cache_dir)
    folder = cached_file("", cache_subdir, cache_dir)
    wanted = file_hash or md5_hash
    places = [target]
    data = os.environ.get("DATAFLOW_DATA")
    if data:
        places += [Path(data) / cache_subdir / name, Path(data) / name]
    found = next((p for p in places if p.exists()), None)
    if found is not None and wanted and found.is_file() and not validate_file(found, wanted, hash_algorithm):  # fmt: skip
        found = None
    if found is None:
        try:
            if not origin:
                raise FileNotFoundError("no origin was given")
            _download(origin, target)
        except (OSError, ValueError) as error:
            raise FileNotFoundError(
                f"get_file: {name} is not on this machine, and could not be downloaded from "
                f"{origin}: {error}.\n  Get it on a machine with a network, and put it at {target}."
            ) from error
        if wanted and not validate_file(target, wanted, hash_algorithm):
            target.unlink()
            raise ValueError(
                f"get_file: what {origin} gave has not the hash {wanted}; it was thrown away."
            )
        found = target
    if untar:
        if not (folder / fname).exists():
            folder.mkdir(parents=True, exist_ok=True)
            _extract(found, folder, "tar")
        return str(folder / fname)
    if extract:
        folder.mkdir(parents=True, exist_ok=True)
        _extract(found, folder, archive_format)
    return str(found)

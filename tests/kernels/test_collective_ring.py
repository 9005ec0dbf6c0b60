"""The exchanges around a ring, between threads."""

import threading
from queue import SimpleQueue

import numpy as np
import pytest

from dataflow.kernels import collective_ring as ring

pytestmark = pytest.mark.threads


class Link:
    def __init__(self, rank, inboxes):
        self.rank, self.size, self.inboxes = rank, len(inboxes), inboxes
        self.sent_bytes = 0

    def send(self, array):
        self.sent_bytes += array.nbytes
        self.inboxes[(self.rank + 1) % self.size].put(array.copy())

    def receive(self, start=0, stop=0):
        return self.inboxes[self.rank].get(timeout=60)

    def vector(self, dtype, length):
        return np.empty(length, dtype)


def together(size, function):
    """``function(link)`` on all ranks; their results and links."""
    inboxes = [SimpleQueue() for _ in range(size)]
    links = [Link(rank, inboxes) for rank in range(size)]
    results = [None] * size

    def run(rank):
        results[rank] = function(links[rank])

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results, links


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("length", [1, 60, 61])
def test_all_reduce(size, length):
    values = np.random.RandomState(0).randn(size, length).astype(np.float32)
    results, links = together(
        size, lambda link: ring.all_reduce(link, values[link.rank], "Add", "Div")
    )
    for result in results:
        np.testing.assert_allclose(result, values.mean(0), rtol=1e-5, atol=1e-6)
        assert result.tobytes() == results[0].tobytes()
    if length == 60:
        assert {link.sent_bytes for link in links} == {2 * (size - 1) * 240 // size}


def test_the_division_in_blocks_has_the_same_bits(monkeypatch):
    values = np.random.RandomState(0).randn(3, 61).astype(np.float32)

    def reduce(block_bytes):
        monkeypatch.setattr(ring, "_BLOCK_BYTES", block_bytes)
        return together(3, lambda link: ring.all_reduce(link, values[link.rank], "Add", "Div"))[0]

    (expected, *_), (got, *_) = reduce(1 << 17), reduce(16)
    assert got.tobytes() == expected.tobytes()
    np.testing.assert_allclose(got, values.mean(0), rtol=1e-5, atol=1e-6)


def test_integers_are_divided_towards_zero():
    values = np.array([[-7, 7], [0, 0]], np.int32)
    results, _ = together(2, lambda link: ring.all_reduce(link, values[link.rank], "Add", "Div"))
    assert results[1].tolist() == [-3, 3]


@pytest.mark.parametrize("source", [0, 2])
def test_broadcast_in_pieces(source, monkeypatch):
    monkeypatch.setattr(ring, "_PIECE_BYTES", 16)
    value = np.arange(10, dtype=np.float32).reshape(2, 5)
    results, links = together(
        3,
        lambda link: ring.broadcast(
            link, value if link.rank == source else None, source, np.float32, (2, 5)
        ),
    )
    assert all(np.array_equal(result, value) for result in results)
    assert sum(link.sent_bytes for link in links) == 2 * value.nbytes

"""One thread for many links: who is served by whom, and that nobody holds up the others."""

import random
import threading

import numpy as np
import pytest

from dataflow.cluster import messages
from dataflow.cluster.connections import connect
from dataflow.cluster.link_ring import can_ring
from dataflow.cluster.listener import Listener
from dataflow.cluster.messages import Kind
from dataflow.errors import UnavailableError

pytestmark = pytest.mark.skipif(not can_ring(), reason="links are in a ring on Linux only")
KEY = "a key for tests"
SHORT, LONG, BROKEN = 0, 1, 2


class Echo:
    """Answers with the thread that did; a LONG message waits for ``go``, a BROKEN one raises."""

    def __init__(self):
        self.go = threading.Event()
        self.closed = []
        self.last = None

    def handle(self, link, message):
        self.last = link
        if message.tag == LONG:
            assert self.go.wait(20)
        if message.tag == BROKEN:
            raise RuntimeError("a message that cannot be dealt with")
        link.send(Kind.REPLY, 0, threading.get_ident(), message.tensors)

    def is_short(self, link, message):
        return message.tag != LONG

    def link_closed(self, link):
        self.closed.append(link)


@pytest.fixture
def echo():
    handler = Echo()
    listener = Listener("127.0.0.1:0", KEY, "/job:ps/task:0", handler)
    listener.handler = handler
    yield listener
    handler.go.set()
    listener.close()


@pytest.fixture
def links(echo):
    """Four links that sit in the ring; the first one's thread leads."""
    made = [connect(echo.address, KEY, "client") for _ in range(4)]
    for link in made:
        ask(link)
    yield made
    for link in made:
        link.close()


def ask(link, tag=SHORT, tensors=()):
    """Send a message; return who answered."""
    link.send(Kind.CALL, tag, 0, tensors)
    reply = link.receive()
    for sent, got in zip(tensors, reply.tensors, strict=True):
        np.testing.assert_array_equal(sent, got)
    return reply.id


def leader_of(links):
    """The thread that answers all of them, once all sit."""
    for _ in range(100):
        threads = {ask(link) for link in links}
        if len(threads) == 1:
            return threads.pop()
    raise AssertionError(f"still {len(threads)} threads answer")


def test_one_thread_answers_all(links):
    assert leader_of(links) == leader_of(links)


@pytest.mark.parametrize("which", [0, 3])
def test_a_long_message_gets_its_own_thread_and_holds_nobody_up(echo, links, which):
    leader_of(links)
    slow = links[which]
    slow.send(Kind.CALL, LONG)
    others = [link for link in links if link is not slow]
    before = leader_of(others)
    echo.handler.go.set()
    assert slow.receive().id != before
    leader_of(links)


@pytest.mark.parametrize("bytes_sent", [1, messages.HEADER.size, messages.HEADER.size + 100])
@pytest.mark.parametrize("which", [0, 3])
def test_half_a_message_holds_nobody_up(links, bytes_sent, which):
    leader_of(links)
    tensor = np.arange(100.0)
    frame = b"".join(bytes(part) for part in messages.encode(Kind.CALL, SHORT, 0, [tensor]))
    links[which].sock.sendall(frame[:bytes_sent])
    leader_of([link for link in links if link is not links[which]])
    links[which].sock.sendall(frame[bytes_sent:])
    np.testing.assert_array_equal(links[which].receive().tensors[0], tensor)
    leader_of(links)


@pytest.mark.parametrize("shared", [True, False])
def test_messages_of_every_size(echo, links, shared):
    leader_of(links)
    for link in (*links, *echo.links):
        link.may_share = link.may_share and shared
    for link in links:
        for size in (0, 1, 8000, 8185, 8190, 8192, 100_000):
            ask(link, SHORT, [np.arange(float(size)), np.arange(3)])
        for n in range(6):  # several in the buffer at once
            link.send(Kind.CALL, SHORT, 0, [np.full(100, n)], hold=n < 5)
        assert [link.receive().tensors[0][0] for _ in range(6)] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("end", ["client", "server", "broken"])
@pytest.mark.parametrize("order", [1, -1])
def test_links_end_one_by_one_and_the_others_go_on(echo, links, end, order, eventually):
    leader_of(links)
    left = links[::order]
    while left:
        link = left.pop(0)
        if end == "client":
            link.close()
        elif end == "broken":
            link.send(Kind.CALL, BROKEN)
        else:
            ask(link)
            echo.handler.last.close()
        if end != "client":
            with pytest.raises(UnavailableError):
                link.receive()
        eventually(lambda: len(echo.links) == len(left))
        if left:
            leader_of(left)


def test_the_listener_ends_all_threads(echo, links, eventually):
    leader_of(links)
    mine = [t for t in threading.enumerate() if t.name == "link /job:ps/task:0" and t.is_alive()]
    served = echo.links
    assert len(served) == 4
    echo.close()
    eventually(lambda: not any(t.is_alive() for t in mine))
    assert set(served) <= set(echo.handler.closed)


def test_any_order_of_short_and_long_and_new_and_closed_links(echo):
    echo.handler.go.set()
    errors = []

    def client(seed):
        choose = random.Random(seed)
        try:
            link = connect(echo.address, KEY, "client")
            for n in range(300):
                size = choose.choice([0, 1, 1000, 20_000])
                ask(link, choose.choice([SHORT, SHORT, SHORT, LONG]), [np.full(size, float(n))])
                if choose.random() < 0.05:
                    link.close()
                    link = connect(echo.address, KEY, "client")
            link.close()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=client, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors
    assert not any(thread.is_alive() for thread in threads)

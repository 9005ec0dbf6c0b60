"""The floor of a cluster's step: two processes that send each other bytes, and compute nothing.

A server answers two clients, each over a local socket, either each message at once or, as in synchronous
training, when both clients have sent theirs. What a step of `cluster` costs beyond this is Python's and
NumPy's work. Part of ``make bench-cluster``; by itself: ``python -m tests.benchmarks.socket_floor``.
"""

from __future__ import annotations

import os
import pathlib
import select
import socket
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
NUM_CLIENTS = 2


def serve(sockets: list[socket.socket], num_bytes: int, waits_for_all: bool) -> None:
    """Answer until the clients are gone."""
    by_fd = {sock.fileno(): sock for sock in sockets}
    epoll, waiting = select.epoll(), []
    for fd in by_fd:
        epoll.register(fd, select.EPOLLIN)
    answer, needed = bytes(num_bytes), len(sockets) if waits_for_all else 1
    while True:
        for fd, _ in epoll.poll():
            if not by_fd[fd].recv(num_bytes, socket.MSG_WAITALL):
                return
            waiting.append(by_fd[fd])
            if len(waiting) == needed:
                for sock in waiting:
                    sock.sendall(answer)
                waiting.clear()


def ask(sock: socket.socket, num_bytes: int, seconds: float) -> int:
    """Send and wait for the answer, again and again; return how often."""
    message, count, end = bytes(num_bytes), 0, time.perf_counter() + seconds
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    while time.perf_counter() < end:
        sock.sendall(message)
        poll.poll()  # in `recv` it would be woken when the message is read, too
        if not sock.recv(num_bytes, socket.MSG_WAITALL):
            break
        count += 1
    return count


def trips(num_bytes: int, seconds: float, waits_for_all: bool) -> tuple[float, float]:
    """Round trips per second of both clients, and the processor time of one, in seconds."""
    pairs = [socket.socketpair() for _ in range(NUM_CLIENTS)]
    read, write = os.pipe()
    children = []
    for number in range(-1, NUM_CLIENTS):
        child = os.fork()
        if child:
            children.append(child)
            continue
        for i, (there, here) in enumerate(pairs):
            there.close() if number >= 0 else here.close()
            if number not in (-1, i):
                here.close()
        count = 0
        try:
            if number < 0:
                serve([there for there, _ in pairs], num_bytes, waits_for_all)
            else:
                count = ask(pairs[number][1], num_bytes, seconds)
        except OSError:
            pass  # the other end is gone
        os.write(write, f"{count} {time.process_time()}\n".encode())
        os._exit(0)
    for pair in pairs:
        for sock in pair:
            sock.close()
    for child in children:
        os.waitpid(child, 0)
    rows = [line.split() for line in os.read(read, 1 << 12).decode().splitlines()]
    os.close(read)
    os.close(write)
    total = sum(int(count) for count, _ in rows)
    return total / seconds, sum(float(busy) for _, busy in rows) / max(total, 1)


def in_a_process(num_bytes: int, waits_for_all: bool, seconds: float) -> tuple[float, float]:
    """As `trips`, by a process of its own: one with threads had better not fork."""
    code = f"from tests.benchmarks.socket_floor import trips; print(trips({num_bytes}, {seconds}, {waits_for_all}))"
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT
    )
    rate, busy = map(float, done.stdout.strip(" ()\n").split(","))
    return rate, busy


def main(seconds: float = 1.0) -> None:
    """Print the floor for the sizes of `cluster`'s patterns."""
    print("bare sockets, one server and two clients, which compute nothing:")
    for name, waits_for_all in (("async", False), ("sync", True)):
        for size, num_bytes in (("4 B", 100), ("31 KB", 31_460)):
            rate, busy = trips(num_bytes, seconds, waits_for_all)
            print(
                f"{name} {size:6} {rate:14.1f}/s {busy * 1e6:6.0f} us of processors a trip",
                flush=True,
            )


if __name__ == "__main__":
    main()

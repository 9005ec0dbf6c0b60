"""Wrong answers to the exercises of lesson 23."""

MISTAKES = {
    "ex1": [
        "def all_gather(worker, mine):\n"
        "    for other in range(worker.num):\n"
        "        worker.send(other, mine)\n"
        "    return [worker.receive(other) for other in range(worker.num)]",
        # Waits before it sends: nobody can begin.
        "def all_gather(worker, mine):\n"
        "    found = [worker.receive((worker.rank - 1) % worker.num)\n"
        "             for _ in range(worker.num - 1)]\n"
        "    return [mine, *found]",
        "def all_gather(worker, mine):\n"
        "    found = [mine]\n"
        "    for _ in range(worker.num - 1):\n"
        "        worker.send((worker.rank + 1) % worker.num, found[-1])\n"
        "        found.append(worker.receive((worker.rank - 1) % worker.num))\n"
        "    return found",
    ],
    "ex2": [
        "def even_size(num, bandwidth, latency):\n    return latency * bandwidth",
        "def even_size(num, bandwidth, latency):\n    return num * latency * bandwidth",
        "def even_size(num, bandwidth, latency):\n    return 0",
    ],
    "ex3": [
        "def few_messages(worker, array):\n    return ring(worker, array)",
        "def few_messages(worker, array):\n    return by_server(worker, array)",
        "def few_messages(worker, array):\n"
        "    partner = worker.rank ^ 1\n"
        "    worker.send(partner, array)\n"
        "    return array + worker.receive(partner)",
    ],
}

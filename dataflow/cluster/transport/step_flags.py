"""The flags of the frames of a step (`messages.Kind`: RUN, DATA, DONE)."""

from __future__ import annotations

#: RUN: the frame carries the first message too; its channel stands above the handle in the tag.
HAS_DATA = 1
#: RUN: note when each node runs; with the values that it produces.
TRACE, VALUES = 2, 4
#: RUN and DATA: answer the end of this step with the reads that the next one begins with.
WANT_NEXT = 8
#: DATA: continue the prefetched step; no RUN is sent for it.
ADOPT = 16
#: DONE, and DATA with LAST: after the fetches (as many as DONE's tag says) come the next reads.
PREFETCHED = 32
#: RUN: repeat the step whenever it is done (`dataflow.cluster.execution.server_loop`).
REPEAT = 64
#: DATA with ADOPT: the messages of all channels, one after the other; the tag says nothing.
ALL = 128
CHANNEL_SHIFT = 20
MAX_HANDLE = (1 << CHANNEL_SHIFT) - 1
#: DATA: the partition's last message; the fetches follow the channel's tensors.
LAST = 1

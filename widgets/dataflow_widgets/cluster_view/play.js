// What a recorded cluster looks like at one moment.  Rows are as played.py sends them.

/** All times at which something begins, leaves or arrives, each once, in order. */
export function momentsOf(play) {
  const times = new Set([0]);
  for (const span of play.spans) times.add(span[3]);
  for (const message of play.messages) {
    times.add(message[5]);
    times.add(message[6]);
  }
  for (const step of play.steps) {
    times.add(step[3]);
    if (step[7] !== null) times.add(step[7]);
  }
  return [...times].sort((a, b) => a - b);
}

/** The number of the last moment that is not after `time`. */
export function positionOf(moments, time) {
  let [low, high] = [0, moments.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (moments[middle] <= time) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * At a moment: `time`, `version` (updates so far), `flying` messages with the `share` of their way,
 * counted in moments so that quick ones are seen too, `running` [card, part, name], and by card the
 * `workers`: their step, the version that they read, whether they wait at the barrier.
 */
export function sceneAt(play, moments, at) {
  const time = moments[at];
  const version = play.sync ? latestToken(play, time) : updatesAt(play, time);
  const flying = [];
  for (const [link, from, to, name, bytes, sent, received] of play.messages) {
    if (sent > time) break; // sorted
    if (received < time) continue;
    const [first, last] = [positionOf(moments, sent), positionOf(moments, received)];
    const share = last === first ? 1 : (at - first + 0.35) / (last - first + 0.35);
    flying.push({ link, from, to, name, bytes, sent, received, share: Math.min(1, share) });
  }
  const running = [];
  const latest = new Map();
  for (const [card, part, name, begin, end] of play.spans) {
    if (begin > time) break; // sorted
    if (end >= time) latest.set(`${card}/${part}`, [card, part, name]);
  }
  running.push(...latest.values());
  const workers = new Map();
  for (const [number, card, begin, end, read, staleness, outcome, token] of play.steps) {
    if (begin > time) continue;
    const before = workers.get(card);
    if (before && before.begin > begin) continue;
    const isOver = time >= end;
    workers.set(card, { number, begin, end, version: read, late: isOver ? staleness : null, outcome, isOver, waits: token !== null && isOver });
  }
  return { time, version, flying, running, workers };
}

function updatesAt(play, time) {
  return play.steps.filter((step) => step[6] === "applied" && step[3] <= time).length;
}

/** Of synchronous steps: the newest version that a worker has been given. */
function latestToken(play, time) {
  return play.steps.reduce((most, step) => (step[2] <= time ? Math.max(most, step[4]) : most), 0);
}

/** How many updates a worker has not seen. */
export function behind(now, worker) {
  if (worker.isOver && !worker.waits) return worker.late ?? 0;
  return Math.max(0, now.version - worker.version);
}

/** What each link has carried until `time`, and how wide that makes it. */
export function widths(play, time, numLinks) {
  const [counts, bytes] = [new Array(numLinks).fill(0), new Array(numLinks).fill(0)];
  for (const [link, , , , size, , received] of play.messages) {
    if (received > time) continue;
    counts[link] += 1;
    bytes[link] += size;
  }
  const weights = bytes.some((total) => total) ? bytes : counts;
  const most = Math.max(1, ...weights);
  return { counts, bytes, pixels: weights.map((weight) => Number((1.2 + (numLinks > 10 ? 1.6 : 5) * Math.sqrt(weight / most) * (weight > 0)).toFixed(2))) };
}

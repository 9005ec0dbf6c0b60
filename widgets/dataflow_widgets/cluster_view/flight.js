// Messages of a running cluster as dots.  They take a millisecond and are shown for longer: a dot sets out
// when the page hears of its message and arrives when that has, at the earliest after SHOWN seconds.
import { seconds } from "../shared/values.js";

const SHOWN = 0.7; // seconds that a quick message is seen
const WAITS_AT = 0.45; // of the way: where a message is that has not arrived
const MOST = 60;
// Dots that set out on one link in one direction at once do so one after the other, as what they stand for did.
const APART = 0.12;
const MOST_APART = 0.9;

export class Flight {
  /** `linkOf(a, b)`: the number of the link between two cards, or undefined. */
  constructor(linkOf, now = () => performance.now() / 1000) {
    Object.assign(this, { linkOf, now });
    this.dots = new Map(); // by the message's number
  }

  /** Rows of the kernel: [number, from, to, text, bytes, sent, received or null]. */
  take(rows) {
    const now = this.now();
    const before = new Map();
    for (const [id, from, to, text, bytes, sent, received] of rows) {
      const known = this.dots.get(id);
      if (known) {
        Object.assign(known, { took: received === null ? null : received - sent, landed: now, at: this.share(known, now) });
        continue;
      }
      const link = this.linkOf(from, to);
      if (link === undefined) continue;
      const key = `${link} ${from}`;
      const began = now + Math.min(MOST_APART, APART * (before.get(key) ?? 0));
      before.set(key, (before.get(key) ?? 0) + 1);
      this.dots.set(id, { id, from, to, link, text, bytes, began, took: received === null ? null : received - sent, landed: null, at: 0 });
    }
    for (const id of [...this.dots.keys()].slice(0, Math.max(0, this.dots.size - MOST))) this.dots.delete(id);
  }

  share(dot, now) {
    const age = Math.max(0, now - dot.began);
    if (dot.landed !== null) return Math.min(1, dot.at + (now - dot.landed) / (SHOWN / 2));
    if (dot.took !== null) return Math.min(1, age / Math.max(SHOWN, Math.min(dot.took, 3)));
    return WAITS_AT * (1 - Math.exp(-age / SHOWN)); // ever slower: nobody knows when it arrives
  }

  /** The dots of this moment for `ClusterPicture.paintDots`; those that have arrived are forgotten. */
  flying() {
    const now = this.now();
    const found = [];
    for (const dot of this.dots.values()) {
      const share = this.share(dot, now);
      if (share >= 1) this.dots.delete(dot.id);
      else if (now >= dot.began) found.push({ ...dot, share, isHeld: dot.took === null && now - dot.began > 2 * SHOWN });
    }
    return found;
  }

  /** In words, for the line under the picture. */
  words(name) {
    const dots = this.flying();
    if (!dots.length) return "Nothing is on its way.";
    const one = (dot) => `${dot.text} from ${name(dot.from)} to ${name(dot.to)}, ${dot.took === null ? "not there yet" : seconds(dot.took)}`;
    return `A sample of what travels: ${dots.slice(0, 2).map(one).join("; ")}${dots.length > 2 ? `; and ${dots.length - 2} more` : ""}.`;
  }
}

// Axes: round ticks, scales, short numbers; and typed arrays out of what a message carries.

/** Round numbers between lo and hi, about `count` of them. */
export function ticks(lo, hi, count) {
  if (!(hi > lo)) return [lo];
  const raw = (hi - lo) / count;
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * size).find((m) => m >= raw * 0.999);
  const out = [];
  for (let k = Math.ceil(lo / step - 1e-9); k <= Math.floor(hi / step + 1e-9); k++) out.push(k * step || 0); // not -0
  return out;
}

/** Ticks of a logarithmic axis: powers of ten, with 2 and 5 between where there is room. */
export function logTicks(lo, hi, count) {
  const out = [];
  for (let p = Math.floor(Math.log10(lo)); p <= Math.ceil(Math.log10(hi)); p++) {
    for (const m of Math.log10(hi / lo) < 2 ? [1, 2, 5] : [1]) {
      const value = m * 10 ** p;
      if (value >= lo * 0.999 && value <= hi * 1.001) out.push(value);
    }
  }
  const every = Math.ceil(out.length / (count + 2));
  return out.length > 1 ? out.filter((_, i) => i % every === 0) : ticks(lo, hi, count);
}

export function short(value) {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size >= 1e6 && size < 1e12) return `${Number((value / (size >= 1e9 ? 1e9 : 1e6)).toPrecision(3))}${size >= 1e9 ? "G" : "M"}`;
  if (size >= 1e4 && size < 1e6) return `${Number((value / 1e3).toPrecision(3))}k`;
  if (size !== 0 && (size < 1e-3 || size >= 1e12)) return value.toExponential(2).replace(/\.?0+e/, "e").replaceAll("-", "−");
  return String(Number(value.toPrecision(4))).replace("-", "−");
}

/** "8 s", "3 min 5 s", "2 h 10 min". */
export function duration(seconds) {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** A buffer of a message as a typed array of its own: what arrives may not be aligned. */
export function typed(view, kind) {
  if (!view?.byteLength) return new kind(0);
  const buffer = view.buffer ?? view;
  const from = view.byteOffset ?? 0;
  return new kind(buffer.slice(from, from + view.byteLength));
}

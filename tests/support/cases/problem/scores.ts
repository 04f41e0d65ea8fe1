/** Score mods drawn at random, each in two forms, with what it does to an error (tests/support/oracles/tolerance.ts). */
import { alibi, relativeBias, scoreMod, softcap, table, tensor } from "heed";
import { softcapError } from "../../oracles/tolerance.ts";
import type { Random } from "../random.ts";
import type { Change, Lengths } from "./case.ts";

/** T5's bucket of a distance, independent of the library's (Raffel et al. 2020, section 2.1). */
function bucketOf(distance: number, count: number, maxDistance: number, bothWays: boolean): number {
  const half = bothWays ? count / 2 : count;
  const start = bothWays && distance > 0 ? half : 0;
  const n = bothWays ? Math.abs(distance) : Math.max(0, -distance);
  const exact = Math.floor(half / 2);
  if (n < exact) return start + n;
  const f = Math.fround;
  const steps = f(f(f(Math.log(f(n / exact))) / f(Math.log(maxDistance / exact))) * (half - exact));
  return start + Math.min(half - 1, exact + Math.trunc(steps));
}

type Draw = (r: Random, lengths: Lengths) => Change;

/** Every named score mod and a few custom ones. */
export const CHANGES: Readonly<Record<string, Draw>> = {
  softcap(r) {
    const c = Math.fround(r.pick([0.5, 5, 30, 50]) * (1 + r.next()));
    return {
      name: `softcap(${c})`,
      mod: softcap(c),
      apply: (s) => c * Math.tanh(s / c),
      error: (e, _, after) => e + softcapError(after),
    };
  },
  alibi(r, { B, Hq }) {
    const each = r.chance(0.3);
    const slopes = Float32Array.from({ length: each ? B * Hq : Hq }, () => r.next());
    const bias = (b: number, h: number, q: number, k: number) =>
      slopes[each ? b * Hq + h : h] * Math.abs(q - k);
    return {
      name: each ? "alibi [B, Hq]" : "alibi [Hq]",
      mod: alibi(each ? tensor(slopes, [B, Hq]) : slopes),
      apply: (s, ...at) => s - bias(...at),
      error: (e, _, after, ...at) => e + bias(...at) + Math.abs(after),
    };
  },
  relativeBias(r, { Hq }) {
    const bidirectional = r.chance(0.5);
    const count = r.pick([8, 16, 32]);
    const maxDistance = r.int(20, 130);
    const values = Float32Array.from({ length: count * Hq }, () => r.normal());
    return {
      name: `relativeBias(${count} buckets, ${maxDistance}, ${bidirectional ? "both ways" : "one way"})`,
      mod: relativeBias(tensor(values, [count, Hq]), { maxDistance: maxDistance, bidirectional }),
      apply: (s, _, h, q, k) => s + values[bucketOf(k - q, count, maxDistance, bidirectional) * Hq + h],
      error: (e, _, after) => e + Math.abs(after),
    };
  },
  distance(r) {
    const slope = Math.fround(r.next() / 5);
    return {
      name: "score − slope·|q − k|",
      mod: scoreMod(({ score, q, k }) => score.sub(q.sub(k).abs().mul(slope))),
      apply: (s, _, __, q, k) => s - Math.abs(q - k) * slope,
      error: (e, _, after, __, ___, q, k) => e + Math.abs(q - k) * slope + Math.abs(after),
    };
  },
  temperature(r, { Hq }) {
    const factors = Float32Array.from({ length: Hq }, () => 0.25 + r.next());
    return {
      name: "score · factor of the head",
      mod: scoreMod(({ score, h }) => score.mul(table(factors).at(h))),
      apply: (s, _, h) => s * factors[h],
      error: (e, _, after, __, h) => e * factors[h] + Math.abs(after),
    };
  },
  ahead: () => ({
    name: "half the score for keys ahead, and one less",
    mod: scoreMod(({ score, q, k }) => k.gt(q).select(score.mul(0.5).sub(1), score)),
    apply: (s, _, __, q, k) => (k > q ? s / 2 - 1 : s),
    error: (e, _, after, __, ___, q, k) => (k > q ? e / 2 + Math.abs(after) : e),
  }),
  parity: () => ({
    name: "−∞ for keys at odd distance: a change may mask",
    mod: scoreMod(({ score, q, k }) => q.sub(k).mod(2).eq(0).select(score, -Infinity)),
    apply: (s, _, __, q, k) => ((q - k) % 2 === 0 ? s : -Infinity),
    error: (e) => e,
  }),
};

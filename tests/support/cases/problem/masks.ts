/** Masks drawn at random, each in two forms: as heed's expression, and as a plain rule over positions. */
import {
  and,
  blockSparse,
  causal,
  dilated,
  documents,
  globalTokens,
  keyLengths,
  longformer,
  type Mask,
  maskMod,
  not,
  or,
  prefixLm,
  queryLengths,
  slidingWindow,
  table,
  tensor,
} from "heed";
import type { Random } from "../random.ts";
import type { Lengths, Rule } from "./case.ts";

/** A mask and its rule over (b, h, i, j); offsets are within. */
export interface DrawnMask {
  readonly name: string;
  readonly mask: Mask;
  readonly rule: Rule<boolean>;
}

type Draw = (r: Random, lengths: Lengths, offsets: readonly number[]) => DrawnMask;

const perBatch = (
  r: Random,
  B: number,
  limit: number,
): { n: number | number[]; at: (b: number) => number } => {
  if (r.chance(0.4)) {
    const n = r.int(0, limit);
    return { n, at: () => n };
  }
  const n = Array.from({ length: B }, () => r.int(0, limit));
  return { n, at: (b) => n[b] };
};

/** Every named mask and a few custom ones. */
export const MASKS: Readonly<Record<string, Draw>> = {
  causal: (_, __, offsets) => ({
    name: "causal()",
    mask: causal(),
    rule: (b, _h, i, j) => j <= i + offsets[b],
  }),
  window(r, { Nk }, offsets) {
    const reach = () => (r.chance(0.2) ? -1 : r.size(Nk + 1) - 1);
    const [left, right] = [reach(), reach()];
    return {
      name: `slidingWindow(${left}, ${right})`,
      mask: slidingWindow(left, right),
      rule: (b, _h, i, j) =>
        (left < 0 || i + offsets[b] - j <= left) && (right < 0 || j - i - offsets[b] <= right),
    };
  },
  dilated(r, _, offsets) {
    const n = r.int(1, 9);
    return { name: `dilated(${n})`, mask: dilated(n), rule: (b, _h, i, j) => (i + offsets[b] - j) % n === 0 };
  },
  keyLengths(r, { B, Nk }) {
    const { n, at } = perBatch(r, B, Nk);
    return { name: `keyLengths(${n})`, mask: keyLengths(n), rule: (b, _h, _i, j) => j < at(b) };
  },
  queryLengths(r, { B, Nq }) {
    const { n, at } = perBatch(r, B, Nq);
    return { name: `queryLengths(${n})`, mask: queryLengths(n), rule: (b, _h, i) => i < at(b) };
  },
  prefixLm(r, { B, Nk }, offsets) {
    const { n, at } = perBatch(r, B, Nk);
    return {
      name: `prefixLm(${n})`,
      mask: prefixLm(n),
      rule: (b, _h, i, j) => j < at(b) || j <= i + offsets[b],
    };
  },
  documents(r, { B, Nq, Nk }) {
    const ids = (rows: number, n: number) => {
      const out = new Int32Array(rows * n);
      for (let row = 0; row < rows; row++)
        for (let i = 0, id = 0; i < n; i++) out[row * n + i] = id += r.chance(0.15) ? 1 : 0;
      return out;
    };
    const rows = r.chance(0.5) ? B : 1;
    const [q, k] = [ids(rows, Nq), ids(rows, Nk)];
    const like = (list: Int32Array, n: number) => (rows === 1 ? list : tensor(list, [rows, n]));
    return {
      name: "documents(query ids, key ids)",
      mask: documents(like(q, Nq), like(k, Nk)),
      rule: (b, _h, i, j) => q[(rows === 1 ? 0 : b * Nq) + i] === k[(rows === 1 ? 0 : b * Nk) + j],
    };
  },
  globalTokens(r, { Nk }, offsets) {
    const list = Array.from({ length: r.int(0, 4) }, () => r.int(0, Math.max(0, Nk - 1)));
    return {
      name: `globalTokens(${list})`,
      mask: globalTokens(list),
      rule: (b, _h, i, j) => list.includes(i + offsets[b]) || list.includes(j),
    };
  },
  longformer(r, { Nk }, offsets) {
    const window = r.size(Nk);
    const list = Array.from({ length: r.int(0, 3) }, () => r.int(0, Math.max(0, Nk - 1)));
    return {
      name: `longformer(${window}, [${list}])`,
      mask: longformer(window, list),
      rule: (b, _h, i, j) =>
        Math.abs(i + offsets[b] - j) <= window || list.includes(i + offsets[b]) || list.includes(j),
    };
  },
  blockSparse(r, { Hq, Nq, Nk }, offsets) {
    const size = r.size(40);
    const count = (positions: number) => Math.max(1, Math.ceil(positions / size));
    const [rows, columns] = [count(Nq + Math.max(0, ...offsets)), count(Nk)];
    const heads = r.chance(0.5) ? Hq : 1;
    const flags = Uint8Array.from({ length: heads * rows * columns }, () => (r.chance(0.5) ? 1 : 0));
    if (offsets.some((x) => x < 0)) return MASKS.dilated(r, { Nk } as Lengths, offsets);
    return {
      name: `blockSparse(${heads > 1 ? `${heads} heads, ` : ""}${rows} × ${columns}, ${size})`,
      mask: blockSparse(tensor(flags, heads > 1 ? [heads, rows, columns] : [rows, columns], "bool"), size),
      rule: (b, h, i, j) =>
        flags[
          ((heads > 1 ? h : 0) * rows + Math.floor((i + offsets[b]) / size)) * columns + Math.floor(j / size)
        ] === 1,
    };
  },
  byHead(r, { Hq }, offsets) {
    const reach = Int32Array.from({ length: Hq }, () => r.int(0, 30));
    return {
      name: "a reach of each head's own",
      mask: maskMod(({ h, q, k }) => q.sub(k).abs().le(table(reach).at(h))),
      rule: (b, h, i, j) => Math.abs(i + offsets[b] - j) <= reach[h],
    };
  },
  checkered(_, __, offsets) {
    return {
      name: "every second cell of a checkerboard, shifted by batch entry and head",
      mask: maskMod(({ b, h, q, k }) => q.add(k).add(b).add(h).mod(2).eq(0)),
      rule: (b, h, i, j) => (i + offsets[b] + j + b + h) % 2 === 0,
    };
  },
  striped(r, _, offsets) {
    const [n, width] = [r.int(2, 9), r.int(1, 4)];
    const mod = (x: number, m: number) => ((x % m) + m) % m;
    return {
      name: `stripes of distance mod ${n} < ${width}, in blocks of ${n} distances`,
      mask: maskMod(({ q, k }) => q.sub(k).mod(n).lt(width).or(q.sub(k).floorDiv(n).mod(3).eq(1))),
      rule(b, _h, i, j) {
        const distance = i + offsets[b] - j;
        return mod(distance, n) < width || mod(Math.floor(distance / n), 3) === 1;
      },
    };
  },
  joined(r, lengths, offsets) {
    const names = Object.keys(MASKS).filter((name) => name !== "joined");
    const [x, y] = [0, 1].map(() => MASKS[r.pick(names)](r, lengths, offsets));
    return r.pick<() => DrawnMask>([
      () => ({ name: `and(${x.name}, ${y.name})`, mask: and(x.mask, y.mask), rule: (...at) => x.rule(...at) && y.rule(...at) }),
      () => ({ name: `or(${x.name}, ${y.name})`, mask: or(x.mask, y.mask), rule: (...at) => x.rule(...at) || y.rule(...at) }),
      () => ({ name: `not(${x.name})`, mask: not(x.mask), rule: (...at) => !x.rule(...at) }),
    ])(); // biome-ignore format: a row a join
  },
};

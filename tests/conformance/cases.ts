/**
 * The table that every backend and level runs: one row per case. A new mask or score mod needs one
 * row in tests/support/cases/problem/masks.ts or tests/support/cases/problem/scores.ts; it then appears here and in the random cases.
 */
import type { AttentionOptions } from "heed";
import type { Arrangement, Case, Dtype, Fill, Lengths } from "../support/cases/problem/case.ts";
import { ARRANGEMENTS, arranged, FILLS, filled } from "../support/cases/problem/case.ts";
import { MASKS } from "../support/cases/problem/masks.ts";
import { CHANGES } from "../support/cases/problem/scores.ts";
import { random } from "../support/cases/random.ts";

/** A row of the table. */
export interface Entry {
  readonly name: string;
  /** Features of the case, for skipping. */
  readonly features: readonly string[];
  /** Twice the multiplications and additions of the case, the mask not counted: for speed, too. */
  readonly flops: number;
  /** Builds the case; always the same one. */
  readonly make: () => Case;
}

interface Row {
  lengths?: Partial<Lengths> & { N?: number; d?: number; H?: number };
  dtype?: Dtype;
  kvDtype?: Dtype;
  fill?: Fill;
  layout?: "bhsd" | "bshd";
  arrangement?: Arrangement;
  masks?: readonly string[];
  changes?: readonly string[];
  isCausal?: AttentionOptions["isCausal"];
  queryOffset?: number | number[];
  scale?: number;
  sinks?: readonly number[];
  features?: readonly string[];
}

function entry(name: string, row: Row = {}): Entry {
  const { N = 33, d = 16, H = 2 } = row.lengths ?? {};
  const lengths: Lengths = { B: 1, Hq: H, Hkv: H, Nq: N, Nk: N, dk: d, dv: d, ...row.lengths };
  const { B, Hq, Nq, Nk, dk, dv } = lengths;
  return {
    name,
    features: [
      row.dtype ?? "float32",
      ...(row.features ?? []),
      ...(row.masks ?? []),
      ...(row.changes ? [...row.changes, "score mod"] : []),
      ...(row.kvDtype ? [row.kvDtype] : []),
      ...(row.sinks ? ["sinks"] : []),
      ...(lengths.Hq === lengths.Hkv ? [] : ["gqa"]),
    ],
    flops: 2 * B * Hq * Nq * Nk * (dk + dv),
    make: () => build(name, lengths, row),
  };
}

function build(name: string, lengths: Lengths, row: Row): Case {
  const { B, Hq, Hkv, Nq, Nk, dk, dv } = lengths;
  const { dtype = "float32", kvDtype = dtype, fill = "normal", layout = "bhsd", arrangement = "dense" } = row;
  const r = random([...name].reduce((n, c) => (n * 31 + c.charCodeAt(0)) % 2 ** 31, 7));
  const offset = row.queryOffset ?? (row.isCausal === "lower-right" ? Nk - Nq : 0);
  const offsets = typeof offset === "number" ? new Array<number>(B).fill(offset) : offset;
  const masks = (row.masks ?? []).map((kind) => MASKS[kind](r, lengths, offsets));
  const changes = (row.changes ?? []).map((kind) => CHANGES[kind](r, lengths));
  const exact = {
    q: filled(r, B * Hq * Nq * dk, dk, fill, dtype),
    k: filled(r, B * Hkv * Nk * dk, dk, fill, kvDtype),
    v: filled(r, B * Hkv * Nk * dv, dv, fill, kvDtype),
  };
  return {
    name,
    lengths,
    dtype,
    query: arranged(exact.q, [B, Hq, Nq, dk], dtype, arrangement, layout, 4),
    key: arranged(exact.k, [B, Hkv, Nk, dk], kvDtype, arrangement, layout, 4),
    value: arranged(exact.v, [B, Hkv, Nk, dv], kvDtype, arrangement, layout, 4),
    exact,
    options: {
      layout,
      ...(masks.length && { attnMask: masks.map((m) => m.mask) }),
      ...(changes.length && { scoreMod: changes.map((c) => c.mod) }),
      ...(row.isCausal && { isCausal: row.isCausal }),
      ...(row.queryOffset !== undefined && { queryOffset: row.queryOffset }),
      ...(row.scale !== undefined && { scale: row.scale }),
      ...(row.sinks && { sinks: [...row.sinks] }),
    },
    scale: row.scale ?? (dk === 0 ? 1 : 1 / Math.sqrt(dk)),
    offsets,
    allowed: (...at) =>
      masks.every((m) => m.rule(...at)) && (!row.isCausal || at[3] <= at[2] + offsets[at[0]]),
    changes,
    added: [],
    sinks: row.sinks,
    structured: fill !== "normal",
  };
}

const EDGES = [1, 2, 3, 4, 5, 63, 64, 65, 127, 128, 129, 191, 193];
const HEADS = [
  1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 80, 96, 128, 160, 192, 256,
];

/** All cases. */
export const CASES: readonly Entry[] = [
  ...EDGES.map((N) => entry(`${N} × ${N}`, { lengths: { N } })),
  ...EDGES.map((Nk) => entry(`one query, ${Nk} keys`, { lengths: { Nq: 1, Nk, d: 64 } })),
  ...EDGES.map((Nq) => entry(`${Nq} queries, 37 keys`, { lengths: { Nq, Nk: 37, d: 8 } })),
  ...HEADS.map((d) => entry(`head size ${d}`, { lengths: { d, N: 19 } })),
  ...HEADS.map((d) => entry(`one query, head size ${d}`, { lengths: { d, Nq: 1, Nk: 70 } })),
  entry("dk 24, dv 40", { lengths: { dk: 24, dv: 40 } }),
  entry("dk 64, dv 1", { lengths: { dk: 64, dv: 1 } }),
  entry("dk 1, dv 130", { lengths: { dk: 1, dv: 130 } }),
  entry("grouped: 6 query heads, 2 key heads", { lengths: { B: 2, Hq: 6, Hkv: 2 } }),
  entry("multi-query: 5 query heads, 1 key head", { lengths: { B: 2, Hq: 5, Hkv: 1 } }),
  entry("grouped decode: 8 query heads, 2 key heads, 1 query, 300 keys", {
    lengths: { B: 2, Hq: 8, Hkv: 2, Nq: 1, Nk: 300, d: 64 },
  }),
  entry("no keys", { lengths: { Nk: 0 } }),
  entry("no queries", { lengths: { Nq: 0 } }),
  entry("no batch", { lengths: { B: 0 } }),
  entry("no heads", { lengths: { H: 0 } }),
  entry("head size 0", { lengths: { dk: 0 } }),
  entry("value size 0", { lengths: { dv: 0 } }),
  entry("no keys but sinks", { lengths: { Nk: 0 }, sinks: [1, -2] }),
  entry("long: 300 × 700", { lengths: { H: 1, Nq: 300, Nk: 700, d: 64 } }),
  entry("decode over 9,001 keys", { lengths: { Nq: 1, Nk: 9001, d: 64 } }),
  entry("3 queries over 2,049 keys, causal to the last", {
    lengths: { Nq: 3, Nk: 2049, d: 32 },
    isCausal: "lower-right",
  }),
  ...(
    [
      [40, 40, true],
      [40, 70, "upper-left"],
      [70, 40, "upper-left"],
      [40, 70, "lower-right"],
      [70, 40, "lower-right"],
      [130, 130, true],
    ] as const
  ).map(([Nq, Nk, isCausal]) =>
    entry(`causal ${isCausal}, ${Nq} × ${Nk}`, { lengths: { Nq, Nk }, isCausal }),
  ),
  entry("causal with an offset for each batch entry", {
    lengths: { B: 3, Nq: 20, Nk: 60 },
    isCausal: true,
    queryOffset: [0, 40, 13],
  }),
  ...Object.keys(MASKS).flatMap((mask) => [
    entry(`mask ${mask}, 70 × 133`, { lengths: { B: 2, Hq: 4, Nq: 70, Nk: 133 }, masks: [mask] }),
    entry(`mask ${mask}, 1 × 90 at position 50`, {
      lengths: { B: 2, Nq: 1, Nk: 90 },
      masks: [mask],
      queryOffset: 50,
    }),
    entry(`mask ${mask} and causal`, { lengths: { B: 2, N: 66 }, masks: [mask], isCausal: true }),
  ]),
  ...Object.keys(CHANGES).flatMap((change) => [
    entry(`score ${change}`, { lengths: { B: 2, Hq: 4, Nq: 40, Nk: 70 }, changes: [change] }),
    entry(`score ${change}, one query`, {
      lengths: { B: 2, Nq: 1, Nk: 90 },
      changes: [change],
      queryOffset: 80,
    }),
  ]),
  entry("soft cap, then ALiBi, in a causal window", {
    lengths: { N: 100 },
    changes: ["softcap", "alibi"],
    masks: ["window"],
    isCausal: true,
  }),
  entry("sinks", { lengths: { N: 50 }, sinks: [0.5, -3] }),
  entry("sinks over 9,001 keys, one query", { lengths: { Nq: 1, Nk: 9001 }, scale: 0.01, sinks: [9, 4] }),
  entry("sinks over 5,000 keys, 20 queries", {
    lengths: { H: 1, Nq: 20, Nk: 5000 },
    scale: 0.01,
    sinks: [9],
  }),
  entry("sinks of −∞ and of 20, fully masked rows", {
    lengths: { N: 50 },
    sinks: [-Infinity, 20],
    masks: ["queryLengths", "keyLengths"],
  }),
  ...(["float64", "float16", "bfloat16"] as const).flatMap((dtype) => [
    entry(`${dtype}, 40 × 70`, { dtype, lengths: { Hq: 4, Nq: 40, Nk: 70 }, isCausal: "lower-right" }),
    entry(`${dtype}, one query, 140 keys`, { dtype, lengths: { Nq: 1, Nk: 140, d: 64 } }),
    entry(`${dtype}, odd head size`, { dtype, lengths: { dk: 13, dv: 7 } }),
  ]),
  ...(["float16", "bfloat16"] as const).flatMap((kvDtype) => [
    entry(`float32 queries, ${kvDtype} keys and values`, { kvDtype, lengths: { Nq: 30, Nk: 80 } }),
    entry(`float32 query, ${kvDtype} cache`, { kvDtype, lengths: { Nq: 1, Nk: 500, d: 64, Hq: 4 } }),
  ]),
  ...FILLS.map((fill) => entry(`${fill} values`, { fill, lengths: { N: 60, d: 32 } })),
  ...FILLS.map((fill) => entry(`${fill} values, one query`, { fill, lengths: { Nq: 1, Nk: 200, d: 32 } })),
  ...ARRANGEMENTS.flatMap((arrangement) =>
    (["bhsd", "bshd"] as const).map((layout) =>
      entry(`${arrangement} in ${layout}`, {
        arrangement,
        layout,
        lengths: { B: 2, Hq: 4, Nq: 20, Nk: 37, dk: 12, dv: 9 },
      }),
    ),
  ),
  entry("negative scale", { scale: -0.7 }),
  entry("scale 0", { scale: 0 }),
  entry("scores of ±10,000", { scale: 2500, features: ["huge"] }),
];

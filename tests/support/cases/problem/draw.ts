/** A random call from a seed: sizes, dtypes, views, masks, score mods and values. */
import { type AttentionOptions, type MaskLike, Tensor } from "heed";
import { type Random, random } from "../random.ts";
import type { Case, Change, Dtype, Lengths, Rule } from "./case.ts";
import { ARRANGEMENTS, arranged, FILLS, filled, rounded } from "./case.ts";
import { MASKS } from "./masks.ts";
import { CHANGES } from "./scores.ts";

/** Log-uniform from 1 to `longest`, sometimes a power of two, or one more or less. */
function length(r: Random, longest: number): number {
  if (r.chance(0.3)) return Math.max(1, Math.min(longest, 2 ** r.int(0, 7) + r.int(-1, 1)));
  return r.size(longest);
}

/** Limits the work of a case, B·Hq·Nq·Nk·(dk + dv), for the plain loops of the reference. */
const WORK = 400_000;

/** Lengths of a case; `square`: as many queries as keys, as in self-attention. */
function lengthsOf(r: Random, longest: number, square: boolean): Lengths {
  let [Nq, Nk] = [length(r, longest), length(r, longest)];
  if (r.chance(0.15)) Nq = 1;
  if (square) Nq = Nk;
  let dk = r.chance(0.5) ? r.pick([8, 16, 32, 64]) : length(r, Math.min(256, 2 * longest));
  let dv = r.chance(0.7) ? dk : length(r, Math.min(256, 2 * longest));
  let B = r.pick([1, 1, 2, 3]);
  let Hkv = r.pick([1, 1, 2, 3]);
  let G = r.pick([1, 1, 1, 2, 4]);
  const over = () => (B * Hkv * G * Nq * Nk * (dk + dv)) / WORK;
  if (over() > 1) G = 1;
  if (over() > 1) B = 1;
  if (over() > 1) Hkv = 1;
  while (over() > 2) {
    if (square) {
      Nq = Math.ceil(Nq / 2);
      Nk = Nq;
      continue;
    }
    if (Nq >= Nk && Nq > 1) Nq = Math.ceil(Nq / 2);
    else if (Nk > 1) Nk = Math.ceil(Nk / 2);
    else [dk, dv] = [Math.ceil(dk / 2), Math.ceil(dv / 2)];
  }
  return { B, Hq: Hkv * G, Hkv, Nq, Nk, dk, dv };
}

/** The case of a seed; with a smaller `longest`, the same choices over shorter lengths. */
export function draw(seed: number, longest = 200, only: Dtype | undefined = undefined, square = false): Case {
  const r = random(seed);
  const lengths = lengthsOf(random(seed + 0.5 * 2 ** 40), longest, square);
  const { B, Hq, Hkv, Nq, Nk, dk, dv } = lengths;
  const dtype =
    only ?? r.pick<Dtype>(["float32", "float32", "float32", "float32", "float16", "bfloat16", "float64"]);
  const kvDtype =
    dtype === "float32" && !only && r.chance(0.2) ? r.pick<Dtype>(["bfloat16", "float16"]) : dtype;
  const fill = r.chance(0.6) ? "normal" : r.pick(FILLS);
  const layout = r.chance(0.25) ? "bshd" : "bhsd";
  const rank = layout === "bhsd" && Hq === 1 ? (B === 1 && r.chance(0.5) ? 2 : r.pick([3, 4])) : 4;

  const name: string[] = [];
  const options: { -readonly [K in keyof AttentionOptions]: AttentionOptions[K] } = {};
  if (layout === "bshd") options.layout = layout;
  const offsets = positions(r, lengths, options, name);

  // Masks: structural ones and tensors, intersecting.
  const rules: Rule<boolean>[] = [];
  if (options.isCausal) rules.push((b, _, i, j) => j <= i + offsets[b]);
  const members: MaskLike[] = [];
  for (let n = r.pick([0, 0, 1, 1, 2]); n > 0; n--) {
    const one = MASKS[r.pick(Object.keys(MASKS))](r, lengths, offsets);
    members.push(one.mask);
    rules.push(one.rule);
    name.push(one.name);
  }
  const allowed: Rule<boolean> = (...at) => rules.every((rule) => rule(...at));
  const added: Rule<number>[] = [];
  if (r.chance(0.25)) {
    const flags = maskTensor(r, lengths, rank, name, "bool", () => (r.chance(0.7) ? 1 : 0));
    members.push(flags.tensor);
    rules.push((...at) => flags.at(...at) === 1);
  }
  if (r.chance(0.3)) {
    const floats = dtype !== "float32" && r.chance(0.5) ? dtype : "float32";
    const steep = r.pick([1, 1, 100]);
    const bias = maskTensor(r, lengths, rank, name, floats, () =>
      r.chance(0.1) ? -Infinity : rounded(r.normal() * steep, floats),
    );
    poisonUnread(lengths, allowed, bias);
    members.push(bias.tensor);
    added.push(bias.at);
  }
  if (members.length) options.attnMask = members.length === 1 && r.chance(0.5) ? members[0] : members;

  // Score mods, scale, sinks.
  const changes: Change[] = [];
  for (let n = r.pick([0, 0, 0, 1, 2]); n > 0; n--)
    changes.push(CHANGES[r.pick(Object.keys(CHANGES))](r, lengths));
  if (changes.length) options.scoreMod = changes.length === 1 ? changes[0].mod : changes.map((c) => c.mod);
  for (const change of changes) name.push(change.name);
  let scale = 1 / Math.sqrt(dk);
  if (r.chance(0.3)) {
    scale = Math.fround(r.pick([-1, 0.1, 1, 2, -0.3]) * (fill === "huge" ? 1 / dk : 1));
    options.scale = scale;
  }
  let sinks: number[] | undefined;
  if (r.chance(0.15)) {
    sinks = Array.from({ length: Hq }, () => (r.chance(0.2) ? -Infinity : Math.fround(3 * r.normal())));
    options.sinks = r.chance(0.5) ? sinks : Float32Array.from(sinks);
    name.push("sinks");
  }

  // Values; masked ones are NaN, ∞ or huge.
  const shared = rank === 4 && B > 1 && layout === "bhsd" && r.chance(0.2);
  const exact = {
    q: filled(r, B * Hq * Nq * dk, dk, fill, dtype),
    k: filled(r, B * Hkv * Nk * dk, dk, fill, kvDtype),
    v: filled(r, B * Hkv * Nk * dv, dv, r.chance(0.7) ? fill : "normal", kvDtype),
  };
  if (shared)
    for (let b = 1; b < B; b++) {
      exact.k.copyWithin(b * Hkv * Nk * dk, 0, Hkv * Nk * dk);
      exact.v.copyWithin(b * Hkv * Nk * dv, 0, Hkv * Nk * dv);
    }
  const visible: Rule<boolean> = (...at) => allowed(...at) && added.every((add) => add(...at) !== -Infinity);
  if (r.chance(0.4)) poisonUnseen(r, lengths, shared, exact, visible);
  const where = () => (r.chance(0.5) ? "dense" : r.pick(ARRANGEMENTS));
  return {
    name: `seed ${seed} (most ${longest}) ${fill} ${layout} ${name.join(", ")}`,
    lengths,
    dtype,
    query: arranged(exact.q, [B, Hq, Nq, dk], dtype, where(), layout, rank),
    key: arranged(exact.k, [B, Hkv, Nk, dk], kvDtype, where(), layout, rank, shared),
    value: arranged(exact.v, [B, Hkv, Nk, dv], kvDtype, where(), layout, rank, shared),
    exact,
    options,
    scale,
    offsets,
    allowed,
    changes,
    added,
    sinks,
    structured: fill !== "normal",
  };
}

function positions(
  r: Random,
  { B, Nq, Nk }: Lengths,
  options: { -readonly [K in keyof AttentionOptions]: AttentionOptions[K] },
  name: string[],
): number[] {
  const kind = r.pick(["none", "none", "upper-left", "lower-right", "offset", "offsets"]);
  if (kind === "upper-left" || kind === "lower-right") {
    options.isCausal = kind;
    name.push(`isCausal ${kind}`);
    return new Array(B).fill(kind === "lower-right" ? Nk - Nq : 0);
  }
  if (kind === "none") return new Array(B).fill(0);
  if (r.chance(0.6)) options.isCausal = true;
  const offsets =
    kind === "offset" ? new Array(B).fill(r.int(-5, Nk)) : Array.from({ length: B }, () => r.int(-5, Nk));
  options.queryOffset = kind === "offset" ? offsets[0] : offsets;
  name.push(`queryOffset ${offsets}${options.isCausal ? " causal" : ""}`);
  return offsets;
}

interface DrawnTensor {
  tensor: Tensor;
  at: Rule<number>;
  index: Rule<number>;
}

/** A mask tensor of a shape that broadcasts to [B, Hq, Nq, Nk] (of the rank the call has). */
function maskTensor(
  r: Random,
  { B, Hq, Nq, Nk }: Lengths,
  rank: number,
  name: string[],
  dtype: "bool" | Dtype,
  value: () => number,
): DrawnTensor {
  const full = rank === 4 ? [B, Hq, Nq, Nk] : rank === 3 ? [B, Nq, Nk] : [Nq, Nk];
  const maskRank = r.int(1, full.length);
  const shape = full.slice(-maskRank).map((n) => (r.chance(0.3) ? 1 : n));
  const size = shape.reduce((a, b) => a * b, 1);
  const numbers = Float64Array.from({ length: size }, value);
  const axes = (b: number, h: number, i: number, j: number) =>
    (rank === 4 ? [b, h, i, j] : rank === 3 ? [b, i, j] : [i, j]).slice(-maskRank);
  const index: Rule<number> = (...at) => {
    let n = 0;
    axes(...at).forEach((x, axis) => {
      n = n * shape[axis] + (shape[axis] === 1 ? 0 : x);
    });
    return n;
  };
  name.push(`${dtype} mask [${shape}]`);
  const tensorKept =
    dtype === "bool"
      ? new Tensor(Uint8Array.from(numbers), shape, "bool")
      : arranged(numbers, [1, 1, 1, size], dtype, r.pick(["dense", "offset"]), "bhsd", 2);
  return {
    tensor:
      dtype === "bool" ? tensorKept : new Tensor(tensorKept.data, shape, dtype, undefined, tensorKept.offset),
    at: (...at) => numbers[index(...at)],
    index,
  };
}

/** NaN in every cell of an additive mask that other masks mask. */
function poisonUnread({ B, Hq, Nq, Nk }: Lengths, structural: Rule<boolean>, bias: DrawnTensor): void {
  const { data, offset, dtype } = bias.tensor;
  const read = new Uint8Array(bias.tensor.size);
  for (let b = 0; b < B; b++)
    for (let h = 0; h < Hq; h++)
      for (let i = 0; i < Nq; i++)
        for (let j = 0; j < Nk; j++) if (structural(b, h, i, j)) read[bias.index(b, h, i, j)] = 1;
  const nan = dtype === "float16" ? 0x7e00 : dtype === "bfloat16" ? 0x7fc0 : Number.NaN;
  read.forEach((x, n) => {
    if (!x) (data as Float32Array)[offset + n] = nan;
  });
}

/** NaN, ∞ or a huge number in keys and values that no query sees, and in queries that are fully masked. */
function poisonUnseen(
  r: Random,
  { B, Hq, Hkv, Nq, Nk, dk, dv }: Lengths,
  shared: boolean,
  exact: Case["exact"],
  allowed: Rule<boolean>,
): void {
  const keys = new Uint8Array(B * Hkv * Nk);
  const rows = new Uint8Array(B * Hq * Nq);
  for (let b = 0; b < B; b++)
    for (let h = 0; h < Hq; h++)
      for (let i = 0; i < Nq; i++)
        for (let j = 0; j < Nk; j++)
          if (allowed(b, h, i, j)) {
            rows[(b * Hq + h) * Nq + i] = 1;
            const head = Math.floor((h * Hkv) / Hq);
            for (const entry of shared ? Array.from({ length: B }, (_, n) => n) : [b])
              keys[(entry * Hkv + head) * Nk + j] = 1;
          }
  const poison = r.pick([Number.NaN, Infinity, -Infinity]);
  const spread = (list: Uint8Array, into: Float64Array, width: number) =>
    list.forEach((visible, n) => {
      if (!visible) into.fill(poison, n * width, (n + 1) * width);
    });
  spread(keys, exact.k, dk);
  spread(keys, exact.v, dv);
  spread(rows, exact.q, dk);
}

/** What `check` throws for the smallest lengths of a seed's case that fail, drawn up to `longest` before; `failure` where no smaller ones do. */
export function smallest(
  check: (drawn: Case) => unknown,
  seed: number,
  longest: number,
  failure: unknown,
): unknown {
  for (const length of [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 100])
    try {
      if (length < longest) check(draw(seed, length));
    } catch (error) {
      return error;
    }
  return failure;
}

/**
 * The differential driver: a problem drawn once from a seed is computed in every way that the library has, and each answer is
 * compared with the reference in float64: all levels, shards of the keys merged, and gather, ring and resident of heed/cluster over
 * ranks in one process. An answer is the output, lse, and every gradient: query, key, value, sinks, tables and masks.
 *
 * Bounds are those of tests/support/oracles (Bound B of dtype, sizes and terms). A result of n parts may be off by the bound of each
 * part, hence n times the bound, and by the rounding of each part in its dtype.
 */
import type { AttentionGradients, AttentionOptions, MaskLike, State } from "heed";
import { and, attentionBackward, maskMod, mergeStates, or, scaledDotProductAttention, Tensor } from "heed";
import type { ContextOptions } from "heed/cluster";
import { contextAttention, contextAttentionBackward, localCluster, shardSequence } from "heed/cluster";
import { type Level, restore, use } from "../support/backends/levels.ts";
import { type Case, describeCase, type Rule } from "../support/cases/problem/case.ts";
import { draw } from "../support/cases/problem/draw.ts";
import { type Random, random } from "../support/cases/random.ts";
import type { Tolerances } from "../support/oracles/backward-oracle.ts";
import { exactly, flat, tolerancesOf, upstream } from "../support/oracles/backward-oracle.ts";
import { truth } from "../support/oracles/oracle.ts";
import { difference, partsBound, roundingOf } from "../support/oracles/tolerance.ts";

/** A problem, and the random choices of how it is divided. */
export interface Problem {
  readonly seed: number;
  readonly longest: number;
  readonly c: Case;
  /** A new generator: each way to compute draws the same numbers, whatever the other ways did. */
  readonly choices: () => Random;
}

/** Masks without the own position: rows that see no key of a part, but keys of another part. */
const OFF_DIAGONAL: Readonly<Record<string, (N: number) => { mask: MaskLike; rule: (q: number, k: number) => boolean }>> = {
  "the other half": (N) => ({
    mask: maskMod(({ q, k }) => or(and(q.lt(N >> 1), k.ge(N >> 1)), and(q.ge(N >> 1), k.lt(N >> 1)))),
    rule: (q, k) => q < N >> 1 !== k < N >> 1,
  }),
  "every key but the own": () => ({ mask: maskMod(({ q, k }) => q.ne(k)), rule: (q, k) => q !== k }),
  "keys strictly before": () => ({ mask: maskMod(({ q, k }) => k.lt(q)), rule: (q, k) => k < q }),
  "keys far away": (N) => ({
    mask: maskMod(({ q, k }) => q.sub(k).abs().ge(N >> 2)),
    rule: (q, k) => Math.abs(q - k) >= N >> 2,
  }),
}; // biome-ignore format: a row a mask

/** The problem of a seed; with a smaller `longest`, the same choices over shorter lengths. */
export function drawProblem(seed: number, longest = 0): Problem {
  const choices = () => random(seed + 2 ** 41);
  const r = choices();
  const lengths = longest || r.pick([5, 20, 60, 100]);
  const drawn = draw(seed, lengths, undefined, r.chance(0.6));
  const { B, Nk } = drawn.lengths;
  const options: { -readonly [K in keyof AttentionOptions]: AttentionOptions[K] } = { ...drawn.options };
  let { allowed, sinks, name } = drawn;
  if (r.chance(0.35)) {
    const kind = r.pick(Object.keys(OFF_DIAGONAL));
    const { mask, rule } = OFF_DIAGONAL[kind](Nk);
    const before: Rule<boolean> = allowed;
    allowed = (b, h, i, j) => before(b, h, i, j) && rule(i + drawn.offsets[b], j);
    options.attnMask = [...membersOf(options), mask];
    name += ` ${kind}`;
  }
  if (r.chance(0.2)) {
    options.dropoutP = r.pick([0.1, 0.5]);
    options.seed = r.int(0, 1000);
    name += ` dropout ${options.dropoutP}`;
  }
  if (!sinks && r.chance(0.25)) {
    sinks = Array.from({ length: drawn.lengths.Hq }, () => Math.fround(2 * r.normal()));
    options.sinks = Float32Array.from(sinks);
    name += " sinks";
  }
  return {
    seed,
    longest: lengths,
    c: { ...drawn, name, options, allowed, ...(B > 0 && sinks && { sinks }) },
    choices,
  };
}

const membersOf = ({ attnMask }: AttentionOptions): MaskLike[] =>
  attnMask === undefined ? [] : Array.isArray(attnMask) ? [...attnMask] : [attnMask as MaskLike];

/** Numbers of an answer by name, in the order of the reference, and the unit of the last rounding of each. */
type Answer = Map<
  string,
  { values: Float64Array; rounding: { u: number; least: number }; size?: Float64Array }
>;

function answerOf(c: Case, state: State, gradients: Partial<AttentionGradients>): Answer {
  const answer: Answer = new Map();
  const add = (name: string, t: Tensor | undefined, values?: Float64Array) => {
    if (t) answer.set(name, { values: values ?? t.toFloat64(), rounding: roundingOf(t.dtype) });
  };
  add("output", state.output, flat(c, state.output));
  add("lse", state.lse);
  for (const name of ["dQuery", "dKey", "dValue"] as const) {
    const t = gradients[name];
    if (t) add(name, t, flat(c, t));
  }
  add("dSinks", gradients.dSinks);
  gradients.dTables?.forEach((t, n) => void add(`dTables ${n}`, t));
  // A mask alone has `dMask`, a list `dMasks`.
  for (const [n, t] of (gradients.dMasks ?? [gradients.dMask]).entries()) add(`dMasks ${n}`, t);
  return answer;
}

/** The bound of the numbers of a result, and their sums of absolute terms where parts are larger than the sum. */
interface Bound {
  readonly of: (n: number) => number;
  readonly size?: (n: number) => number;
}

/** Bounds by name, of the numbers of an answer. */
function boundsOf(c: Case, tolerances: Tolerances, want: Answer): Map<string, Bound> {
  const { tolerance, lseTolerance } = truth(c);
  const drop = 1 / (1 - (c.options.dropoutP ?? 0));
  const { Hq, Nq, Nk } = c.lengths;
  const bounds = new Map<string, Bound>();
  // The gradient of inputs that are broadcast over batch entries is the sum.
  const summed = (name: string, list: Float64Array) => {
    const length = want.get(name)?.values.length ?? 0;
    const sums = new Float64Array(length);
    list.forEach((x, n) => {
      sums[n % length] += x;
    });
    bounds.set(name, { of: (n) => sums[n] });
  };
  bounds.set("output", { of: (n) => drop * tolerance[n] });
  bounds.set("lse", { of: (n) => lseTolerance[n] });
  for (const name of ["dQuery", "dKey", "dValue"] as const) summed(name, tolerances[name]);
  const { sizes } = tolerances;
  bounds.set("dSinks", { of: (h) => tolerances.sinks[h], size: (h) => sizes.sinks[h] });
  membersOf(c.options).forEach((mask, n) => {
    if (!(mask instanceof Tensor) || mask.dtype === "bool") return;
    const shape = [1, 1, 1, 1, ...mask.shape].slice(-Math.max(4, mask.shape.length));
    // A mask of rank 3 has batch entries before the rows where the call has no heads.
    const axes = c.query.shape.length === 3 ? [shape[1], 1, shape[2], shape[3]] : shape;
    const [sums, terms] = [new Float64Array(mask.size), new Float64Array(mask.size)];
    for (let at = 0; at < tolerances.cells.length; at++) {
      const [j, i] = [at % Nk, Math.floor(at / Nk) % Nq];
      const [h, b] = [Math.floor(at / (Nk * Nq)) % Hq, Math.floor(at / (Nk * Nq * Hq))];
      const cell = [b, h, i, j].reduce((x, y, axis) => x * axes[axis] + (axes[axis] === 1 ? 0 : y), 0);
      sums[cell] += tolerances.cells[at];
      terms[cell] += sizes.cells[at];
    }
    bounds.set(`dMasks ${n}`, { of: (cell) => sums[cell], size: (cell) => terms[cell] });
  });
  for (const name of want.keys())
    if (name.startsWith("dTables")) bounds.set(name, { of: () => tolerances.table, size: () => sizes.table });
  return bounds;
}

/** Rows or columns `places` of an axis, dense, in the dtype of the tensor. */
function select(t: Tensor, axis: number, places: readonly number[]): Tensor {
  const dense = t.contiguous();
  const at = axis < 0 ? t.shape.length + axis : axis;
  const inner = t.shape.slice(at + 1).reduce((a, b) => a * b, 1);
  const outer = t.shape.slice(0, at).reduce((a, b) => a * b, 1);
  const source = dense.data as Float32Array;
  const data = new (source.constructor as Float32ArrayConstructor)(outer * places.length * inner);
  for (let o = 0; o < outer; o++)
    places.forEach((place, n) => {
      const from = dense.offset + (o * t.shape[at] + place) * inner;
      data.set(source.subarray(from, from + inner), (o * places.length + n) * inner);
    });
  return new Tensor(
    data,
    t.shape.map((x, n) => (n === at ? places.length : x)),
    t.dtype,
  );
}

/** Adds numbers of a part at `places` of an axis to those of the full shape. */
function scatter(
  full: Float64Array,
  shape: readonly number[],
  axis: number,
  places: readonly number[],
  part: Float64Array,
): void {
  const inner = shape.slice(axis + 1).reduce((a, b) => a * b, 1);
  const N = shape[axis];
  for (let o = 0; o < full.length / (N * inner); o++)
    places.forEach((place, n) => {
      for (let e = 0; e < inner; e++)
        full[(o * N + place) * inner + e] += part[(o * places.length + n) * inner + e];
    });
}

/** Divides 0 … N − 1 in parts: ranges, one of which may be empty, or every n-th. */
function partition(r: Random, N: number): number[][] {
  const all = Array.from({ length: N }, (_, n) => n);
  const count = r.int(2, 3);
  if (r.chance(0.3)) return Array.from({ length: count }, (_, part) => all.filter((n) => n % count === part));
  const cuts = [0, ...Array.from({ length: count - 1 }, () => r.int(0, N)).sort((a, b) => a - b), N];
  return Array.from({ length: count }, (_, part) => all.slice(cuts[part], cuts[part + 1]));
}

/** Shards of the keys: their states merged, their gradients added up or put together; and the sinks' gradient of each. */
function shards(c: Case, r: Random, dOutput: Tensor, state: State): { answers: Answer[]; parts: number } {
  const { Nk } = c.lengths;
  const across = c.options.layout === "bshd";
  const keyAxis = across ? -3 : -2;
  const parts = partition(r, Nk);
  const { isCausal, sinks, ...rest } = c.options;
  const calls = parts.map((places) => {
    const attnMask = membersOf(c.options).map((mask) =>
      mask instanceof Tensor && mask.shape[mask.shape.length - 1] !== 1 ? select(mask, -1, places) : mask,
    );
    const positions = {
      ...(isCausal && { isCausal: true }),
      queryOffset: [...c.offsets],
      keyPositions: places,
    };
    const options: AttentionOptions = { ...rest, ...positions, ...(attnMask.length > 0 && { attnMask }) };
    return { places, options, key: select(c.key, keyAxis, places), value: select(c.value, keyAxis, places) };
  });
  // A sink counts once in the sum.
  const states = calls.map(({ options, key, value }, n) => {
    const once = n === 0 && sinks !== undefined ? { ...options, sinks } : options;
    const { output, lse } = scaledDotProductAttention(c.query, key, value, once);
    return { output: across ? output.transpose(-3, -2) : output, lse };
  });
  const merged = mergeStates(states);
  const all: Answer = answerOf({ ...c, options: {} }, merged, {});
  const outputs = states.map(({ output }) => output.toFloat64());
  const output = all.get("output");
  if (output)
    output.size = output.values.map((_, n) => outputs.reduce((x, part) => Math.max(x, Math.abs(part[n])), 0));
  const answers = [all];
  for (const { places, options, key, value } of calls) {
    const part = answerOf(
      c,
      state,
      attentionBackward(dOutput, c.query, key, value, state, {
        ...options,
        checkSums: false,
        ...(sinks !== undefined && { sinks }),
      }),
    );
    const dSinks = part.get("dSinks");
    if (dSinks) answers.push(new Map([["dSinks", dSinks]]));
    for (const [name, { values, rounding }] of part) {
      if (["output", "lse", "dSinks"].includes(name)) continue;
      const mask = name.startsWith("dMasks")
        ? (membersOf(c.options)[Number(name.slice(7))] as Tensor)
        : undefined;
      const input = name === "dKey" ? c.key : name === "dValue" ? c.value : mask;
      const shape = input && [...(input === mask || !across ? input.shape : input.transpose(-3, -2).shape)];
      const axis =
        shape === undefined || mask?.shape[mask.shape.length - 1] === 1 ? -1 : shape.length - (mask ? 1 : 2);
      const length = axis < 0 || !shape ? values.length : shape.reduce((a, b) => a * b, 1);
      const sum = all.get(name) ?? {
        values: new Float64Array(length),
        rounding,
        size: new Float64Array(length),
      };
      all.set(name, sum);
      for (const [into, from] of [
        [sum.values, values],
        [sum.size as Float64Array, values.map(Math.abs)],
      ])
        if (axis < 0 || !shape) from.forEach((x, n) => void (into[n] += x));
        else scatter(into, shape, axis, places, from);
    }
  }
  return { answers, parts: parts.length };
}

/** The options of the call over ranks; undefined where it has none: positions and alignments are those of one sequence. */
function contextOptionsOf({ options, lengths, offsets }: Case): ContextOptions | undefined {
  const { isCausal, queryOffset, ...rest } = options;
  if (lengths.Nq !== lengths.Nk || offsets.some((x) => x !== 0)) return undefined;
  return { ...(rest as ContextOptions), ...(isCausal && { isCausal: true }) };
}

/** The call over ranks: each rank's rows put together, and what all ranks have alike. */
async function overRanks(
  c: Case,
  r: Random,
  dOutput: Tensor,
  via: "gather" | "ring" | "resident",
  options: ContextOptions,
) {
  const { Nq: N, B, Hq } = c.lengths;
  const ranks = r.int(2, 3);
  const { attnMask, isCausal } = options;
  const plan = shardSequence({
    length: N,
    ranks,
    heads: Hq,
    batch: B,
    cost: r.pick(["tokens", "tiles"]),
    ...(attnMask !== undefined && { attnMask }),
    ...(isCausal && { isCausal: true }),
  });
  const axis = options.layout === "bshd" ? -3 : -2;
  const results = await localCluster(ranks, async (comm) => {
    const [q, k, v, dO] = [c.query, c.key, c.value, dOutput].map((t) => plan.take(comm.rank, t, axis));
    const state = await contextAttention(comm, plan, q, k, v, { ...options, via });
    const gradients = await contextAttentionBackward(comm, plan, dO, q, k, v, state, { ...options, via });
    return answerOf(c, state, gradients);
  });
  const all: Answer = new Map();
  const shapes: Record<string, readonly number[]> = {
    output: [N, c.lengths.dv],
    lse: [N, 1],
    dQuery: [N, c.lengths.dk],
    dKey: [N, c.lengths.dk],
    dValue: [N, c.lengths.dv],
  };
  results.forEach((answer, rank) => {
    const places = [...plan.positions(rank)];
    for (const [name, { values, rounding }] of answer) {
      const shape = shapes[name];
      if (!shape) {
        all.set(name, { values, rounding });
        continue;
      }
      const width = shape[1];
      const heads = places.length === 0 || width === 0 ? 0 : values.length / (places.length * width);
      const full = all.get(name) ?? { values: new Float64Array(0), rounding };
      if (full.values.length === 0) full.values = new Float64Array(heads * N * width);
      all.set(name, full);
      scatter(full.values, [heads, N, width], 1, places, values);
    }
  });
  return {
    answers: [all, ...results.map((answer) => new Map([...answer].filter(([name]) => !shapes[name])))],
    parts: ranks,
  };
}

/** The result of a problem: how many answers were compared; 0 where it has no bound. */
export interface Comparison {
  readonly answers: number;
}

/** Computes a problem in every way; throws an error of one line for the first answer out of its bound. */
export async function compare(
  { seed, longest, c, choices }: Problem,
  levels: readonly Level[],
): Promise<Comparison> {
  let answers = 0;
  let way = "";
  try {
    use("reference", 1);
    way = "reference in float64";
    const shape = scaledDotProductAttention(c.query, c.key, c.value, c.options).output.shape;
    const { tensor: dOutput, exact: dO } = upstream(c, shape);
    const tolerances = tolerancesOf(c, dO);
    if (!tolerances) return { answers };
    const { state, gradients } = exactly(c, dOutput);
    const want = answerOf(c, state, gradients);
    const bounds = boundsOf(c, tolerances, want);
    const partBounds = boundsOf(c, tolerancesOf(c, dO, true) ?? tolerances, want);
    const check = (list: readonly Answer[], parts: number) => {
      for (const answer of list)
        for (const [name, { values, rounding, size }] of answer) {
          const expected = want.get(name);
          const bound = (parts > 1 ? partBounds : bounds).get(name);
          if (!expected || !bound) throw new Error(`${name} is not in the reference`);
          const wrong = difference(values, expected.values, (n) =>
            partsBound(
              parts,
              bound.of(n),
              rounding,
              Math.max(Math.abs(expected.values[n]), size?.[n] ?? 0, parts > 1 ? (bound.size?.(n) ?? 0) : 0),
            ),
          );
          if (wrong) throw new Error(`${name}: ${wrong}`);
          answers++;
        }
    };
    const context = contextOptionsOf(c);
    // All levels compute the call; parts of it are computed on one of them.
    const divided = choices().pick(levels);
    for (const level of levels) {
      use(level, 1);
      way = `level ${level}`;
      const state = scaledDotProductAttention(c.query, c.key, c.value, c.options);
      check([answerOf(c, state, attentionBackward(dOutput, c.query, c.key, c.value, state, c.options))], 1);
      if (level !== divided) continue;
      way = `shards, level ${level}`;
      const { answers: parts, parts: count } = shards(c, choices(), dOutput, state);
      check(parts, count);
      for (const via of context ? (["gather", "ring", "resident"] as const) : []) {
        way = `${via}, level ${level}`;
        const over = await overRanks(c, choices(), dOutput, via, context as ContextOptions);
        check(over.answers, over.parts);
      }
    }
  } catch (error) {
    const text = (error as Error).message.replace(/\s+/g, " ");
    throw new Error(
      `node tools/differential.mjs --seed ${seed} --limit ${longest}  # ${way}: ${text}; ${describeCase(c)}`,
      { cause: error },
    );
  } finally {
    restore();
  }
  return { answers };
}

/** Compares the problem of a seed; a failure is that of the smallest lengths that fail. */
export async function compareSeed(seed: number, levels: readonly Level[], longest = 0): Promise<Comparison> {
  const problem = drawProblem(seed, longest);
  try {
    return await compare(problem, levels);
  } catch (error) {
    for (const length of [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48])
      if (length < problem.longest) await compare(drawProblem(seed, length), levels);
    throw error;
  }
}

/**
 * Long computations as generators: each yields its progress about every millisecond and returns its answer. Between steps
 * the scheduler (`scheduler.ts`) can handle a frame, a message or a more urgent request.
 */

import type { FloatArray } from "../../rows/head-rows.ts";
import { keysIn } from "../../rows/runs.ts";
import { weight } from "../../rows/softmax.ts";
import type { Stage } from "../block.ts";
import { Measurer, outside } from "../measures/measures.ts";
import { CellPool, type Overview, type PoolCut } from "../measures/pool.ts";
import { cutTile, TILE, type Tile, type TileAddress } from "../measures/tile.ts";
import { codeOf, isSigned, signedCodeOf } from "../measures/transfer.ts";
import type { StoreHead } from "./head.ts";
import type { HeadRequest, PassAnswer, RequestAnswer } from "./request.ts";
import { type Kernel, kernelFor, type RowAbout, rowsInStep } from "./row-source.ts";
import { cellsOf, type Subject } from "./subject.ts";

/** The share done, 0 to 1; a pass can make an overview of its rows so far. */
export interface WorkProgress {
  readonly done: number;
  readonly overview?: () => Overview;
}

export type Work<T> = Generator<WorkProgress, T, void>;

/** The generator that answers a request. `picture`: the overview of a pass, where a device has made it. */
export function workOn(
  subject: Subject,
  request: HeadRequest,
  kernel: Kernel,
  picture?: Overview,
): Work<RequestAnswer> {
  switch (request.what) {
    case "pass":
      return pass(subject, request.size, kernel, picture);
    case "tile":
      return tile(subject, request.address, kernel);
    case "column":
      return column(subject, request.stage, request.j);
    case "range":
      return range(subject, request.stage);
    case "link":
      return link(subject, request.queries, request.keys);
    case "weights":
      return allWeights(subject);
  }
}

/** A pass over a head: collects each row once, for its sums, measures and overview, and for the map that coarse tiles of a long head are cut from. */
export class PassRows {
  readonly #subject: Subject;
  readonly #lse: Float64Array;
  readonly #measurer: Measurer;
  readonly #overview: CellPool | undefined;
  readonly #map: CellPool | undefined;
  readonly #picture: Overview | undefined;
  #delta = -1;

  /** `picture`: the overview of the whole head, where it is made already, as is then the map. */
  constructor(subject: Subject, size: number, picture?: Overview) {
    const { Nq, Nk, weights } = subject.head.data;
    const poolOf = (cut: PoolCut) => new CellPool(Nq, Nk, cut, false, weights !== undefined);
    this.#subject = subject;
    this.#lse = new Float64Array(Nq);
    this.#measurer = new Measurer(subject.places);
    this.#picture = picture;
    if (picture) return;
    this.#overview = poolOf({ size });
    if (subject.wantsMap) this.#map = poolOf({ level: subject.mapLevel });
  }

  /** The overview of the rows so far: a new one, whose arrays can be transferred. */
  get overview(): Overview {
    return this.#picture ? structuredClone(this.#picture) : this.#overview!.overview();
  }

  /** Adds a row. `isExact`: its log-sum-exp is exact to float64. */
  add(i: number, weights: FloatArray, about: RowAbout, isExact: boolean): void {
    const { head, lse: exactLse } = this.#subject;
    const { lse: modelLse, recipe, weights: fileWeights } = head.data;
    const fromFile = fileWeights !== undefined;
    const runs = head.runs(i);
    this.#lse[i] = about.lse;
    if (isExact && !fromFile) exactLse[i] = about.lse;
    const sink = recipe.sink === undefined || fromFile ? 0 : weight(recipe.sink, about.lse);
    this.#measurer.add({ i, weights, runs, sink, entropy: about.entropy, fromFile });
    const shown = fromFile ? shownRuns(head, "weights", i, 0, weights) : runs;
    this.#overview?.add(i, weights, shown);
    this.#map?.add(i, weights, shown);
    if (modelLse && !fromFile) this.#delta = Math.max(this.#delta, deltaOf(about.lse, modelLse[i]));
  }

  /** The answer, after all rows. */
  answer(): PassAnswer {
    if (this.#map) this.#subject.maps.set("weights", this.#map);
    const measures = { ...this.#measurer.result(), ...(this.#delta < 0 ? {} : { lseDelta: this.#delta }) };
    return { lse: this.#lse, measures, overview: this.overview };
  }
}

/** Computes each row once. */
function* pass(subject: Subject, size: number, chosen: Kernel, picture?: Overview): Work<PassAnswer> {
  const { head } = subject;
  const { Nq } = head.data;
  const kernel = kernelFor(head, chosen);
  const rows = new PassRows(subject, size, picture);
  const step = kernel.rowsPerStep(head);
  for (let i0 = 0; i0 < Nq; i0 += step) {
    kernel.run(head, i0, Math.min(Nq, i0 + step), (i, weights, about) =>
      rows.add(i, weights, about, kernel.exact),
    );
    yield { done: Math.min(1, (i0 + step) / Nq), overview: () => rows.overview };
  }
  return rows.answer();
}

/** |a − b| of two log-sum-exps: 0 if both are −∞, Infinity if one is NaN. */
export function deltaOf(a: number, b: number): number {
  if (a === b) return 0;
  const delta = Math.abs(a - b);
  return delta === delta ? delta : Infinity;
}

/** Visits the rows 0 to `count`, and yields after every `step` of them. */
function* eachRow(count: number, step: number, visit: (n: number) => void): Work<void> {
  for (let n = 0; n < count; n++) {
    visit(n);
    if (n % step === step - 1) yield { done: n / count };
  }
}

/** One column of any stage. */
function* column(subject: Subject, stage: Stage, j: number): Work<Float64Array> {
  const { head } = subject;
  const { Nq, d } = head.data;
  const out = new Float64Array(Nq);
  const step = rowsPerStep(subject, stage, 1, d);
  const cells = cellsOf(subject, stage);
  yield* eachRow(Nq, step, (i) => cells(i, j, j + 1, (values) => (out[i] = values[0])));
  return out;
}

/**
 * `[weight, even, rows, key, weight of that key, even for that key]`: means over the query rows that see any key, of their
 * weight on the chosen keys; "even" is what equal attention to each row's visible keys would give. `key` is the chosen
 * key with the largest mean weight, −1 where none has any.
 */
function* link(subject: Subject, queries: readonly number[], keys: readonly number[]): Work<Float64Array> {
  const { head } = subject;
  const { Nk, d, weights: fileWeights } = head.data;
  const step = rowsInStep(Nk, d);
  const w = new Float64Array(Nk);
  const sums = new Float64Array(keys.length);
  const evens = new Float64Array(keys.length);
  let rows = 0;
  yield* eachRow(queries.length, step, (n) => {
    const i = queries[n];
    const visible = fileWeights ? Nk : keysIn(head.runs(i));
    if (visible === 0) return;
    head.weights(i, w);
    rows++;
    keys.forEach((j, at) => {
      sums[at] += w[j];
      if (fileWeights || head.sees(i, j)) evens[at] += 1 / visible;
    });
  });
  const mean = (sum: number) => (rows === 0 ? 0 : sum / rows);
  const total = (all: Float64Array) => mean(all.reduce((sum, x) => sum + x, 0));
  let best = -1;
  for (let at = 0; at < sums.length; at++) if (sums[at] > (best < 0 ? 0 : sums[best])) best = at;
  const strongest = best < 0 ? [-1, 0, 0] : [keys[best], mean(sums[best]), mean(evens[best])];
  return Float64Array.of(total(sums), total(evens), rows, ...strongest);
}

/** All weights of the head, [Nq, Nk], in float64. */
function* allWeights({ head }: Subject): Work<Float64Array> {
  const { Nq, Nk, d } = head.data;
  const out = new Float64Array(Nq * Nk);
  yield* eachRow(Nq, rowsInStep(Nk, d), (i) => head.weights(i, out.subarray(i * Nk, (i + 1) * Nk)));
  return out;
}

/** Smallest and largest finite value of a stage over the cells that are not masked. */
function* range(subject: Subject, stage: Stage): Work<readonly [number, number]> {
  const cached = subject.ranges.get(stage);
  if (cached) return cached;
  const { head } = subject;
  const { Nq, Nk, d, valueNorm } = head.data;
  let [low, high] = [Infinity, -Infinity];
  if (stage === "weights") [low, high] = [0, 1];
  else if (stage === "contrast") [low, high] = [-1, 1];
  else if (stage === "contribution") {
    low = 0;
    for (const norm of valueNorm ?? []) if (norm > high && norm < Infinity) high = norm;
  } else {
    const cells = cellsOf(subject, stage);
    const step = rowsPerStep(subject, stage, Nk, d);
    yield* eachRow(Nq, step, (i) =>
      cells(i, 0, Nk, (values) => {
        for (const x of values)
          if (x - x === 0) {
            if (x < low) low = x;
            if (x > high) high = x;
          }
      }),
    );
  }
  const limits = low > high ? ([0, 0] as const) : ([low, high] as const);
  subject.ranges.set(stage, limits);
  return limits;
}

/** A tile: 128 × 128 codes. */
function* tile(subject: Subject, address: TileAddress, kernel: Kernel): Work<Tile> {
  const { stage, level } = address;
  const { Nq, Nk, d } = subject.head.data;
  const signed = isSigned(stage);
  let { domain } = address;
  if (domain === undefined) {
    const [low, high] = yield* range(subject, stage);
    domain = Math.max(Math.abs(low), Math.abs(high));
  }
  const span = TILE * 2 ** level;
  const [i0, j0] = [address.i * span, address.j * span];
  const [i1, j1] = [Math.min(Nq, i0 + span), Math.min(Nk, j0 + span)];
  const code = signed
    ? (x: number) => signedCodeOf(x, domain)
    : (x: number) => codeOf(x, address.transfer, domain);
  if (level >= subject.mapLevel && Math.max(Nq, Nk) > 1024) {
    const map = yield* mapOf(subject, stage, kernel);
    return cutTile(map, level - subject.mapLevel, address, code, domain, signed);
  }
  const pool = new CellPool(i1 - i0, j1 - j0, { level }, signed, subject.head.data.weights !== undefined);
  const cells = cellsOf(subject, stage);
  const step = rowsPerStep(subject, stage, j1 - j0, d);
  const values = new Float64Array(Math.max(0, j1 - j0));
  yield* eachRow(i1 - i0, step, (n) => {
    cells(i0 + n, j0, j1, (part) => values.set(part));
    pool.add(n, values, shownRuns(subject.head, stage, i0 + n, j0, values));
  });
  return cutTile(pool, 0, { ...address, i: 0, j: 0 }, code, domain, signed);
}

/** Runs of the elements of `values` (keys from j0) that are not masked at a stage. Stages before the mask have no masked keys. */
function shownRuns(head: StoreHead, stage: Stage, i: number, j0: number, values: FloatArray): number[] {
  const all = [0, values.length];
  if (stage === "scores" || stage === "scaled") return all;
  const runs = head.runs(i);
  const shown: number[] = [];
  for (let n = 0; n < runs.length; n += 2) {
    const [from, to] = [Math.max(j0, runs[n]) - j0, Math.min(j0 + values.length, runs[n + 1]) - j0];
    if (from < to) shown.push(from, to);
  }
  // A file's weights on masked keys are shown too.
  return head.data.weights && outside(values, shown) !== 0 ? all : shown;
}

/** A stage of the whole head, pooled to at most 1024 × 1024. */
function* mapOf(subject: Subject, stage: Stage, chosen: Kernel): Work<CellPool> {
  const cached = subject.maps.get(stage);
  if (cached) return cached;
  const { head } = subject;
  const { Nq, Nk, d, valueNorm } = head.data;
  const fromFile = head.data.weights !== undefined;
  const map = new CellPool(Nq, Nk, { level: subject.mapLevel }, isSigned(stage), fromFile);
  if (isSigned(stage)) {
    const cells = cellsOf(subject, stage);
    const step = rowsPerStep(subject, stage, Nk, d);
    yield* eachRow(Nq, step, (i) =>
      cells(i, 0, Nk, (values) => map.add(i, values, shownRuns(head, stage, i, 0, values))),
    );
  } else {
    const kernel = kernelFor(head, chosen);
    const step = kernel.rowsPerStep(head);
    const values = new Float64Array(Nk);
    for (let i0 = 0; i0 < Nq; i0 += step) {
      kernel.run(head, i0, Math.min(Nq, i0 + step), (i, weights) => {
        values.set(weights);
        if (stage === "contribution") for (let j = 0; j < Nk; j++) values[j] *= valueNorm![j];
        map.add(i, values, shownRuns(head, stage, i, 0, values));
      });
      yield { done: Math.min(1, (i0 + step) / Nq) };
    }
  }
  subject.maps.set(stage, map);
  return map;
}

/** Number of rows in a step of about a millisecond, including the log-sum-exps that must be computed. */
function rowsPerStep({ head, lse }: Subject, stage: Stage, keys: number, d: number): number {
  const sums =
    (stage === "weights" || stage === "contribution" || stage === "contrast") &&
    !head.data.weights &&
    lse.some((x) => x !== x);
  return rowsInStep(Math.max(1, keys) + (sums ? head.data.Nk : 0), d);
}

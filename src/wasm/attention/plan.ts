/**
 * What the plans of all attention passes share: whether the kernels support a call, the kernel spec of a problem, the runs of keys
 * of row tiles, the pool of its expressions, and the cache. A plan contains no tensors, so calls of the same kind share one.
 */
import type { AttentionOperation } from "../../backend/contract.ts";
import type { SimdLevel } from "../../backend/plan/plan.ts";
import { type KeyRun, TileMap } from "../../backend/plan/tiles.ts";
import { chooseTiling, type Machine, type Tiling } from "../../backend/plan/tiling.ts";
import type { Problem } from "../../backend/problem.ts";
import { settings } from "../../backend/settings.ts";
import type { Shape } from "../../core/shape.ts";
import { compileBounds } from "../../masks/expression/bounds.ts";
import { type Expression, type Table, tablesOf, textOf, VARS } from "../../masks/expression/expr.ts";
import { runWords } from "../codegen/layout.ts";
import { fillPool, poolOf, poolWords } from "../codegen/score.ts";
import { FLOAT64_REASON, MAX_KEYS, panelOf, type Spec, storedDType } from "../codegen/spec.ts";
import { currentEngine, type Engine, warnIfUnavailable } from "../engine/engine.ts";
import { tileFor } from "../engine/features.ts";
import type { CachedKernel } from "../engine/kernel-cache.ts";
import { kernelFiles } from "../engine/kernel-files.ts";
import { HeadList } from "../engine/transfer.ts";
import { pack } from "../kernels/attention/pack.ts";

/** Why the kernels do not support an attention call; undefined where they do. */
export function unsupportedAttention({ problem }: AttentionOperation): string | undefined {
  const reason = currentEngine ? undefined : warnIfUnavailable();
  if (reason !== undefined) return reason;
  if (problem.dtype === "float64") return FLOAT64_REASON;
  if (problem.tensors.length > 8) return "the kernels take up to 8 mask tensors";
  const { Nq, Nk } = problem.shape;
  return Math.max(Nq, Nk) > MAX_KEYS ? `the kernels count rows and keys up to ${MAX_KEYS}` : undefined;
}

/** Key heads that are in the engine's memory together, with their query heads. */
export interface StageHeads {
  readonly list: readonly { readonly b: number; readonly hk: number }[];
  readonly keys: HeadList;
  readonly queries: HeadList;
}

/** Heads, rows and keys that are in the engine's memory together. */
export interface EngineStage {
  readonly heads: StageHeads;
  readonly rows: IndexRange;
  readonly keys: IndexRange;
}

/** Rows or keys from the first number to before the second. */
export type IndexRange = readonly [from: number, to: number];

type HeadCounts = Pick<Shape, "B" | "Hkv" | "Hq" | "G">;

/** The counts of heads alone: a cached plan that had the whole shape would keep the tensors of its first call in memory. */
export const headCounts = ({ B, Hkv, Hq, G }: Shape): HeadCounts => ({ B, Hkv, Hq, G });

/** The key heads of a problem, `count` at a time. */
export function headGroups({ B, Hkv, Hq, G }: HeadCounts, count: number): StageHeads[] {
  const heads = Array.from({ length: B * Hkv }, (_, n) => ({ b: Math.floor(n / Hkv), hk: n % Hkv }));
  return rangesOf(heads.length, count).map(([from, to]) => {
    const list = heads.slice(from, to);
    const keys = list.map(({ b, hk }) => ({ b, h: hk }));
    const queries = list.flatMap(({ b, hk }) => Array.from({ length: G }, (_, g) => ({ b, h: hk * G + g })));
    return { list, keys: new HeadList(keys, Hkv), queries: new HeadList(queries, Hq) };
  });
}

/** `length` rows or keys, `step` at a time; one empty range of none. */
export function rangesOf(length: number, step: number): IndexRange[] {
  const ranges: IndexRange[] = [[0, Math.min(length, step)]];
  for (let from = step; from < length; from += step) ranges.push([from, Math.min(length, from + step)]);
  return ranges;
}

/** A function that calls `make` once, when it is first called. */
export function once<T>(make: () => T): () => T {
  let result: T | undefined;
  return () => {
    result ??= make();
    return result;
  };
}

/** Constants and tables of a call's expressions as the kernels read them; the addresses of the tables are filled in per call. */
export interface PoolImage {
  readonly words: Int32Array;
  readonly tables: readonly { readonly table: Table; readonly word: number }[];
}

/** The pool of some expressions. */
export function poolImage(expressions: readonly (Expression | undefined)[]): PoolImage {
  const pool = poolOf(expressions);
  const words = new Int32Array(poolWords(pool));
  const addresses = new Map<Table, number>();
  let word = pool.constants.length;
  for (const table of pool.tables) {
    addresses.set(table, word);
    word += 1 + table.shape.length;
  }
  fillPool(pool, 0, words, new Float32Array(words.buffer), () => 0);
  return { words, tables: [...addresses].map(([table, at]) => ({ table, word: at })) };
}

/** Maximum words of runs that a plan caches; further runs are computed for each call. */
const MAX_RUN_WORDS = 2 ** 18;

/** The runs of keys of row tiles, as words for the kernels; cached. */
export class Runs {
  readonly map: TileMap;
  private readonly Nq: number;
  private readonly Nk: number;
  private readonly Hq: number;
  private readonly cached = new Map<number, RunList>();
  private size = 0;

  constructor(problem: Problem, keyTile: number, panel: number) {
    const { Hq, Nq, Nk } = problem.shape;
    this.map = new TileMap(problem, keyTile, panel);
    [this.Hq, this.Nq, this.Nk] = [Hq, Nq, Nk];
  }

  /** A number that is equal for heads and batch entries with equal runs. */
  group(b: number, h: number): number {
    return (this.map.perBatch ? b : 0) * this.Hq + (this.map.perHead ? h : 0);
  }

  /** The runs of rows `row0` … `row1` between two keys. In one plan, `row1` and `to` must follow from the other parameters. */
  of(b: number, h: number, row0: number, row1: number, from: number, to: number): RunList {
    const key = (this.group(b, h) * (this.Nq + 1) + row0) * (this.Nk + 1) + from;
    const entry = this.cached.get(key);
    if (entry) return entry;
    const list = this.map.runs(b, h, row0, row1, from, to);
    const runs = { list, words: runWords(list) };
    if (this.size + runs.words.length <= MAX_RUN_WORDS && Number.isSafeInteger(key)) {
      this.size += runs.words.length;
      this.cached.set(key, runs);
    }
    return runs;
  }
}

/** Runs of keys, and their words for the kernels. */
interface RunList {
  readonly list: readonly KeyRun[];
  readonly words: readonly number[];
}

/** Maximum number of cached plans of a kind and engine. */
const MAX_PLANS = 64;
/** Maximum elements of the tables in a cached plan's expressions, which the plan keeps alive. */
const MAX_TABLE_ELEMENTS = 2 ** 16;

/** Plans of one kind by key; evicts the least recently used. */
export class PlanCache<P> {
  private plans = new WeakMap<Engine, Map<string, P>>();

  /** Evicts all plans. */
  clear(): void {
    this.plans = new WeakMap();
  }

  /** The plan of a key, made on a miss; without a key it is made each time. */
  get(engine: Engine, key: string | undefined, make: () => P): P {
    if (key === undefined) return make();
    let plans = this.plans.get(engine);
    if (!plans) {
      plans = new Map();
      this.plans.set(engine, plans);
    }
    let plan = plans.get(key);
    if (plan) plans.delete(key);
    else {
      plan = make();
      if (plans.size >= MAX_PLANS) plans.delete(plans.keys().next().value as string);
    }
    plans.set(key, plan);
    return plan;
  }
}

/** The fields of a problem that a plan depends on. A new field of `Problem` must be added here, or this does not compile. */
const IN_KEY: Readonly<Record<keyof Problem, boolean>> = {
  caller: false,
  shape: true,
  dtype: true,
  scale: false,
  offsets: true,
  positions: true,
  mask: true,
  score: true,
  tensors: true,
  sinks: false,
  deviceSinks: false,
  deviceTables: false,
  dropoutP: true,
  seed: false,
  weights: false,
};
void IN_KEY;

const expressionKeys = new WeakMap<Expression, string | undefined>();
const tableIds = new WeakMap<Table, number>();
let tableCount = 0;

function tableId(table: Table): number {
  let id = tableIds.get(table);
  if (id === undefined) {
    id = tableCount++;
    tableIds.set(table, id);
  }
  return id;
}

/** An expression with its constants and the identity of its tables as text; undefined where its tables are too large to cache. */
function expressionKey(x: Expression): string | undefined {
  if (expressionKeys.has(x)) return expressionKeys.get(x);
  const elements = tablesOf(x).reduce((n, t) => n + t.data.length, 0);
  const mark = (y: Expression) =>
    y.op === "table" ? `#${tableId(y.value as Table)}` : `=${Object.is(y.value, -0) ? "-0" : y.value}`;
  const key = elements > MAX_TABLE_ELEMENTS ? undefined : textOf(x, "hidden", mark);
  expressionKeys.set(x, key);
  return key;
}

/** The cache key of a plan: all that it depends on; undefined where the plan is not cached. */
export function problemKey(problem: Problem, level: SimdLevel): string | undefined {
  const { shape, dtype, offsets, positions, mask, score, tensors, dropoutP } = problem;
  const { B, Hq, Hkv, Nq, Nk, dk, dv, query, key, value } = shape;
  const maskKey = mask ? expressionKey(mask) : "";
  const scoreKey = score ? expressionKey(score) : "";
  if (maskKey === undefined || scoreKey === undefined) return undefined;
  const { threads, bytesPerThread } = settings();
  let same = true;
  for (let b = 1; b < offsets.length; b++) if (offsets[b] !== offsets[0]) same = false;
  const dropout = dropoutP > 0 ? (positions.counted ? "c" : "l") : "";
  const masks = tensors.map(
    (t) =>
      `${t.kind}${t.base.every((x) => x === t.base[0]) ? "" : "b"}${t.head === 0 ? "" : "h"}${t.row === 0 ? "" : "r"}${t.column === 0 ? "" : "k"}`,
  );
  return `${level} ${threads} ${bytesPerThread} ${B},${Hq},${Hkv},${Nq},${Nk},${dk},${dv} ${dtype} ${query.tensor.dtype} ${key.tensor.dtype} ${value.tensor.dtype} ${same ? offsets[0] : offsets.join()} ${dropout} ${masks.join()} ${maskKey} ${scoreKey}`;
}

/** The kernel of a `packing` spec. */
export const packKernel = (engine: Engine, spec: Spec): CachedKernel => engine.kernels.get(spec, 64, pack);

/** A problem as if it had many rows: it takes the forward kernel, which has variants for weights and gradients; decode has none. */
export const withManyRows = (problem: Problem): Problem => ({
  ...problem,
  shape: { ...problem.shape, Nq: Math.max(problem.shape.Nq, 8) },
});

/** The tiling and the kernel spec of a problem at a SIMD level; `few`: one whose kernels are in files. */
export function specOf(
  problem: Problem,
  level: SimdLevel,
  shared: boolean,
  few = level === "strict" && !shared && kernelFiles !== undefined,
): { spec: Spec; tiling: Tiling } {
  const tile = tileFor(level);
  const machine: Machine = { tileRows: tile.rows, panel: panelOf(tile), few };
  const tiling = chooseTiling(problem, machine);
  const { shape } = problem;
  const spec: Spec = {
    kind: tiling.kind,
    fused: level !== "strict",
    // The decode kernel is bound by memory, and 256 bits do not make it faster: it has no wide version.
    wide: level === "wide" && tiling.kind === "forward",
    tile: tiling.kind === "decode" ? { rows: 1, vectors: 2, unroll: 1 } : tile,
    dk: shape.dk,
    dv: shape.dv,
    rowTile: tiling.rowTile,
    keyTile: tiling.keyTile,
    query: storedDType(shape.query),
    key: storedDType(shape.key),
    value: storedDType(shape.value),
    mask: problem.mask,
    score: problem.score,
    inBounds: inBoundsLookups(problem, [problem.mask, problem.score]),
    tensors: problem.tensors.map((t) => t.kind),
    dropout: dropoutOf(problem),
    shared,
  };
  return { spec, tiling };
}

/** How a kernel gets the positions for dropout. */
const dropoutOf = (problem: Problem): Spec["dropout"] =>
  problem.dropoutP === 0 ? false : problem.positions.counted ? "counted" : "listed";

/** Table lookups whose indices are in range for every cell. */
export function inBoundsLookups(
  problem: Problem,
  expressions: readonly (Expression | undefined)[],
): Set<Expression> {
  const { B, Hq, Nq, Nk } = problem.shape;
  const inBounds = new Set<Expression>();
  const box = {
    b0: 0,
    b1: B - 1,
    h0: 0,
    h1: Hq - 1,
    i0: 0,
    i1: Nq - 1,
    k0: 0,
    k1: Nk - 1,
    offset0: problem.offsets.reduce((a, x) => Math.min(a, x), Infinity),
    offset1: problem.offsets.reduce((a, x) => Math.max(a, x), -Infinity),
  };
  const visit = (x: Expression): void => {
    if (x === VARS.score) return;
    if (x.op === "table") {
      const t = x.value as Table;
      const fits = x.args.every((index, axis) => {
        const { low, high, last } = compileBounds(index)(box);
        return low[last] >= 0 && high[last] < t.shape[axis];
      });
      if (fits) inBounds.add(x);
    }
    x.args.forEach(visit);
  };
  for (const x of expressions) if (x) visit(x);
  return inBounds;
}

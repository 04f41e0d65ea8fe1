/**
 * Plans a forward call completely before anything is placed or run: its kernel, its tiling, its stages, the sizes of its regions
 * and the runs of keys of each row tile. A plan contains no tensors, so calls of the same kind share a cached plan.
 */
import type { AttentionOperation } from "../../backend/contract.ts";
import type { SimdLevel } from "../../backend/plan/plan.ts";
import { type KeyRun, TileMap } from "../../backend/plan/tiles.ts";
import {
  type Costs,
  chooseTiling,
  type Machine,
  planStaging,
  type StagingPlan,
  type Tiling,
} from "../../backend/plan/tiling.ts";
import type { Problem } from "../../backend/problem.ts";
import { settings } from "../../backend/settings.ts";
import type { Operand } from "../../core/shape.ts";
import { compileBounds } from "../../masks/expression/bounds.ts";
import { type Expression, type Table, tablesOf, textOf, VARS } from "../../masks/expression/expr.ts";
import { paddedValue, runWords, stateBytes, workspaceOf } from "../codegen/layout.ts";
import { fillPool, poolOf, poolWords } from "../codegen/score.ts";
import {
  BYTES_OF,
  FLOAT64_REASON,
  MAX_KEYS,
  packing,
  panelOf,
  roundUp,
  type Spec,
  type StoredDType,
} from "../codegen/spec.ts";
import { currentEngine, type Engine, warnIfUnavailable } from "../engine/engine.ts";
import { tileFor } from "../engine/features.ts";
import type { Kernel } from "../engine/kernel-cache.ts";
import { residentOperand } from "../engine/transfer.ts";
import { decode } from "../kernels/attention/decode.ts";
import { forward } from "../kernels/attention/forward.ts";
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

/** How a forward call runs. */
export interface ForwardPlan {
  readonly spec: Spec;
  readonly tiling: Tiling;
  readonly staging: StagingPlan;
  readonly costs: Costs;
  readonly packValues: boolean;
  /** Operations of the whole call. */
  readonly work: number;
  /** Keys of a panel; for decode, keys of a softmax step. */
  readonly panel: number;
  /** Bytes of the packed keys and the packed values of one head in one stage; bytes of a row of packed values. */
  readonly packedKeyHead: number;
  readonly packedValueHead: number;
  readonly packedValueRow: number;
  /** Bytes of the state that a task keeps between stages. */
  readonly stateBytes: number;
  readonly pool: PoolImage;
  readonly runs: Runs;
  /** The kernel, and the one that packs for it; compiled when the plan first runs. */
  kernels(): { readonly kernel: Kernel; readonly packer?: Kernel };
}

/** Whether a stage has the first and the last keys: the state starts and ends with it. */
export interface KeyRange {
  readonly first: boolean;
  readonly last: boolean;
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
  private readonly found = new Map<number, FoundRuns>();
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
  of(b: number, h: number, row0: number, row1: number, from: number, to: number): FoundRuns {
    const key = (this.group(b, h) * (this.Nq + 1) + row0) * (this.Nk + 1) + from;
    const known = this.found.get(key);
    if (known) return known;
    const list = this.map.runs(b, h, row0, row1, from, to);
    const made = { list, words: runWords(list) };
    if (this.size + made.words.length <= MAX_RUN_WORDS && Number.isSafeInteger(key)) {
      this.size += made.words.length;
      this.found.set(key, made);
    }
    return made;
  }
}

/** Runs of keys, and their words for the kernels. */
interface FoundRuns {
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

/** Plans of forward calls. */
export const forwardPlans = new PlanCache<ForwardPlan>();

/** The plan of a problem, cached for the next call of its kind. */
export function planForward(engine: Engine, problem: Problem, level: SimdLevel): ForwardPlan {
  const { memory } = engine;
  const { query, key: keys, value } = problem.shape;
  const resident = [query, keys, value].map((x) => residentOperand(memory, x) !== undefined);
  const key = problemKey(problem, level);
  return forwardPlans.get(engine, key && `${key} ${resident.join()}`, () =>
    makePlan(engine, problem, level, resident),
  );
}

function makePlan(
  engine: Engine,
  problem: Problem,
  level: SimdLevel,
  [residentQuery, residentKey, residentValue]: readonly boolean[],
): ForwardPlan {
  const { spec, tiling } = specOf(problem, level, engine.memory.shared);
  const { shape } = problem;
  const { Nk, dk, dv } = shape;
  const packed = spec.kind === "forward";
  // Values are read in place unless the product needs them widened or padded.
  const packValues = packed && (spec.value !== "float32" || spec.dv % panelOf(spec.tile) !== 0);
  const costs: Costs = {
    key:
      (residentKey ? 0 : dk * BYTES_OF[spec.key]) +
      (packed ? 4 * dk : 0) +
      (residentValue ? 0 : dv * BYTES_OF[spec.value]) +
      (packValues ? 4 * paddedValue(spec) : 0),
    row:
      (residentQuery ? 0 : dk * BYTES_OF[spec.query]) +
      4 * dv +
      4 +
      Math.ceil(stateBytes(spec) / spec.rowTile),
    cell: problem.tensors.reduce((n, t) => n + (t.kind === "bool" ? 1 : 4), 0),
  };
  const { bytesPerThread, threads } = settings();
  const budget = Math.max(2 ** 20, (bytesPerThread - workspaceOf(spec).size) * threads);
  const staging = planStaging(problem, tiling, costs, budget);
  const panel = packed ? panelOf(spec.tile) : 8;
  const stageKeys = Math.min(staging.keys, Nk);
  const packedValueRow = 4 * paddedValue(spec);
  let kernels: { readonly kernel: Kernel; readonly packer?: Kernel } | undefined;
  return {
    spec,
    tiling,
    staging,
    costs,
    packValues,
    work: 4 * shape.B * shape.Hq * shape.Nq * Nk * Math.max(dk, dv),
    panel,
    packedKeyHead: packed ? roundUp(stageKeys, panel) * dk * 4 : 0,
    packedValueHead: packValues ? stageKeys * packedValueRow : 0,
    packedValueRow,
    stateBytes: stateBytes(spec),
    pool: poolImage([problem.mask, problem.score]),
    runs: new Runs(problem, tiling.keyTile, panel),
    kernels() {
      kernels ??= {
        kernel: engine.kernels.get(spec, workspaceOf(spec).size, packed ? forward : decode),
        ...(packed && { packer: packKernel(engine, packing(spec)) }),
      };
      return kernels;
    },
  };
}

/** The kernel of a `packing` spec. */
export const packKernel = (engine: Engine, spec: Spec): Kernel => engine.kernels.get(spec, 64, pack);

/** The tiling and the kernel spec of a problem at a SIMD level. */
export function specOf(problem: Problem, level: SimdLevel, shared: boolean): { spec: Spec; tiling: Tiling } {
  const tile = tileFor(level);
  const machine: Machine = { tileRows: tile.rows, panel: panelOf(tile) };
  const tiling = chooseTiling(problem, machine);
  const { shape } = problem;
  const storage = (x: Operand) => x.tensor.dtype as StoredDType;
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
    query: storage(shape.query),
    key: storage(shape.key),
    value: storage(shape.value),
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

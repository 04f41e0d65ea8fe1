/**
 * Matrix products on the engine: a product is divided into outputs (ranges of entries, rows and columns of C), an output into steps
 * along K, a step into tasks for the threads. While the threads compute one step, the calling thread copies the operands of the
 * next step in and the results of the last one out, so that copies and memory stay small compared to the work.
 *
 * Sums do not depend on this division: an element of C is a sum of blocks of DEPTH along K, added in order.
 */
// long: the plan, the buffers and the steps of a product share its sizes; a warm product enters this one file for them.

import type { BackendPart, Operation } from "../../backend/contract.ts";
import type { SimdLevel } from "../../backend/plan/plan.ts";
import { allocateResult, type Product, type ProductInto, STRIP_ROWS } from "../../backend/product.ts";
import { settings } from "../../backend/settings.ts";
import { DTYPES, readerOf } from "../../core/dtype.ts";
import type { Operand } from "../../core/shape.ts";
import { FLOAT64_REASON, MAX_KEYS, panelOf, roundUp, storedDType } from "../codegen/spec.ts";
import {
  currentEngine,
  type Engine,
  findLevel,
  getEngine,
  missingKernel,
  replaceEngine,
  warnIfUnavailable,
} from "../engine/engine.ts";
import { tileFor } from "../engine/features.ts";
import type { CachedKernel } from "../engine/kernel-cache.ts";
import { AllocationScope, type EngineMemory } from "../engine/memory.ts";
import { matmulAgrees } from "../engine/self-test.ts";
import { addressOf, residentOperand, stageRows } from "../engine/transfer.ts";
import { retryOnWorkerLoss } from "../engine/worker-pool.ts";
import {
  type ProductSpec,
  ProductStruct,
  productKernel,
  productKey,
  productWorkspace,
  taskRows,
} from "../kernels/matmul/matmul.ts";

/** Approximate operations of a step: short enough to overlap with copies, long enough for a job of the pool. */
const STEP_WORK = 24e6;
/** Minimum number of rows of a step. */
const STEP_ROWS = 192;
/** Maximum K of one step; a longer K is divided into steps of DEEP_STEP, with up to DEEP_ROWS rows each. */
const MAX_DEPTH = 1024;
const DEEP_STEP = 512;
const DEEP_ROWS = 1024;
/** Numbers of B in one step, and columns. */
const STEP_NUMBERS = 2 ** 20;
const STEP_COLUMNS = 2048;
/** Tasks for each thread, so that no thread waits long for the last task. */
const TASKS = 4;

/** A part of C: whole entries, or rows and columns of one. */
interface Output {
  readonly t: readonly [number, number];
  readonly rows: readonly [number, number];
  readonly columns: readonly [number, number];
}

/** An output over a range of k. */
interface Step {
  readonly output: number;
  readonly k: readonly [number, number];
}

/** Sizes of the parts. */
interface ProductTiling {
  readonly entries: number;
  readonly rows: number;
  readonly columns: number;
  readonly depth: number;
  /** B is packed before the product, because several blocks of rows share it. */
  readonly packed: boolean;
}

/** An operand as the kernel reads it: lines (rows of A, columns of B) along k. */
interface Lines {
  /** Its rows are lines; or k, where neighbors in memory are lines. */
  readonly operand: Operand;
  readonly across: boolean;
  readonly bytes: number;
  readonly resident: ReturnType<typeof residentOperand>;
}

/** Some lines in the engine's memory: address, bytes from line to line and from k to k. */
interface Placed {
  readonly at: number;
  readonly line: number;
  readonly deep: number;
}

/** Collected outputs, kept when a thread is lost: an output must not be added to the result twice. */
export interface CollectedOutputs {
  collected: number;
}

/** The SIMD level of products; a wide one is tested first. */
export const productLevel = (engine: Engine): SimdLevel =>
  engine.levels.get(settings())?.matmul ??
  findLevel(engine, "matmul", () =>
    matmulAgrees((product, level) => fillProduct(engine, product, level, 1, { collected: 0 })),
  );

/** Matrix products. */
export const wasmMatmul: BackendPart<"matmul"> = {
  name: "wasm",
  device: "cpu",
  supports: unsupportedProduct,
  matmul(operation) {
    const { product, result } = allocateResult(operation);
    const { batch, M, N, K } = product;
    if (batch * M * N === 0) return result;
    const progress = { collected: 0 };
    retryOnWorkerLoss(currentEngine ?? (getEngine() as Engine), replaceEngine, (engine, singleThreaded) => {
      const threads = singleThreaded ? 1 : engine.pool.threadsFor(2 * batch * M * N * K);
      fillProduct(engine, product, productLevel(engine), threads, progress);
    });
    return result;
  },
};

/** Why the kernels do not support a product; undefined where they do. */
function unsupportedProduct({ product }: Extract<Operation, { kind: "matmul" }>): string | undefined {
  const reason = currentEngine ? undefined : warnIfUnavailable();
  if (reason !== undefined) return reason;
  const { dtype, M, N, K } = product;
  if (dtype === "float64") return FLOAT64_REASON;
  if (K === 0) return "an empty sum needs no kernel";
  if (Math.max(M, N, K) > MAX_KEYS) return `the kernels count rows up to ${MAX_KEYS}`;
  if (!currentEngine?.filesOnly) return undefined;
  return missingKernel((engine) =>
    productKernelOf(engine, specOf(product, productLevel(engine), engine.memory.shared)),
  );
}

/** Fills the result of a float32 product whose axes are not empty. */
export function fillProduct(
  engine: Engine,
  product: ProductInto,
  level: SimdLevel,
  threads: number,
  progress: CollectedOutputs,
): void {
  const { memory } = engine;
  const spec = specOf(product, level, memory.shared);
  const kernel = productKernelOf(engine, spec);
  engine.pool.reserve(kernel.workspaceBytes, threads);
  const tiling = chooseProductTiling(product, spec);
  const { outputs, steps } = stepsOf(product, tiling, progress.collected);
  const regions = new AllocationScope(memory);
  try {
    const buffers = new ProductBuffers(memory, regions, product, spec, tiling, threads);
    const runTasks = (tasks: number, overlap?: () => void) =>
      engine.pool.run(kernel, buffers.tasks, ProductStruct.size, tasks, threads, STEP_WORK, overlap);
    const collect = (output: number) => {
      buffers.copyOut(outputs[output], output % 2);
      progress.collected++;
    };
    let waiting: number | undefined;
    steps.forEach((step, n) => {
      const output = outputs[step.output];
      const copyIn = (n: number) => steps[n] && buffers.copyIn(outputs[steps[n].output], steps[n].k, n % 2);
      if (n === 0) copyIn(0);
      if (tiling.packed && buffers.freshB(output, step.k)) runTasks(buffers.packTasks(output, step.k, n % 2));
      runTasks(buffers.productTasks(output, step.k, n % 2, step.output % 2), () => {
        if (waiting !== undefined) collect(waiting);
        waiting = undefined;
        copyIn(n + 1);
      });
      if (step.k[1] === product.K) waiting = step.output;
    });
    if (waiting !== undefined) collect(waiting);
  } finally {
    regions.free();
  }
}

/** The plan of a product: its kernel, the rows and columns of a task, and the numbers of steps and tasks. */
export function planProduct(engine: Engine, product: Product, level: SimdLevel, threads: number) {
  const spec = specOf(product, level, engine.memory.shared);
  const tiling = chooseProductTiling(product, spec);
  const { steps } = stepsOf(product, tiling, 0);
  const [block, panel] = [taskRows(spec.tile), panelOf(spec.tile)];
  const panels = Math.ceil(tiling.columns / panel);
  const rowTasks = Math.ceil(tiling.rows / block) * tiling.entries;
  const columnTasks = threads === 1 ? 1 : Math.min(panels, Math.ceil((TASKS * threads) / rowTasks));
  const numbers =
    2 * tiling.entries * tiling.rows * tiling.depth +
    3 * tiling.columns * tiling.depth +
    2 * tiling.entries * tiling.rows * tiling.columns;
  return {
    key: productKey(spec),
    rowTile: block,
    keyTile: Math.ceil(panels / columnTasks) * panel,
    steps: steps.length,
    tasks: steps.length * rowTasks * columnTasks,
    bytes: 4 * numbers + productWorkspace(spec).size * threads,
  };
}

/** The kernel of a spec. */
const productKernelOf = (engine: Engine, spec: ProductSpec): CachedKernel =>
  engine.kernels.keep(productKey(spec), productWorkspace(spec).size, spec.wide, () => productKernel(spec));

/** The spec of a product's kernel. */
function specOf(product: Product, level: SimdLevel, shared: boolean): ProductSpec {
  return {
    fused: level !== "strict",
    wide: level === "wide",
    tile: tileFor(level),
    a: storedDType(product.a),
    b: storedDType(product.b),
    shared,
  };
}

function chooseProductTiling({ batch, M, N, K }: Product, { tile }: ProductSpec): ProductTiling {
  const block = taskRows(tile);
  const depth = K <= MAX_DEPTH ? K : DEEP_STEP;
  const columns = Math.min(N, STEP_COLUMNS, Math.max(256, roundUp(Math.floor(STEP_NUMBERS / depth), 64)));
  const width = roundUp(columns, panelOf(tile));
  const maxRows = Math.max(STEP_ROWS, Math.floor(STEP_NUMBERS / Math.max(depth, width)));
  const wanted = Math.min(maxRows, Math.max(STEP_ROWS, STEP_WORK / (2 * N * K)));
  const rows = Math.min(M, roundUp(depth < K ? DEEP_ROWS : wanted, block));
  const complete = depth === K && columns === N && rows === M;
  const numbers = Math.max(roundUp(M, tile.rows) * width, M * K, N * K);
  const entries = Math.floor(Math.min(STEP_WORK / (2 * M * N * K), STEP_NUMBERS / numbers));
  return {
    entries: complete ? Math.min(batch, Math.max(1, entries)) : 1,
    rows,
    columns,
    depth,
    packed: M > block,
  };
}

/** All outputs in order, and the steps of the outputs that are not collected yet. */
function stepsOf({ batch, M, N, K }: Product, tiling: ProductTiling, collected: number) {
  const outputs: Output[] = [];
  const steps: Step[] = [];
  for (let t = 0; t < batch; t += tiling.entries)
    for (let n = 0; n < N; n += tiling.columns)
      for (let m = 0; m < M; m += tiling.rows) {
        if (outputs.length >= collected)
          for (let k = 0; k < K; k += tiling.depth)
            steps.push({ output: outputs.length, k: [k, Math.min(K, k + tiling.depth)] });
        outputs.push({
          t: [t, Math.min(batch, t + tiling.entries)],
          rows: [m, Math.min(M, m + tiling.rows)],
          columns: [n, Math.min(N, n + tiling.columns)],
        });
      }
  return { outputs, steps };
}

function linesOf(memory: EngineMemory, x: Operand, line: number, deep: number): Lines {
  // Where neither lines nor k are contiguous, the k of a line are gathered.
  const across = deep !== 1 && line === 1;
  const operand = { ...x, row: across ? deep : line, column: across ? line : deep };
  return {
    operand: { ...operand, head: operand.column },
    across,
    bytes: DTYPES[x.tensor.dtype].bytes,
    resident: residentOperand(memory, { ...operand, head: 0 }),
  };
}

/** Regions for the steps of a product, in pairs: one is filled while the other is read. */
class ProductBuffers {
  readonly tasks: number;
  private readonly memory: EngineMemory;
  private readonly product: ProductInto;
  private readonly tiling: ProductTiling;
  private readonly threads: number;
  private readonly block: number;
  private readonly panel: number;
  private readonly strip: number;
  private readonly a: Lines;
  private readonly b: Lines;
  /** One B for all entries. */
  private readonly sharedB: boolean;
  private readonly aAt: number[];
  private readonly bAt: number[];
  private readonly aSize: number;
  private readonly bSize: number;
  private readonly packedAt: number;
  private readonly packedSize: number;
  private readonly cAt: number[];
  private readonly cSize: number;
  /** The address of C where it is in the engine's memory and can be written in full tiles. */
  private readonly cResident: number | undefined;
  /** A bias, or zeros. */
  private readonly start: number;
  private copiedIn = ["", ""];
  private packed = "";

  constructor(
    memory: EngineMemory,
    regions: AllocationScope,
    product: ProductInto,
    spec: ProductSpec,
    tiling: ProductTiling,
    threads: number,
  ) {
    const { a, b, bias, N } = product;
    const { entries, rows, columns, depth } = tiling;
    this.memory = memory;
    this.product = product;
    this.tiling = tiling;
    this.threads = threads;
    this.block = taskRows(spec.tile);
    this.panel = panelOf(spec.tile);
    this.strip = spec.tile.rows;
    this.a = linesOf(memory, a, a.row, a.column);
    this.b = linesOf(memory, b, b.column, b.row);
    this.sharedB = b.base.every((at) => at === b.base[0]);
    const bEntries = this.sharedB ? 1 : entries;
    const pair = (bytes: number) => [regions.alloc(bytes), regions.alloc(bytes)];
    this.aSize = rows * depth * this.a.bytes;
    this.bSize = columns * depth * this.b.bytes;
    this.aAt = this.a.resident ? [0, 0] : pair(entries * this.aSize);
    this.bAt = this.b.resident ? [0, 0] : pair(bEntries * this.bSize);
    this.packedSize = roundUp(columns, this.panel) * depth * 4;
    this.packedAt = tiling.packed ? regions.alloc(bEntries * this.packedSize) : 0;
    this.cSize = roundUp(rows, this.strip) * roundUp(columns, this.panel) * 4;
    this.cResident = this.inPlace(product);
    this.cAt = this.cResident === undefined ? pair(entries * this.cSize) : [0, 0];
    const width = roundUp(N, this.panel);
    this.start = regions.alloc(4 * width);
    const { f32 } = memory;
    f32.fill(0, this.start / 4, this.start / 4 + width);
    if (bias) stageWidened(memory, bias, N, this.start);
    const maxTasks = Math.ceil(rows / this.block) * entries * Math.ceil(columns / this.panel);
    this.tasks = regions.alloc(
      ProductStruct.size * Math.max(maxTasks, entries * Math.ceil(columns / this.panel)),
    );
  }

  /** The address of C, where full tiles fit: without writing over another entry, or with padding after the last row (backend/product.ts). */
  private inPlace({ out, start, accumulate, batch, M, N }: ProductInto): number | undefined {
    const wholeTiles =
      N % this.panel === 0 && (M % this.strip === 0 || (batch === 1 && this.strip <= STRIP_ROWS));
    const at = accumulate || !wholeTiles ? undefined : addressOf(this.memory, out);
    return at === undefined ? undefined : at + 4 * start;
  }

  /** Copies the operands of a step into the buffers of its parity. */
  copyIn(output: Output, k: readonly [number, number], parity: number): void {
    const { memory, sharedB } = this;
    const [t0, t1] = output.t;
    if (!this.a.resident)
      for (let t = t0; t < t1; t++)
        copyLinesIn(memory, this.a, t, output.rows, k, this.aAt[parity] + (t - t0) * this.aSize);
    if (this.b.resident) return;
    const name = this.nameB(output, k);
    if (this.copiedIn[parity] === name || (this.tiling.packed && this.packed === name)) return;
    for (let t = t0; t < (sharedB ? t0 + 1 : t1); t++)
      copyLinesIn(memory, this.b, t, output.columns, k, this.bAt[parity] + (t - t0) * this.bSize);
    this.copiedIn[parity] = name;
  }

  /** True where the part of B for this step is not packed yet; marks it as packed. */
  freshB(output: Output, k: readonly [number, number]): boolean {
    const name = this.nameB(output, k);
    const fresh = this.packed !== name;
    this.packed = name;
    return fresh;
  }

  private nameB(output: Output, k: readonly [number, number]): string {
    return `${this.sharedB ? 0 : output.t[0]} ${output.columns[0]} ${k[0]}`;
  }

  private placedB(output: Output, t: number, k: readonly [number, number], parity: number): Placed {
    const entry = this.sharedB ? output.t[0] : t;
    return placeLines(
      this.b,
      entry,
      output.columns,
      k,
      this.bAt[parity] + (entry - output.t[0]) * this.bSize,
    );
  }

  /** Writes the tasks that pack B; returns their number. */
  packTasks(output: Output, k: readonly [number, number], parity: number): number {
    const { i32 } = this.memory;
    const [n0, n1] = output.columns;
    const depth = k[1] - k[0];
    const panels = Math.ceil((n1 - n0) / this.panel);
    const share = Math.ceil(panels / Math.min(panels, this.threads === 1 ? 1 : TASKS * this.threads));
    let count = 0;
    for (let t = output.t[0]; t < (this.sharedB ? output.t[0] + 1 : output.t[1]); t++) {
      const b = this.placedB(output, t, k, parity);
      for (let p = 0; p < panels; p += share) {
        const word = this.tasks / 4 + (count++ * ProductStruct.size) / 4;
        const first = p * this.panel;
        i32[word + ProductStruct.kind / 4] = 1;
        i32[word + ProductStruct.b / 4] = this.packedB(output, t) + first * depth * 4;
        i32[word + ProductStruct.bSource / 4] = b.at + first * b.line;
        i32[word + ProductStruct.bColumn / 4] = b.line;
        i32[word + ProductStruct.bDeep / 4] = b.deep;
        i32[word + ProductStruct.bAcross / 4] = Number(this.b.across);
        i32[word + ProductStruct.columns / 4] = Math.min(n1 - n0 - first, share * this.panel);
        i32[word + ProductStruct.depth / 4] = depth;
      }
    }
    return count;
  }

  private packedB(output: Output, t: number): number {
    return this.packedAt + (this.sharedB ? 0 : (t - output.t[0]) * this.packedSize);
  }

  /** Writes the tasks of a step; returns their number. */
  productTasks(output: Output, k: readonly [number, number], parity: number, half: number): number {
    const { i32 } = this.memory;
    const { block, panel } = this;
    const [m0, m1] = output.rows;
    const [n0, n1] = output.columns;
    const depth = k[1] - k[0];
    const panels = Math.ceil((n1 - n0) / panel);
    const blocks = Math.ceil((m1 - m0) / block) * (output.t[1] - output.t[0]);
    const wanted = this.threads === 1 ? 1 : Math.min(panels, Math.ceil((TASKS * this.threads) / blocks));
    const share = Math.ceil(panels / wanted) * panel;
    const { M, N } = this.product;
    const cRow = 4 * (this.cResident === undefined ? roundUp(n1 - n0, panel) : N);
    let count = 0;
    for (let t = output.t[0]; t < output.t[1]; t++) {
      const entry = t - output.t[0];
      const a = placeLines(this.a, t, output.rows, k, this.aAt[parity] + entry * this.aSize);
      const b = this.tiling.packed ? undefined : this.placedB(output, t, k, parity);
      const c =
        this.cResident === undefined
          ? this.cAt[half] + entry * this.cSize
          : this.cResident + 4 * ((t * M + m0) * N + n0);
      for (let m = 0; m < m1 - m0; m += block)
        for (let n = 0; n < n1 - n0; n += share) {
          const word = this.tasks / 4 + (count++ * ProductStruct.size) / 4;
          i32[word + ProductStruct.kind / 4] = 0;
          i32[word + ProductStruct.a / 4] = a.at + m * a.line;
          i32[word + ProductStruct.aRow / 4] = a.line;
          i32[word + ProductStruct.aDeep / 4] = a.deep;
          i32[word + ProductStruct.aAcross / 4] = Number(this.a.across);
          i32[word + ProductStruct.b / 4] = b ? 0 : this.packedB(output, t) + n * depth * 4;
          i32[word + ProductStruct.bPanel / 4] = 4 * panel * depth;
          i32[word + ProductStruct.bSource / 4] = b ? b.at + n * b.line : 0;
          i32[word + ProductStruct.bColumn / 4] = b ? b.line : 0;
          i32[word + ProductStruct.bDeep / 4] = b ? b.deep : 0;
          i32[word + ProductStruct.bAcross / 4] = Number(this.b.across);
          i32[word + ProductStruct.rows / 4] = Math.min(block, m1 - m0 - m);
          i32[word + ProductStruct.columns / 4] = Math.min(share, n1 - n0 - n);
          i32[word + ProductStruct.depth / 4] = depth;
          i32[word + ProductStruct.c / 4] = c + m * cRow + 4 * n;
          i32[word + ProductStruct.cRow / 4] = cRow;
          i32[word + ProductStruct.from / 4] = k[0] === 0 ? this.start + 4 * (n0 + n) : c + m * cRow + 4 * n;
          i32[word + ProductStruct.fromRow / 4] = k[0] === 0 ? 0 : cRow;
        }
    }
    return count;
  }

  /** Copies an output into the result, or adds it. */
  copyOut(output: Output, half: number): void {
    if (this.cResident !== undefined) return;
    const { product, memory, panel } = this;
    const { M, N, out } = product;
    const accumulate = product.accumulate !== undefined;
    const [m0, m1] = output.rows;
    const [n0, n1] = output.columns;
    const width = roundUp(n1 - n0, panel);
    const { f32 } = memory;
    for (let t = output.t[0]; t < output.t[1]; t++) {
      const c = (this.cAt[half] + (t - output.t[0]) * this.cSize) / 4;
      const to = product.start + (t * M + m0) * N + n0;
      if (width === N) put(f32, c, out, to, (m1 - m0) * N, accumulate);
      else for (let m = 0; m < m1 - m0; m++) put(f32, c + m * width, out, to + m * N, n1 - n0, accumulate);
    }
  }
}

function put(
  from: Float32Array,
  at: number,
  out: Float32Array | Float64Array,
  to: number,
  count: number,
  accumulate: boolean,
): void {
  if (accumulate) for (let n = 0; n < count; n++) out[to + n] += from[at + n];
  else if (count < 16) for (let n = 0; n < count; n++) out[to + n] = from[at + n];
  else out.set(from.subarray(at, at + count), to);
}

function copyLinesIn(
  memory: EngineMemory,
  { operand, across }: Lines,
  t: number,
  lines: readonly [number, number],
  k: readonly [number, number],
  target: number,
): void {
  const [rows, columns] = across ? [k, lines] : [lines, k];
  stageRows(memory, operand, t, columns[0], rows[0], rows[1], columns[1] - columns[0], target);
}

function placeLines(
  { across, bytes, resident }: Lines,
  t: number,
  lines: readonly [number, number],
  k: readonly [number, number],
  target: number,
): Placed {
  const [rows, columns] = across ? [k, lines] : [lines, k];
  const at = resident ? resident.at(t, 0, rows[0]) + columns[0] * bytes : target;
  const row = resident ? resident.row : (columns[1] - columns[0]) * bytes;
  return across ? { at, line: bytes, deep: row } : { at, line: row, deep: bytes };
}

/** A bias as float32. */
function stageWidened(memory: EngineMemory, bias: Operand, N: number, target: number): void {
  const read = readerOf(bias.tensor.dtype, bias.tensor.data);
  for (let n = 0; n < N; n++) memory.f32[target / 4 + n] = read(bias.base[0] + n * bias.column);
}

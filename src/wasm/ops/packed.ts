/**
 * Matrices that are packed once into the engine's memory, in panels [panel][k][16] of their storage format, and the products x·Wᵀ
 * that read them (kernels/matmul/packed.ts). Operands and results in the engine's memory are used in place; others are copied in
 * parts.
 */

import type { PackedMatrix, PackedNumbers } from "../../backend/packed.ts";
import type { SimdLevel } from "../../backend/plan/plan.ts";
import { STRIP_ROWS } from "../../backend/product.ts";
import { settings } from "../../backend/settings.ts";
import { DTYPES, type StoredDType } from "../../core/dtype.ts";
import { Tensor } from "../../core/tensor.ts";
import { roundUp } from "../codegen/spec.ts";
import { currentEngine, type Engine, findLevel, getEngine, replaceEngine } from "../engine/engine.ts";
import { tileFor } from "../engine/features.ts";
import { AllocationScope, detachOwner, type EngineMemory, freeWithOwner } from "../engine/memory.ts";
import { sines, wideAgrees } from "../engine/self-test.ts";
import { addressOf, arrayOf } from "../engine/transfer.ts";
import { retryOnWorkerLoss } from "../engine/worker-pool.ts";
import {
  PACKED_COLUMNS,
  type PackedProductSpec,
  PackedProductStruct,
  packedProductKernel,
  packedProductKey,
  packedTaskRows,
  packedWorkspace,
} from "../kernels/matmul/packed.ts";

/** Tasks for each thread, so that no thread waits long for the last task. */
const TASKS = 4;
/** Minimum number of rows of a block where rows are divided among threads: each block packs its rows for each part of the columns. */
const MIN_BLOCK = 48;
/** Numbers of A or C that are copied for one part of a product. */
const PART_NUMBERS = 2 ** 20;

/** A packed matrix in the memory of an engine. */
export class EngineMatrix implements PackedMatrix {
  readonly shape: readonly [number, number];
  readonly dtype: StoredDType;
  readonly #bytes: number;
  #engine: Engine;
  #at: number;

  /** A matrix of zeros. Throws an UnsupportedError where the memory is full. */
  constructor(engine: Engine, [N, K]: readonly [number, number], dtype: StoredDType) {
    this.shape = [N, K];
    this.dtype = dtype;
    this.#bytes = roundUp(N, PACKED_COLUMNS) * K * DTYPES[dtype].bytes;
    this.#engine = engine;
    this.#at = this.#allocate(engine);
    // Only the padding columns of the last panel are not written later.
    engine.memory.u8.fill(
      0,
      this.#at + Math.floor(N / PACKED_COLUMNS) * this.#panelBytes,
      this.#at + this.#bytes,
    );
  }

  get #panelBytes(): number {
    return PACKED_COLUMNS * this.shape[1] * DTYPES[this.dtype].bytes;
  }

  #allocate(engine: Engine): number {
    const at = engine.memory.alloc(this.#bytes);
    freeWithOwner(this, engine.memory, at);
    return at;
  }

  /** Address in an engine's memory. After a thread was lost there is a new engine: the matrix is copied there. */
  addressIn(engine: Engine): number {
    if (engine !== this.#engine) {
      const from = this.#engine.memory.u8.subarray(this.#at, this.#at + this.#bytes);
      detachOwner(this);
      this.#at = this.#allocate(engine);
      engine.memory.u8.set(from, this.#at);
      this.#engine = engine;
    }
    return this.#at;
  }

  /** The engine's memory as numbers of the matrix, and the index of the first one. */
  #view(): { readonly numbers: PackedNumbers; readonly start: number } {
    const { memory } = this.#engine;
    const numbers = arrayOf(memory, DTYPES[this.dtype].bytes);
    return { numbers, start: this.#at / DTYPES[this.dtype].bytes };
  }

  writeRows(first: number, rows: PackedNumbers): void {
    const [, K] = this.shape;
    const { numbers, start } = this.#view();
    const count = rows.length / K;
    for (let n = 0; n < count; ) {
      const row = first + n;
      const column = row % PACKED_COLUMNS;
      const at = start + (row - column) * K + column;
      // All rows of one panel together: they fill full cache lines.
      const together = Math.min(PACKED_COLUMNS - column, count - n);
      for (let k = 0; k < K; k++) {
        const to = at + k * PACKED_COLUMNS;
        for (let i = 0, from = n * K + k; i < together; i++, from += K) numbers[to + i] = rows[from];
      }
      n += together;
    }
  }

  writeColumns(first: number, columns: PackedNumbers): void {
    const [N, K] = this.shape;
    const { numbers, start } = this.#view();
    const count = columns.length / N;
    for (let k = 0; k < count; k++)
      for (let row = 0; row < N; row += PACKED_COLUMNS) {
        const to = start + row * K + (first + k) * PACKED_COLUMNS;
        const end = Math.min(PACKED_COLUMNS, N - row);
        for (let i = 0, from = k * N + row; i < end; i++) numbers[to + i] = columns[from + i];
      }
  }

  readRows(rows: ArrayLike<number>): PackedNumbers {
    const [, K] = this.shape;
    const { numbers, start } = this.#view();
    const out =
      this.dtype === "float32" ? new Float32Array(rows.length * K) : new Uint16Array(rows.length * K);
    for (let n = 0; n < rows.length; n++) {
      const column = rows[n] % PACKED_COLUMNS;
      const at = start + (rows[n] - column) * K + column;
      for (let k = 0, to = n * K; k < K; k++) out[to + k] = numbers[at + k * PACKED_COLUMNS];
    }
    return out;
  }

  toTensor(): Tensor<StoredDType> {
    const [N] = this.shape;
    return new Tensor(this.readRows(Array.from({ length: N }, (_, n) => n)), this.shape, this.dtype);
  }

  free(): void {
    detachOwner(this);
    this.#engine.memory.free(this.#at);
  }
}

/** A product x·Wᵀ + bias with its result. */
export interface PackedProduct {
  /** Row-major from `start` on with `row` numbers from row to row. */
  readonly x: Float32Array;
  readonly start: number;
  readonly row: number;
  readonly M: number;
  readonly weight: EngineMatrix;
  /** [N] */
  readonly bias?: Float32Array;
  /** [M, N]; in the engine's memory followed by STRIP_ROWS·N numbers that may be written. */
  readonly out: Float32Array;
}

/** A packed matrix of zeros; undefined where there is no engine. Throws an UnsupportedError where the memory is full. */
export function packedMatrix(shape: readonly [number, number], dtype: StoredDType): PackedMatrix | undefined {
  const engine = currentEngine ?? getEngine();
  return engine && new EngineMatrix(engine, shape, dtype);
}

/** The SIMD level of products with packed matrices; a wide one is tested first. */
const packedLevel = (engine: Engine): SimdLevel =>
  engine.levels.get(settings())?.packed ?? findLevel(engine, "packed", () => packedAgrees(engine));

/** True where wide and relaxed kernels agree to the bit: one row and several, over a block and a half of K. */
function packedAgrees(engine: Engine): boolean {
  const [M, N, K] = [14, 40, 384];
  const weight = new EngineMatrix(engine, [N, K], "float32");
  weight.writeRows(0, sines(N * K, 1));
  const [x, bias] = [sines(M * K, 2), sines(N, 3)];
  const bitsOf = (rows: number, level: SimdLevel): Int32Array => {
    const out = new Float32Array(rows * N);
    fillPackedProduct(engine, { x, start: 0, row: K, M: rows, weight, bias, out }, level, 1);
    return new Int32Array(out.buffer);
  };
  try {
    return [1, M].every((rows) => wideAgrees((level) => bitsOf(rows, level)));
  } finally {
    weight.free();
  }
}

/** Fills x·Wᵀ + bias; false where another backend packed W. */
export function packedProduct({
  weight,
  ...product
}: Omit<PackedProduct, "weight"> & { readonly weight: PackedMatrix }): boolean {
  if (!(weight instanceof EngineMatrix)) return false;
  const full = { ...product, weight };
  retryOnWorkerLoss(currentEngine ?? (getEngine() as Engine), replaceEngine, (engine, singleThreaded) => {
    const threads = singleThreaded ? 1 : engine.pool.threadsFor(packedWork(full));
    fillPackedProduct(engine, full, packedLevel(engine), threads);
  });
  return true;
}

/** Operations that take as long as a product, for choosing the number of threads: with few rows, reading W takes longer. */
const packedWork = ({ M, weight: { shape } }: PackedProduct): number =>
  2 * Math.max(M, READ_ROWS) * shape[0] * shape[1];
/** Rows whose multiplications take as long as reading W from memory. */
const READ_ROWS = 8;

/** Fills the result of a product. */
export function fillPackedProduct(
  engine: Engine,
  product: PackedProduct,
  level: SimdLevel,
  threads: number,
): void {
  const { memory, pool } = engine;
  const { M, bias, weight } = product;
  const [N, K] = weight.shape;
  const spec: PackedProductSpec = {
    fused: level !== "strict",
    wide: level === "wide",
    tile: tileFor(level),
    b: weight.dtype,
    shared: memory.shared,
  };
  const kernel = engine.kernels.keep(packedProductKey(spec), packedWorkspace(spec).size, spec.wide, () =>
    packedProductKernel(spec),
  );
  pool.reserve(kernel.workspaceBytes, threads);
  const b = weight.addressIn(engine);
  const width = roundUp(N, PACKED_COLUMNS);
  const x = addressOf(memory, product.x);
  const c = resultAddress(memory, product, spec.tile.rows);
  const scope = new AllocationScope(memory);
  try {
    const biasAt = scope.alloc(4 * width);
    const { f32 } = memory;
    f32.fill(0, biasAt / 4 + (bias ? N : 0), biasAt / 4 + width);
    if (bias) f32.set(bias, biasAt / 4);
    const partNumbers = Math.max(x === undefined ? K : 1, c === undefined ? width : 1);
    const full = x !== undefined && c !== undefined;
    const rows = full
      ? M
      : Math.min(M, roundUp(Math.max(1, Math.floor(PART_NUMBERS / partNumbers)), spec.tile.rows));
    const xCopy = x === undefined ? scope.alloc(4 * rows * K) : 0;
    const cCopy = c === undefined ? scope.alloc(4 * roundUp(rows, spec.tile.rows) * width) : 0;
    for (let m = 0; m < M; m += rows) {
      const count = Math.min(rows, M - m);
      if (x === undefined) copyRowsIn(memory, product, m, count, K, xCopy);
      const tasks = buildTasks(memory, scope, spec, threads, {
        a: x === undefined ? xCopy : x + 4 * (product.start + m * product.row),
        aRow: 4 * (x === undefined ? K : product.row),
        b,
        rows: count,
        columns: width,
        depth: K,
        c: c === undefined ? cCopy : c + 4 * m * N,
        cRow: 4 * (c === undefined ? width : N),
        bias: biasAt,
      });
      pool.run(
        kernel,
        tasks.at,
        PackedProductStruct.size,
        tasks.count,
        threads,
        (2 * count * N * K) / tasks.count,
      );
      if (c === undefined) copyRowsOut(memory, cCopy, width, product.out, m, count, N);
    }
  } finally {
    scope.free();
  }
}

/** The address of a result that is written in place: it has full panels, and padding for the last strip. */
function resultAddress(memory: EngineMemory, { M, weight: { shape }, out }: PackedProduct, strip: number) {
  const padded = M === 1 ? STRIP_ROWS * shape[0] >= PACKED_COLUMNS : shape[0] % PACKED_COLUMNS === 0;
  return padded && strip <= STRIP_ROWS ? addressOf(memory, out) : undefined;
}

function copyRowsIn(
  memory: EngineMemory,
  { x, start, row }: PackedProduct,
  first: number,
  count: number,
  K: number,
  target: number,
): void {
  const { f32 } = memory;
  const at = start + first * row;
  if (row === K) f32.set(x.subarray(at, at + count * K), target / 4);
  else
    for (let m = 0; m < count; m++) f32.set(x.subarray(at + m * row, at + m * row + K), target / 4 + m * K);
}

function copyRowsOut(
  memory: EngineMemory,
  source: number,
  width: number,
  out: Float32Array,
  first: number,
  count: number,
  N: number,
): void {
  const { f32 } = memory;
  const at = source / 4;
  if (width === N) out.set(f32.subarray(at, at + count * N), first * N);
  else
    for (let m = 0; m < count; m++)
      out.set(f32.subarray(at + m * width, at + m * width + N), (first + m) * N);
}

/** Writes tasks: blocks of rows, divided into parts of the columns where there are too few blocks for the threads. */
function buildTasks(
  memory: EngineMemory,
  scope: AllocationScope,
  spec: PackedProductSpec,
  threads: number,
  full: Record<Exclude<keyof typeof PackedProductStruct, "size">, number>,
): { at: number; count: number } {
  const block = packedTaskRows(spec, full.rows, threads > 1 && full.rows >= MIN_BLOCK * 2 ? 2 : 1);
  const blocks = Math.ceil(full.rows / block);
  const panels = full.columns / PACKED_COLUMNS;
  const parts = threads === 1 ? 1 : Math.min(panels, Math.ceil((TASKS * threads) / blocks));
  const share = Math.ceil(panels / parts);
  const panelBytes = PACKED_COLUMNS * full.depth * DTYPES[spec.b].bytes;
  const at = scope.alloc(PackedProductStruct.size * blocks * parts);
  const { i32 } = memory;
  let count = 0;
  for (let row = 0; row < full.rows; row += block)
    for (let panel = 0; panel < panels; panel += share) {
      const word = (at + PackedProductStruct.size * count++) / 4;
      const column = panel * PACKED_COLUMNS;
      i32[word + PackedProductStruct.a / 4] = full.a + row * full.aRow;
      i32[word + PackedProductStruct.aRow / 4] = full.aRow;
      i32[word + PackedProductStruct.b / 4] = full.b + panel * panelBytes;
      i32[word + PackedProductStruct.rows / 4] = Math.min(block, full.rows - row);
      i32[word + PackedProductStruct.columns / 4] = Math.min(share * PACKED_COLUMNS, full.columns - column);
      i32[word + PackedProductStruct.depth / 4] = full.depth;
      i32[word + PackedProductStruct.c / 4] = full.c + row * full.cRow + 4 * column;
      i32[word + PackedProductStruct.cRow / 4] = full.cRow;
      i32[word + PackedProductStruct.bias / 4] = full.bias + 4 * column;
    }
  return { at, count };
}

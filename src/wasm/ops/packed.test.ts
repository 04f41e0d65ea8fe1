/** Products with a packed matrix have the bits of the plain product; the matrix keeps its numbers and frees its memory. */
import { afterEach, describe, expect, it } from "vitest";
import { matmul } from "../../api/matmul.ts";
import { matmulPacked, type PackedMatrix, packMatrix } from "../../api/packed.ts";
import { keep, tidy } from "../../api/tidy.ts";
import { configure, settings } from "../../backend/settings.ts";
import { narrow, readerOf, type StoredDType } from "../../core/dtype.ts";
import { Tensor } from "../../core/tensor.ts";
import { currentEngine, discardEngine, type Engine, getEngine } from "../engine/engine.ts";
import { KernelCache } from "../engine/kernel-cache.ts";
import { EngineMemory } from "../engine/memory.ts";
import { WorkerPool } from "../engine/worker-pool.ts";
import { EngineMatrix, fillPackedProduct } from "./packed.ts";

const before = { ...settings() };
afterEach(() => void configure(before));

const numbers = (salt: number, shape: readonly number[]): Tensor<"float32"> =>
  new Tensor(
    Float32Array.from({ length: shape.reduce((x, y) => x * y, 1) }, (_, i) => Math.sin(i * 1.7 + salt)),
    shape,
    "float32",
  );

/** A matrix in a storage format. */
function stored(w: Tensor<"float32">, dtype: StoredDType): Tensor {
  if (dtype === "float32") return w;
  const bits = new Uint16Array(w.size);
  narrow(dtype, w.data, bits);
  return new Tensor(bits, w.shape, dtype);
}

function packed(w: Tensor): PackedMatrix {
  const matrix = packMatrix(w.shape as [number, number], w.dtype as StoredDType) as PackedMatrix;
  matrix.writeRows(0, w.data as Float32Array);
  return matrix;
}

/** The first index at which two arrays differ, or −1. */
const differs = (got: ArrayLike<number>, want: ArrayLike<number>): number =>
  Array.from(got).findIndex((x, i) => !Object.is(x, want[i]));

const SIZES = [[1, 1, 1], [1, 17, 3], [2, 16, 255], [5, 40, 256], [6, 15, 257], [7, 48, 600], [25, 33, 64], [97, 32, 300], [130, 96, 31], [140, 48, 300]]; // biome-ignore format: rows of sizes

describe("a packed matrix", () => {
  for (const dtype of ["float32", "float16", "bfloat16"] as const)
    it(`in ${dtype} gives the bits of the plain product, at every level and size, in either memory`, () => {
      for (const simd of ["strict", "relaxed", "wide"] as const) {
        configure({ simd, threads: 1, onWarning: () => {} });
        for (const [M, N, K] of SIZES) {
          const w = stored(numbers(1, [N, K]), dtype);
          const [x, bias] = [numbers(2, [M, K]), numbers(3, [N])];
          const matrix = packed(w);
          const want = matmul(x, w, { transposeB: true, bias });
          const where = `${simd} ${M} ${N} ${K}`;
          expect([where, differs(matmulPacked(x, matrix, bias).data, want.data)]).toEqual([where, -1]);
          const plain = matmul(x, w, { transposeB: true });
          expect([where, differs(matmulPacked(x, matrix).data, plain.data)]).toEqual([where, -1]);
          // In the engine's memory, where other data follows the result.
          const [inside, after] = tidy(() => {
            const dense = x.contiguous();
            const y = matmulPacked(dense, matrix, bias);
            const next = numbers(4, [64]).contiguous();
            matmulPacked(dense, matrix, bias);
            return [keep(y), keep(next)];
          });
          expect([where, differs(inside.data, want.data)]).toEqual([where, -1]);
          expect(differs(after.data, numbers(4, [64]).data)).toBe(-1);
          matrix.free();
        }
      }
    });

  it("reads rows with gaps between them", () => {
    const wide = numbers(5, [9, 50]);
    const x = new Tensor(wide.data, [9, 20], "float32", [50, 1], 7);
    const w = numbers(6, [24, 20]);
    expect(differs(matmulPacked(x, packed(w)).data, matmul(x, w, { transposeB: true }).data)).toBe(-1);
  });

  it("gives the same bits on several threads", () => {
    for (const M of [1, 50, 200]) {
      const [x, w] = [numbers(1, [M, 512]), numbers(2, [1000, 512])];
      configure({ threads: 1 });
      const matrix = packed(w);
      const one = matmulPacked(x, matrix).data;
      configure({ threads: 3 });
      for (let n = 0; n < 5; n++) expect(differs(matmulPacked(x, matrix).data, one)).toBe(-1);
    }
  });

  it("keeps its numbers: single rows, all rows, and columns", () => {
    for (const [N, K] of [[1, 1], [16, 5], [37, 9]]) {
      const w = numbers(7, [N, K]);
      const matrix = packed(w);
      expect(differs(matrix.toTensor().data, w.data)).toBe(-1);
      expect(differs(matrix.readRows([N - 1, 0]), [...w.data.subarray((N - 1) * K), ...w.data.subarray(0, K)])).toBe(-1);
      const other = packMatrix([N, K], "float32") as PackedMatrix;
      const columns = w.transpose().contiguous().data as Float32Array;
      const half = Math.floor(K / 2) * N;
      other.writeColumns(Math.floor(K / 2), columns.subarray(half));
      if (half > 0) other.writeColumns(0, columns.subarray(0, half));
      expect(differs(other.toTensor().data, w.data)).toBe(-1);
    }
  }); // biome-ignore format: rows of sizes

  it("frees its memory", () => {
    const { memory } = getEngine() as Engine;
    const used = memory.resetPeak();
    const matrix = packed(numbers(1, [64, 64]));
    expect(memory.resetPeak()).toBeGreaterThan(used);
    matmulPacked(numbers(2, [3, 64]), matrix);
    matrix.free();
    expect(memory.resetPeak()).toBe(used);
  });

  it("survives a new engine and a change of the backend", () => {
    const [x, w] = [numbers(1, [4, 30]), numbers(2, [20, 30])];
    const matrix = packed(w);
    const want = matmul(x, w, { transposeB: true }).data;
    discardEngine();
    expect(differs(matmulPacked(x, matrix).data, want)).toBe(-1);
    expect(currentEngine).toBeDefined();
    configure({ backend: "reference" });
    expect(packMatrix([2, 2], "float32")).toBeUndefined();
    const exact = matmulPacked(x, matrix).data;
    expect(differs(exact, matmul(x, w, { transposeB: true }).data)).toBe(-1);
  });

  it("works in memory that is not shared, after it grew", () => {
    const memory = new EngineMemory(false);
    const engine = {
      ...getEngine(),
      memory,
      kernels: new KernelCache(memory),
      pool: new WorkerPool(memory),
    } as Engine;
    const [x, w, bias] = [numbers(1, [30, 300]), numbers(2, [40, 300]), numbers(3, [40])];
    const weight = new EngineMatrix(engine, [40, 300], "float32");
    weight.writeRows(0, w.data);
    memory.alloc(2 ** 22);
    const out = new Float32Array(30 * 40);
    fillPackedProduct(
      engine,
      { x: x.data, start: 0, row: 300, M: 30, weight, bias: bias.data, out },
      "strict",
      1,
    );
    configure({ simd: "strict" });
    expect(differs(out, matmul(x, w, { transposeB: true, bias }).data)).toBe(-1);
  });

  it("widens 16-bit numbers exactly, including subnormal ones", () => {
    const bits = Uint16Array.of(1, 0x3ff, 0x8001, 0x7bff, 0x0400, 0x3c00);
    const w = new Tensor(bits, [6, 1], "float16");
    const read = readerOf("float16", bits);
    for (const M of [1, 2]) {
      const y = matmulPacked(new Tensor(new Float32Array(M).fill(1), [M, 1], "float32"), packed(w));
      expect([...y.data.subarray(0, 6)]).toEqual(Array.from(bits, (_, n) => read(n)));
    }
  });
});

/**
 * Matrix products C = A·B + bias, over views of any strides: 32 × 32 tiles, 64 threads, 4 × 4 numbers of C a thread in registers, 32 columns of A
 * at a time in workgroup memory.
 */
import type { Product } from "../../backend/product.ts";
import type { Tensor } from "../../core/tensor.ts";
import { float32, gpuStorage } from "../device.ts";
import { KernelParams, run } from "../kernel.ts";
import type { GpuSession } from "../session.ts";
import { each, elementOf, entry, product as productOf, TILE, TILES } from "../tile.ts";
import { upload } from "./array.ts";

/** Enqueues a product; returns its result. */
export function matmul(session: GpuSession, product: Product): Tensor {
  const { batch, M, N, K, a, b, bias, shape, accumulate } = product;
  const result = accumulate ?? float32(shape);
  const params = new KernelParams();
  const [tilesM, tilesN] = [M, N].map((n) => Math.ceil(n / TILE));
  params.lets({
    M, N, K, tilesM, parts: tilesN, start: result.offset, batches: batch, a_row: a.row, a_column: a.column, b_row: b.row, b_column: b.column,
    biasFrom: bias ? bias.base[0] : 0, biasColumn: bias ? bias.column : 0,
  }); // biome-ignore format: one list
  const bases = upload(session, Int32Array.from([...a.base, ...b.base]));
  run(session, {
    inputs: {
      a: gpuStorage(a.tensor.storage),
      b: gpuStorage(b.tensor.storage),
      bases,
      ...(bias && { bias: gpuStorage(bias.tensor.storage) }),
    },
    outputs: { c: gpuStorage(result.storage) },
    params,
    body: productText(bias !== undefined, accumulate !== undefined),
    workgroups: batch * tilesM * tilesN,
  });
  bases.memory.dispose(bases);
  return result;
}

const productText = (hasBias: boolean, accumulates: boolean): string => `
${TILES}${elementOf("a", "M()", "K()")}${elementOf("b", "K()", "N()")}
${entry("tilesM()", "batches()")}
  // h is the matrix of the batch, key0 the first column
  let aAt = bitcast<i32>(word_bases[h]);
  let bAt = bitcast<i32>(word_bases[batches() + h]);
  let row0 = tile * 32;
  let key0 = part * 32;
  ${productOf(
    "s",
    "K()",
    (i, k) => `aOf(aAt, ${i}, ${k})`,
    (j, k) => `bOf(bAt, ${k}, ${j})`,
  )}
  ${each(4, (y) => `ps[lid * 4 + ${y}] = s${y};`)}
  for (var n = 0; n < 16; n++) {
    let i = row0 + ty * 4 + n / 4;
    let j = key0 + tx * 4 + n % 4;
    if (i < M() && j < N()) {
      let at = start() + (h * M() + i) * N() + j;
      var x = ps[lid * 4 + n / 4][n % 4];
      ${hasBias ? "x += load_bias(biasFrom() + j * biasColumn());" : ""}
      ${accumulates ? "x += load_c(at);" : ""}
      store_c(at, x);
    }
  }
}`;

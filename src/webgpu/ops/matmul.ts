/**
 * Matrix products C = A·B + bias, over views of any strides: 32 × 32 tiles, 64 threads, 4 × 4 numbers of C a thread in registers, 32 columns of A
 * at a time in workgroup memory.
 */
import type { Product } from "../../backend/product.ts";
import { tensorOver } from "../../core/device/tensor.ts";
import { sizeOf, type Tensor } from "../../core/tensor.ts";
import { gpuStorage, uninitialized } from "../device.ts";
import { KernelParams, run } from "../kernel.ts";
import type { GpuSession } from "../session.ts";
import { upload } from "./array.ts";

/** Rows and columns of a tile. */
export const PRODUCT_TILE = 32;

/** Enqueues a product; returns its result. */
export function matmul(session: GpuSession, product: Product): Tensor {
  const { batch, M, N, K, a, b, bias, shape, accumulate } = product;
  const result = accumulate ?? tensorOver(uninitialized("float32", sizeOf(shape)), shape, "float32");
  const params = new KernelParams();
  const [tilesM, tilesN] = [M, N].map((n) => Math.ceil(n / PRODUCT_TILE));
  params.lets({
    M, N, K, tilesM, tilesN, start: result.offset, batches: batch, aRow: a.row, aColumn: a.column, bRow: b.row, bColumn: b.column,
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
var<workgroup> left: array<vec4f, 256>;
var<workgroup> right: array<vec4f, 256>;
fn aOf(from0: i32, i: i32, k: i32) -> f32 {
  let x = load_a(from0 + min(i, M() - 1) * aRow() + min(k, K() - 1) * aColumn());
  return select(0.0, x, i < M() && k < K());
}
fn bOf(from0: i32, k: i32, j: i32) -> f32 {
  let x = load_b(from0 + min(k, K() - 1) * bRow() + min(j, N() - 1) * bColumn());
  return select(0.0, x, j < N() && k < K());
}
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) thread: u32) {
  let task = workgroupOf(id);
  if (task >= workgroups()) { return; }
  let lid = i32(thread);
  let tx = lid % 8;
  let ty = lid / 8;
  let column0 = task % tilesN() * 32;
  let row0 = task / tilesN() % tilesM() * 32;
  let t = task / tilesN() / tilesM();
  let aAt = bitcast<i32>(word_bases[t]);
  let bAt = bitcast<i32>(word_bases[batches() + t]);
  var s0 = vec4f(0); var s1 = vec4f(0); var s2 = vec4f(0); var s3 = vec4f(0);
  for (var k0 = 0; k0 < K(); k0 += 32) {
    workgroupBarrier();
    let k = lid % 32;
    for (var r = lid / 32 * 4; r < 32; r += 8) {
      left[k * 8 + r / 4] = vec4f(aOf(aAt, row0 + r, k0 + k), aOf(aAt, row0 + r + 1, k0 + k), aOf(aAt, row0 + r + 2, k0 + k), aOf(aAt, row0 + r + 3, k0 + k));
      right[k * 8 + r / 4] = vec4f(bOf(bAt, k0 + k, column0 + r), bOf(bAt, k0 + k, column0 + r + 1), bOf(bAt, k0 + k, column0 + r + 2), bOf(bAt, k0 + k, column0 + r + 3));
    }
    workgroupBarrier();
    let columns = min(32, K() - k0);
    for (var c = 0; c < columns; c++) {
      let x = left[c * 8 + ty];
      let y = right[c * 8 + tx];
      s0 += x.x * y; s1 += x.y * y; s2 += x.z * y; s3 += x.w * y;
    }
  }
  workgroupBarrier();
  for (var y = 0; y < 4; y++) {
    left[lid * 4 + y] = select(select(select(s3, s2, y == 2), s1, y == 1), s0, y == 0);
  }
  for (var n = 0; n < 16; n++) {
    let i = row0 + ty * 4 + n / 4;
    let j = column0 + tx * 4 + n % 4;
    if (i < M() && j < N()) {
      let at = start() + (t * M() + i) * N() + j;
      var x = left[lid * 4 + n / 4][n % 4];
      ${hasBias ? "x += load_bias(biasFrom() + j * biasColumn());" : ""}
      ${accumulates ? "x += load_c(at);" : ""}
      store_c(at, x);
    }
  }
}`;

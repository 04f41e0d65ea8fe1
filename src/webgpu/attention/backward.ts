/**
 * The backward pass (Dao 2023, FlashAttention-2, algorithm 2), without atomics, so that the same call gives the same bits:
 *
 *   δ = Σ output·dOutput     p = exp(s − lse)     ds = p ∘ (dp − δ)     dq = scale·Σ ds·k     dk = scale·Σ ds·q     dv = Σ p·do
 *
 * One kernel owns the rows of a tile and computes dq, another owns the keys of a tile and computes dk and dv over all query heads of its
 * group; both compute the tile of p again from lse. Tiles and threads are those of forward.ts.
 */
import type { BackwardTensors } from "../../backend/contract.ts";
import type { Problem } from "../../backend/problem.ts";
import { operandOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { gpuStorage, uninitialized } from "../device.ts";
import { run } from "../kernel.ts";
import type { GpuStorage } from "../memory.ts";
import { runRows } from "../rows.ts";
import type { GpuSession } from "../session.ts";
import { each, elementOf, entry, loadColumns, OPERANDS, ORIGINS, product, TILE, TILES } from "../tile.ts";
import { KernelCall } from "./call.ts";
import { defineRowTiles, defineRuns, keyRuns } from "./runs.ts";

/** Columns of a gradient that a workgroup computes. */
const COLUMNS = 64;

/** Lse and δ of each row, [B, Hq, Nq, 2]. */
export function rowStats(session: GpuSession, problem: Problem, tensors: BackwardTensors): GpuStorage {
  const { shape } = problem;
  const { dOutput, output, lse } = tensors;
  const rows = shape.B * shape.Hq * shape.Nq;
  const call = new KernelCall(problem);
  call.operand("o", operandOf(shape, output));
  call.operand("do", operandOf(shape, dOutput));
  call.params.lets({ lseStart: lse.offset });
  const stats = uninitialized("float32", 2 * rows);
  call.enqueue(session, runRows, {
    inputs: { lse: gpuStorage(lse.storage) },
    outputs: { stats },
    body: `let i = row % Nq();
  let h = row / Nq() % Hq();
  let b = row / Nq() / Hq();
  let oAt = o_at(b, h) + i * o_row();
  let doAt = do_at(b, h) + i * do_row();
  var sum = 0.0;
  EACH(e, dv()) { sum += load_o(oAt + e * o_column()) * load_do(doAt + e * do_column()); }
  let delta = total(thread, sum);
  if (thread == 0) { store_stats(2 * row, load_lse(lseStart() + row)); store_stats(2 * row + 1, delta); }`,
    rows,
  });
  return stats;
}

/** A call with everything that the tile of p and ds reads. */
export function backwardCall(problem: Problem, dOutput: Tensor): KernelCall {
  const call = new KernelCall(problem);
  call.operands();
  call.operand("do", operandOf(problem.shape, dOutput));
  call.elements();
  call.derivative();
  call.dropout();
  return call;
}

/** Fills dq with the gradient of the query: of its dtype float32, in the shape of `dQuery`. */
export function queryGradient(
  session: GpuSession,
  problem: Problem,
  dOutput: Tensor,
  stats: GpuStorage,
  dQuery: Tensor,
): void {
  const { shape } = problem;
  const { B, Hq, Nq, dk } = shape;
  const call = backwardCall(problem, dOutput);
  call.operand("dq", operandOf(shape, dQuery), false);
  defineRuns(call, keyRuns(problem));
  const [tiles, parts] = [Math.ceil(Nq / TILE), Math.ceil(dk / COLUMNS)];
  call.params.lets({ rowTiles: tiles, parts });
  const chunks = Math.min(COLUMNS / TILE, Math.ceil(dk / TILE));
  call.enqueue(session, run, {
    inputs: { stats },
    outputs: { dq: gpuStorage(dQuery.storage) },
    body: queryText(chunks, problem.dropoutP > 0),
    workgroups: B * Hq * tiles * parts,
  });
}

/** Fills dk and dv, float32 tensors, with the gradients of key and value. */
export function keyGradients(
  session: GpuSession,
  problem: Problem,
  dOutput: Tensor,
  stats: GpuStorage,
  dKey: Tensor,
  dValue: Tensor,
): void {
  const { shape } = problem;
  const { B, Hkv, Nk, dk, dv } = shape;
  const call = backwardCall(problem, dOutput);
  call.operand("dk", operandOf(shape, dKey), false);
  call.operand("dv", operandOf(shape, dValue), false);
  defineRowTiles(call, keyRuns(problem), problem);
  const [tiles, parts] = [Math.ceil(Nk / TILE), Math.ceil(Math.max(dk, dv) / COLUMNS)];
  call.params.lets({ keyTiles: tiles, parts });
  const chunks = (n: number) => Math.min(COLUMNS / TILE, Math.ceil(n / TILE));
  call.enqueue(session, run, {
    inputs: { stats },
    outputs: { dk: gpuStorage(dKey.storage), dv: gpuStorage(dValue.storage) },
    body: keyText(chunks(dk), chunks(dv), problem.dropoutP > 0),
    workgroups: B * Hkv * tiles * parts,
  });
}

const HEAD = `
${OPERANDS}${elementOf("do", "Nq()", "dv()")}
${TILES}
var<workgroup> gs: array<vec4f, 256>;`;

/** ps[row · 8 + key / 4] = p with dropout, gs = ds · f′ · scale of a tile. Needs qAt, kAt, vAt, doAt, b, h, row0 and key0. */
const tileOfGradients = (hasDropout: boolean): string => `
    // 1 s = q·kᵀ   2 dp = do·vᵀ
    ${product(
      "s",
      "dk()",
      (i, d) => `qOf(qAt, ${i}, ${d})`,
      (j, d) => `kOf(kAt, ${j}, ${d})`,
    )}
    ${product(
      "g",
      "dv()",
      (i, e) => `doOf(doAt, ${i}, ${e})`,
      (j, e) => `vOf(vAt, ${j}, ${e})`,
    )}
    workgroupBarrier();
    ${each(4, (y) => `ps[(ty * 4 + ${y}) * 8 + tx] = s${y}; gs[(ty * 4 + ${y}) * 8 + tx] = g${y};`)}
    // 3 p = exp(s − lse)   4 ds = p·(dp − δ)·f′·scale
    for (var y = 0; y < 4; y++) {
      let i = row0 + ty * 4 + y;
      let at = (ty * 4 + y) * 8 + tx;
      let stat = 2 * ((b * Hq() + h) * Nq() + min(i, Nq() - 1));
      let all = load_stats(stat);
      let delta = load_stats(stat + 1);
      let isEmpty = bitcast<u32>(all) == 0xff800000u;
      var p = ps[at];
      var g = gs[at];
      for (var x = 0; x < 4; x++) {
        let j = key0 + tx * 4 + x;
        let score = element(b, h, i, j, p[x]);
        let isMasked = score == LOWEST || isEmpty;
        let w = select(exp(score - all), 0.0, isMasked);
        let factor = ${hasDropout ? "dropped(b, h, min(i, Nq() - 1), min(j, Nk() - 1))" : "1.0"};
        let ds = w * (g[x] * factor - delta) * slope(b, h, i, j, p[x]) * scaleOf();
        p[x] = w * factor;
        g[x] = select(ds, 0.0, isMasked);
      }
      ps[at] = p;
      gs[at] = g;
    }`;

/** Stores 4 × 4 numbers NAME0 … of the rows `row0 + ty·4` … and the columns `column + tx·4` …, through ps. */
const storeTile = (
  name: string,
  first: number,
  place: { origin: string; operand: string; row0: string; rows: string; column: string; columns: string },
): string => `workgroupBarrier();
  ${each(4, (y) => `ps[(ty * 4 + ${y}) * 8 + tx] = ${name}${first + y};`)}
  for (var n = 0; n < 16; n++) {
    let i = ${place.row0} + ty * 4 + n / 4;
    let e = ${place.column} + tx * 4 + n % 4;
    if (i < ${place.rows} && e < ${place.columns}) {
      store_${place.operand}(${place.origin} + i * ${place.operand}_row() + e * ${place.operand}_column(), ps[(ty * 4 + n / 4) * 8 + tx][n % 4]);
    }
  }`;

const queryText = (chunks: number, hasDropout: boolean): string => `${HEAD}
${entry("rowTiles()", "Hq()")}${ORIGINS}
  let e0 = part * ${COLUMNS};
  let doAt = do_at(b, h);
  let row0 = tile * 32;
  ${each(4 * chunks, (n) => `var a${n} = vec4f(0);`)}
  let end = firstRun(b, h, tile + 1);
  for (var r = firstRun(b, h, tile); r < end; r++) {
    for (var key0 = runFrom(r); key0 < runTo(r) / 2; key0 += 32) {
    ${tileOfGradients(hasDropout)}
    // 5 dq += ds·k
    ${each(
      chunks,
      (c) => `workgroupBarrier();
    ${loadColumns(`e0 + ${32 * c}`, (row, e) => `kOf(kAt, key0 + ${row}, ${e})`)}
    workgroupBarrier();
    let groups${c} = (min(32, Nk() - key0) + 3) / 4;
    for (var key = 0; key < groups${c}; key++) {
      ${each(4, (x) => `let k${x} = ks[(key * 4 + ${x}) * 8 + tx];`)}
      ${each(4, (y) => `let ds${y} = gs[(ty * 4 + ${y}) * 8 + key];`)}
      ${each(4, (y) => each(4, (x) => `a${4 * c + y} += select(ds${y}[${x}] * k${x}, vec4f(0), ds${y}[${x}] == 0.0);`))}
    }`,
    )}
    }
  }
  let dqAt = dq_at(b, h);
  ${each(chunks, (c) => storeTile("a", 4 * c, { origin: "dqAt", operand: "dq", row0: "row0", rows: "Nq()", column: `e0 + ${32 * c}`, columns: "dk()" }))}
}`;

/** NAME += Σ over rows of `cells` [row][key] times columns of rows that `element` gives. */
const addRows = (
  name: string,
  chunks: number,
  cells: string,
  element: (row: string, e: string) => string,
): string =>
  each(
    chunks,
    (c) => `workgroupBarrier();
    ${loadColumns(`e0 + ${32 * c}`, element)}
    workgroupBarrier();
    for (var row = 0; row < rows; row++) {
      let w = ${cells}[row * 8 + ty];
      let x = ks[row * 8 + tx];
      ${each(4, (y) => `${name}${4 * c + y} += select(w[${y}] * x, vec4f(0), w[${y}] == 0.0);`)}
    }`,
  );

const keyText = (chunksK: number, chunksV: number, hasDropout: boolean): string => `${HEAD}
${entry("keyTiles()", "Hkv()")}
  let e0 = part * ${COLUMNS};
  let kAt = k_at(b, h);
  let vAt = v_at(b, h);
  let key0 = tile * 32;
  ${each(4 * chunksK, (n) => `var a${n} = vec4f(0);`)}
  ${each(4 * chunksV, (n) => `var c${n} = vec4f(0);`)}
  let hk = h;
  for (var h = hk * G(); h < (hk + 1) * G(); h++) {
    let qAt = q_at(b, h);
    let doAt = do_at(b, h);
    let end = firstTile(b, h, tile + 1);
    for (var n = firstTile(b, h, tile); n < end; n++) {
    let row0 = rowTile(n) * 32;
    let rows = min(32, Nq() - row0);
    ${tileOfGradients(hasDropout)}
    // 5 dk += dsᵀ·q   6 dv += pᵀ·do
    ${addRows("a", chunksK, "gs", (row, e) => `qOf(qAt, row0 + ${row}, ${e})`)}
    ${addRows("c", chunksV, "ps", (row, e) => `doOf(doAt, row0 + ${row}, ${e})`)}
    }
  }
  let dkAt = dk_at(b, hk);
  let dvAt = dv_at(b, hk);
  ${each(chunksK, (c) => storeTile("a", 4 * c, { origin: "dkAt", operand: "dk", row0: "key0", rows: "Nk()", column: `e0 + ${32 * c}`, columns: "dk()" }))}
  ${each(chunksV, (c) => storeTile("c", 4 * c, { origin: "dvAt", operand: "dv", row0: "key0", rows: "Nk()", column: `e0 + ${32 * c}`, columns: "dv()" }))}
}`;

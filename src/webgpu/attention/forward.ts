/**
 * The forward pass, portable: 32 × 32 tiles, 64 threads, float32 everywhere, 13 KiB of workgroup memory. Each thread has 4 rows × 4 keys of
 * the scores and 4 rows × 4 columns of each 32 columns of the output in registers; the running maximum m and sum l of a row follow
 * FlashAttention (Dao et al. 2022). A workgroup computes the rows of one tile, one head, and up to 128 columns of the output, over the
 * runs of keys that the mask leaves (backend/plan/tiles.ts): tiles without a visible cell are not computed.
 *
 * Few queries over many keys, as in decoding, have too few tiles of rows for a GPU: their keys are split, 256 for each workgroup, and a
 * second kernel merges the partial results in the order of the keys. The splits do not depend on the adapter, and neither do the bits.
 */

import type { Problem } from "../../backend/problem.ts";
import { tensorOver } from "../../core/device/tensor.ts";
import { operandOf, outputShape, rowShape } from "../../core/shape.ts";
import type { State } from "../../core/state.ts";
import { sizeOf, type Tensor } from "../../core/tensor.ts";
import { uninitialized } from "../device.ts";
import { KernelParams, run, runEach } from "../kernel.ts";
import type { GpuStorage } from "../memory.ts";
import { convertView } from "../ops/copy.ts";
import type { GpuSession } from "../session.ts";
import { each, entry, loadColumns, OPERANDS, ORIGINS, product, TILE, TILES } from "../tile.ts";
import { KernelCall, LOWEST } from "./call.ts";
import { defineRuns, keyRuns } from "./runs.ts";

/** Columns of the output that a workgroup computes. */
export const COLUMNS = 128;

/** The most queries of a call whose keys are split, and the keys of a split. */
const [FEW, SPLIT] = [16, 256];

/** The number of splits of the keys. */
export function splitsOf({ shape: { Nq, Nk, dv } }: Problem): number {
  return Nq <= FEW && dv > 0 && Nk >= 2 * SPLIT ? Math.ceil(Nk / SPLIT) : 1;
}

/** The forward pass of a problem. */
export function forward(session: GpuSession, problem: Problem): State {
  const { shape, dtype } = problem;
  const { B, Hq, Nq, dv } = shape;
  const output = tensorOver(
    uninitialized("float32", sizeOf(outputShape(shape))),
    outputShape(shape),
    "float32",
  );
  const lse = uninitialized("float32", B * Hq * Nq);
  const storage = output.storage as typeof lse;
  const splits = splitsOf(problem);
  const call = new KernelCall(problem);
  call.operands();
  // Partial results are [splits, B, Hq, Nq, dv].
  const partial =
    splits > 1 && [B * Hq * Nq * dv, B * Hq * Nq].map((n) => uninitialized("float32", splits * n));
  if (partial) call.denseOutput();
  else call.operand("o", operandOf(shape, output), false);
  call.elements();
  call.dropout();
  const hasSinks = call.sinks();
  const runs = keyRuns(problem);
  defineRuns(call, runs);
  const tiles = Math.ceil(Nq / TILE);
  const parts = Math.max(1, Math.ceil(dv / COLUMNS));
  call.params.lets({ rowTiles: tiles, parts });
  const isGuarded = problem.score !== undefined || problem.tensors.length > 0;
  const body = forwardText({
    chunks: Math.min(COLUMNS / TILE, Math.ceil(dv / TILE)),
    isGuarded,
    isSplit: splits > 1,
    hasDropout: problem.dropoutP > 0,
    hasSinks,
    negativeInfinity: `bitcast<f32>(${call.params.u32(0xff800000)})`,
  });
  const { inputs, functions } = call.finish(session);
  const [o, l] = partial || [storage, lse];
  run(session, {
    inputs,
    outputs: { o, lse: l },
    params: call.params,
    body: functions + body,
    workgroups: B * Hq * tiles * parts * splits,
  });
  inputs.data.memory.dispose(inputs.data);
  if (partial) {
    mergeSplits(session, problem, [o, l], splits, output, lse);
    for (const one of partial) one.memory.dispose(one);
  }
  const states = { lse: tensorOver(lse, rowShape(shape), "float32") };
  if (dtype === "float32") return { output, ...states };
  const narrow = uninitialized(dtype, output.size);
  convertView(session, storage, output, narrow);
  output.dispose();
  return { output: tensorOver(narrow, output.shape, dtype), ...states };
}

/** Merges the partial results of splits: Σ o·exp(lse − m) over Σ exp(lse − m), a thread for each number of the output. */
function mergeSplits(
  session: GpuSession,
  { shape }: Problem,
  [o, l]: readonly GpuStorage[],
  splits: number,
  output: Tensor,
  lse: GpuStorage,
): void {
  const { B, Hq, Nq, dv } = shape;
  const rows = B * Hq * Nq;
  const { head, row, column, base } = operandOf(shape, output);
  const params = new KernelParams();
  params.lets({ splits, rows, dv, Nq, Hq, head, row, column, batch: B > 1 ? base[1] - base[0] : 0 });
  const negativeInfinity = params.u32(0xff800000);
  runEach(session, {
    inputs: { o, l },
    outputs: { y: output.storage as GpuStorage, lse },
    params,
    count: rows * dv,
    body: `let r = n / dv();
  let e = n % dv();
  var m = ${LOWEST};
  for (var s = 0; s < splits(); s++) {
    let x = load_l(s * rows() + r);
    m = max(m, select(x, ${LOWEST}, bitcast<u32>(x) == ${negativeInfinity}));
  }
  var sum = 0.0;
  var total = 0.0;
  for (var s = 0; s < splits(); s++) {
    let x = load_l(s * rows() + r);
    let isEmpty = bitcast<u32>(x) == ${negativeInfinity};
    let w = select(exp(x - m), 0.0, isEmpty);
    total += w;
    sum += select(w * load_o((s * rows() + r) * dv() + e), 0.0, isEmpty);
  }
  let i = r % Nq();
  let h = r / Nq() % Hq();
  store_y(r / Nq() / Hq() * batch() + h * head() + i * row() + e * column(), select(sum / total, 0.0, total == 0.0));
  if (e == 0) { store_lse(r, select(m + log(total), bitcast<f32>(${negativeInfinity}), total == 0.0)); }`,
  });
}

interface ForwardSpec {
  /** Groups of 32 columns of the output. */
  readonly chunks: number;
  /** Every tile may have masked cells. */
  readonly isGuarded: boolean;
  /** Each workgroup computes one split of the keys. */
  readonly isSplit: boolean;
  readonly hasDropout: boolean;
  readonly hasSinks: boolean;
  readonly negativeInfinity: string;
}

// long: the text of one kernel, in the order in which it runs
function forwardText(spec: ForwardSpec): string {
  const { chunks, isGuarded, isSplit, hasDropout, hasSinks, negativeInfinity } = spec;
  return `
${OPERANDS}
${TILES}
var<workgroup> red: array<vec4f, 64>;
${entry("rowTiles()", "Hq()", isSplit ? "head / Hq() % B()" : undefined)}${ORIGINS}
  let split = ${isSplit ? "head / Hq() / B()" : "0"};
  let oAt = o_at(${isSplit ? "split * B() + b" : "b"}, h);
  let splitFrom = ${isSplit ? `split * ${SPLIT}` : "0"};
  let splitEnd = ${isSplit ? `splitFrom + ${SPLIT}` : "Nk()"};
  let row0 = tile * 32;
  let e0 = part * 128;
  var m = vec4f(LOWEST);
  var l = vec4f(0);
  ${each(chunks * 4, (n) => `var o${n} = vec4f(0);`)}
  let first = firstRun(b, h, tile);
  let end = firstRun(b, h, tile + 1);
  for (var r = first; r < end; r++) {
    let to = min(runTo(r) / 2, splitEnd);
    let partial = runTo(r) % 2 == 1;
    for (var key0 = max(runFrom(r), splitFrom); key0 < to; key0 += 32) {
    // 1 s = q·kᵀ, then scale, score mods and masks
    ${product(
      "s",
      "dk()",
      (i, d) => `qOf(qAt, ${i}, ${d})`,
      (j, d) => `kOf(kAt, ${j}, ${d})`,
    )}
    let j0 = key0 + tx * 4;
    let i0 = row0 + ty * 4;
    let guarded = ${isGuarded ? "true" : "partial || key0 + 32 > Nk()"};
    if (guarded) {
      // A loop over workgroup memory: its text is compiled once, not 16 times.
      ${each(4, (x) => `ps[(tx * 4 + ${x}) * 8 + ty] = vec4f(s0[${x}], s1[${x}], s2[${x}], s3[${x}]);`)}
      for (var x = 0; x < 4; x++) {
        var cells = ps[(tx * 4 + x) * 8 + ty];
        for (var y = 0; y < 4; y++) { cells[y] = element(b, h, i0 + y, j0 + x, cells[y]); }
        ps[(tx * 4 + x) * 8 + ty] = cells;
      }
      ${each(4, (x) => `{ let cells = ps[(tx * 4 + ${x}) * 8 + ty]; s0[${x}] = cells.x; s1[${x}] = cells.y; s2[${x}] = cells.z; s3[${x}] = cells.w; }`)}
    } else {
      ${each(4, (y) => `s${y} = s${y} * ${"scaleOf()"};`)}
    }
    // 2 the new maximum of each row
    red[lid] = vec4f(${[0, 1, 2, 3].map((y) => `max(max(s${y}.x, s${y}.y), max(s${y}.z, s${y}.w))`).join(", ")});
    workgroupBarrier();
    var top = m;
    for (var x = ty * 8; x < ty * 8 + 8; x++) { top = max(top, red[x]); }
    // 3 rescale what earlier keys gave, and add p = exp(s − m); masked cells of p are −1 for step 4
    let alpha = exp(m - top);
    m = top;
    ${each(4, (y) => `var p${y} = exp(s${y} - m[${y}]);`)}
    if (guarded) {
      ${each(4, (y) => `p${y} = select(p${y}, vec4f(0), s${y} == vec4f(LOWEST));`)}
    }
    l = l * alpha + vec4f(${[0, 1, 2, 3].map((y) => `(p${y}.x + p${y}.y) + (p${y}.z + p${y}.w)`).join(", ")});
    ${hasDropout ? each(4, (y) => each(4, (x) => `p${y}[${x}] *= dropped(b, h, i0 + ${y}, j0 + ${x});`)) : ""}
    if (guarded) {
      ${each(4, (y) => `p${y} = select(p${y}, vec4f(-1), s${y} == vec4f(LOWEST));`)}
    }
    ${each(4, (x) => `ps[(tx * 4 + ${x}) * 8 + ty] = vec4f(p0[${x}], p1[${x}], p2[${x}], p3[${x}]);`)}
    ${each(chunks * 4, (n) => `o${n} *= alpha[${n % 4}];`)}
    let keys = min(32, Nk() - key0);
    // 4 o += p·v; a masked cell adds nothing, whatever v is
    ${each(
      chunks,
      (c) => `workgroupBarrier();
    ${loadColumns(`e0 + ${32 * c}`, (row, e) => `vOf(vAt, key0 + ${row}, ${e})`)}
    workgroupBarrier();
    for (var key = 0; key < keys; key++) {
      let p = ps[key * 8 + ty];
      let v = ks[key * 8 + tx];
      ${each(4, (y) => `o${4 * c + y} += select(p[${y}] * v, vec4f(0), p[${y}] < 0.0);`)}
    }`,
    )}
    ${chunks === 0 ? "workgroupBarrier();" : ""}
    }
  }
  // 5 the sums of the 8 threads of a row, the sink, and o / l
  workgroupBarrier();
  red[lid] = l;
  workgroupBarrier();
  l = vec4f(0);
  for (var x = ty * 8; x < ty * 8 + 8; x++) { l += red[x]; }
  ${
    hasSinks
      ? `let extra = sink(h);
  if (split == 0 && bitcast<u32>(extra) != 0xff800000u) {
    let top = max(m, vec4f(extra));
    let alpha = exp(m - top);
    l = l * alpha + exp(vec4f(extra) - top);
    m = top;
    ${each(chunks * 4, (n) => `o${n} *= alpha[${n % 4}];`)}
  }`
      : ""
  }
  for (var y = 0; y < 4; y++) {
    let i = row0 + ty * 4 + y;
    if (i < Nq()) {
      if (tx == 0 && part == 0) {
        store_lse(((split * B() + b) * Hq() + h) * Nq() + i, select(m[y] + log(l[y]), ${negativeInfinity}, l[y] == 0.0));
      }
    }
  }
  ${each(
    chunks,
    (
      c,
    ) => `${each(4, (y) => `ps[(ty * 4 + ${y}) * 8 + tx] = select(o${4 * c + y} / l[${y}], vec4f(0), l[${y}] == 0.0);`)}
  for (var y = ty * 4; y < ty * 4 + 4; y++) {
    if (row0 + y < Nq()) {
      let at = oAt + (row0 + y) * o_row();
      for (var x = tx * 4; x < tx * 4 + 4; x++) {
        let e = e0 + ${32 * c} + x;
        if (e < dv()) { store_o(at + e * o_column(), ps[y * 8 + tx][x - tx * 4]); }
      }
    }
  }`,
  )}
}`;
}

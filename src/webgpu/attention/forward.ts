/**
 * The forward pass, float32 everywhere. The portable level has tiles of 32 rows × 32 keys, 64 threads and 13 KiB of workgroup memory; others
 * (levels.ts) print the same kernel with more rows, or with shuffles between the threads of a row. Each thread has 4 or 8 rows × 4 keys of
 * the scores and as many rows × 4 columns of each 32 columns of the output in registers; the running maximum m and sum l of a row follow
 * FlashAttention (Dao et al. 2022). A workgroup computes the rows of one tile, one head, and up to 128 columns of the output, over the
 * runs of keys that the mask leaves (backend/plan/tiles.ts): tiles without a visible cell are not computed.
 *
 * Few queries over many keys, as in decoding, have too few tiles of rows for a GPU: their keys are split, 256 for each workgroup, and a
 * second kernel merges the partial results in the order of the keys. The splits do not depend on the adapter, and neither do the bits.
 */

import type { Problem } from "../../backend/problem.ts";
import { tensorOver } from "../../core/device/tensor.ts";
import { type Operand, operandOf, outputShape, rowShape } from "../../core/shape.ts";
import type { State } from "../../core/state.ts";
import type { Tensor } from "../../core/tensor.ts";
import { float32, uninitialized } from "../device.ts";
import { KernelParams, run, runEach } from "../kernel.ts";
import { type ForwardShape, type Level, shapeOf } from "../levels.ts";
import type { GpuStorage } from "../memory.ts";
import { inDtype } from "../ops/array.ts";
import type { GpuSession } from "../session.ts";
import {
  arraysOf,
  bytesOf,
  declare,
  each,
  entry,
  halves,
  isShared,
  loadColumns,
  OPERANDS,
  ORIGINS,
  ofThread,
  PAIRS,
  PORTABLE,
  product,
  readTile,
  TILE,
  type TileArrays,
  threadsOf,
} from "../tile.ts";
import { KernelCall, LOWEST } from "./call.ts";
import type { MatrixText } from "./matrices.ts";
import { defineRuns, keyRuns, tileRows } from "./runs.ts";

/** Columns of the output that a workgroup computes. */
export const COLUMNS = 128;

/** The most queries of a call whose keys are split, and the keys of a split. */
const [FEW, SPLIT] = [16, 256];

/** The number of splits of the keys. */
export function splitsOf({ shape: { Nq, Nk, dv } }: Problem): number {
  return Nq <= FEW && dv > 0 && Nk >= 2 * SPLIT ? Math.ceil(Nk / SPLIT) : 1;
}

/** True where pairs of columns of an operand of 16 bits are words. */
const isPaired = (size: number, { column, row, head, base }: Operand): boolean =>
  column === 1 && [size, row, head, ...base].every((x) => x % 2 === 0);

/** The best level that computes a problem: those above the base take query, key and value of one 16-bit dtype, in pairs of columns. */
export function levelOf({ levels }: GpuSession, { shape, dtype, dropoutP }: Problem): Level {
  const { query, key, value, Nq, dk, dv } = shape;
  const isHalf =
    (dtype === "float16" || dtype === "bfloat16") &&
    [query, key].every((x) => x.tensor.dtype === dtype && isPaired(dk, x)) &&
    value.tensor.dtype === dtype &&
    isPaired(dv, value);
  const takes = {
    half: isHalf,
    // Dropout multiplies weights, which then may exceed what float16 has.
    matrices: isHalf && dtype === "float16" && Nq > TILE && dropoutP === 0,
  };
  return levels.findLast(({ name }) => takes[name as "half"] ?? true) as Level;
}

/** How the kernel of a problem is printed. Split keys have few rows: the portable tile. */
export function forwardShape(
  session: GpuSession,
  problem: Problem,
  level = levelOf(session, problem),
): ForwardShape {
  const { levels, capabilities, tiles } = session;
  const { Nq, dv } = problem.shape;
  const shape = shapeOf(level, levels[0], capabilities, problem.dtype as "float16");
  if (splitsOf(problem) > 1) return { ...shape, tile: PORTABLE, lanes: 0 };
  return { ...shape, tile: Nq > TILE ? (tiles.get(tileKey(level, dv)) ?? level.tile) : PORTABLE };
}

/** The key of a tile that `tune` chose. */
export const tileKey = ({ name }: Level, dv: number): string => `${name}; ${TILE * chunksOf(dv)} columns`;

/** Groups of 32 columns of the output that a workgroup computes. */
export const chunksOf = (dv: number): number => Math.min(COLUMNS / TILE, Math.ceil(dv / TILE));

/** The forward pass of a problem. */
export function forward(
  session: GpuSession,
  problem: Problem,
  shape = forwardShape(session, problem),
): State {
  const { shape: sizes, dtype } = problem;
  const { B, Hq, Nq, dv } = sizes;
  const output = float32(outputShape(sizes));
  const lse = uninitialized("float32", B * Hq * Nq);
  const storage = output.storage as typeof lse;
  const splits = splitsOf(problem);
  const call = new KernelCall(problem);
  call.operands();
  // Partial results are [splits, B, Hq, Nq, dv].
  const partial =
    splits > 1 && [B * Hq * Nq * dv, B * Hq * Nq].map((n) => uninitialized("float32", splits * n));
  if (partial) call.denseOutput();
  else call.operand("o", operandOf(sizes, output), false);
  call.elements();
  call.dropout();
  const hasSinks = call.sinks();
  const { rows } = shape.tile;
  const tiles = Math.ceil(Nq / rows);
  defineRuns(call, keyRuns(problem, tileRows(problem, rows)));
  const parts = Math.max(1, Math.ceil(dv / COLUMNS));
  call.params.lets({ rowTiles: tiles, parts });
  const isGuarded = problem.score !== undefined || problem.tensors.length > 0;
  const matrices = shape.matrices && session.matrixText?.(shape);
  const body = forwardText({
    matrices,
    chunks: chunksOf(dv),
    shape,
    isGuarded,
    isSplit: splits > 1,
    hasDropout: problem.dropoutP > 0,
    hasSinks,
    negativeInfinity: `bitcast<f32>(${call.params.u32(0xff800000)})`,
  });
  const [o, l] = partial || [storage, lse];
  call.enqueue(session, run, {
    outputs: { o, lse: l },
    body,
    enables: matrices ? matrices.enables : shape.lanes > 0 ? ["subgroups"] : [],
    workgroups: B * Hq * tiles * parts * splits,
  });
  if (partial) {
    mergeSplits(session, problem, [o, l], splits, output, lse);
    for (const one of partial) one.memory.dispose(one);
  }
  return { output: inDtype(session, output, dtype), lse: tensorOver(lse, rowShape(sizes), "float32") };
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
  /** The text of products by matrices, where the shape has them. */
  readonly matrices: ReturnType<MatrixText> | undefined;
  /** Groups of 32 columns of the output. */
  readonly chunks: number;
  readonly shape: ForwardShape;
  /** Every tile may have masked cells. */
  readonly isGuarded: boolean;
  /** Each workgroup computes one split of the keys. */
  readonly isSplit: boolean;
  readonly hasDropout: boolean;
  readonly hasSinks: boolean;
  readonly negativeInfinity: string;
}

/** Vectors of workgroup memory in which the threads of a row exchange numbers. */
const exchanged = ({ tile, lanes }: ForwardShape): number =>
  lanes === 8 ? 0 : ((threadsOf(tile) / Math.max(1, lanes)) * tile.perThread) / 4;

/** Workgroup memory of a kernel. */
function memoryOf(shape: ForwardShape): TileArrays {
  const exchange = exchanged(shape);
  return {
    ...arraysOf(shape.tile, shape.storage),
    ...(exchange > 0 && { red: ["vec4f", exchange] as const }),
  };
}

/** Bytes of workgroup memory of a kernel. */
export const workgroupBytes = (shape: ForwardShape): number => bytesOf(memoryOf(shape));

/**
 * TOTALg = `join` of PARTg over the 8 threads of a row, for each group g of 4 rows, in pairs: ((0 1) (2 3)) ((4 5) (6 7)), so that all levels
 * have the same bits. Up to `lanes` threads exchange by shuffles in their subgroup, of whatever width, the rest in workgroup memory.
 */
function reduceRow(
  { tile, lanes }: ForwardShape,
  total: string,
  part: string,
  join: (a: string, b: string) => string,
): string {
  const groups = tile.perThread / 4;
  const each8 = (line: (g: number) => string) => each(groups, line);
  const shuffles = [1, 2, 4].filter((by) => by < lanes);
  const shuffled = each8(
    (g) => `var ${total}${g} = ${part}${g};
    ${shuffles.map((by) => `${total}${g} = ${join(`${total}${g}`, `subgroupShuffleXor(${total}${g}, ${by}u)`)};`).join("\n")}`,
  );
  if (lanes === 8) return shuffled;
  const count = 8 / Math.max(1, lanes);
  const at = (n: number, g: number) => `red[(ty * ${count} + ${n}) * ${groups} + ${g}]`;
  const joined = (from: number, to: number, g: number): string =>
    to - from === 1 ? at(from, g) : join(joined(from, (from + to) / 2, g), joined((from + to) / 2, to, g));
  return `${shuffled}
    ${lanes > 1 ? `if (tx % ${lanes} == 0) {` : "{"} ${each8((g) => `red[lid / ${Math.max(1, lanes)} * ${groups} + ${g}] = ${total}${g};`)} }
    workgroupBarrier();
    ${each8((g) => `${total}${g} = ${joined(0, count, g)};`)}`;
}

// long: the text of one kernel, in the order in which it runs
function forwardText(spec: ForwardSpec): string {
  const { matrices, chunks, shape, isGuarded, isSplit, hasDropout, hasSinks, negativeInfinity } = spec;
  const { tile, storage } = shape;
  const { rows, perThread } = tile;
  const groups = perThread / 4;
  /** The rows of a thread, its groups of 4 rows, its 4 keys. */
  const eachRow = (line: (y: number) => string) => each(perThread, line);
  const eachGroup = (line: (g: number) => string) => each(groups, line);
  const of = (name: string, y: number) => `${name}${y >> 2}[${y & 3}]`;
  const ps = isShared(tile, storage) ? "qs" : "ps";
  const cell = (x: string | number, g: number) => `${ps}[${ofThread(`(tx * 4 + ${x})`, g, tile)}]`;
  const fourOf = (g: number, line: (y: number) => string) =>
    [0, 1, 2, 3].map((y) => line(4 * g + y)).join(", ");
  const storeCells = (name: string) =>
    each(4, (x) => eachGroup((g) => `${cell(x, g)} = vec4f(${fourOf(g, (y) => `${name}${y}[${x}]`)});`));
  const outputs = (line: (n: number, y: number) => string) =>
    each(chunks, (c) => eachRow((y) => line(perThread * c + y, y)));
  const read = storage === "float32" ? "Of" : "Pair";
  const readQ = (i: string, d: string) => `q${read}(qAt, ${i}, ${d})`;
  const readK = (j: string, d: string) => `k${read}(kAt, ${j}, ${d})`;
  const addKeys = (c: number) => `for (var key = 0; key < keys; key++) {
      ${eachGroup((g) => `let p${g} = ${ps}[${ofThread("key", g, tile)}];`)}
      let v = ${readTile(storage, "ks", "key * 8 + tx")};
      ${eachRow((y) => `o${perThread * c + y} += select(${of("p", y)} * v, vec4f(0), ${of("p", y)} < 0.0);`)}
    }`;
  return `
${storage === "float32" ? OPERANDS : PAIRS}${halves(storage)}
${declare(memoryOf(shape))}${matrices?.functions ?? ""}
${entry("rowTiles()", "Hq()", isSplit ? "head / Hq() % B()" : undefined, threadsOf(tile), matrices?.builtins)}${ORIGINS}
  let split = ${isSplit ? "head / Hq() / B()" : "0"};
  let oAt = o_at(${isSplit ? "split * B() + b" : "b"}, h);
  let splitFrom = ${isSplit ? `split * ${SPLIT}` : "0"};
  let splitEnd = ${isSplit ? `splitFrom + ${SPLIT}` : "Nk()"};
  let row0 = tile * ${rows};
  let e0 = part * 128;
  ${eachGroup((g) => `var m${g} = vec4f(LOWEST);\nvar l${g} = vec4f(0);`)}
  ${outputs((n) => `var o${n} = vec4f(0);`)}
  let first = firstRun(b, h, tile);
  let end = firstRun(b, h, tile + 1);
  for (var r = first; r < end; r++) {
    let to = min(runTo(r) / 2, splitEnd);
    let partial = runTo(r) % 2 == 1;
    for (var key0 = max(runFrom(r), splitFrom); key0 < to; key0 += 32) {
    // 1 s = q·kᵀ, then scale, score mods and masks
    ${matrices ? matrices.scores(readQ, readK) : product("s", "dk()", readQ, readK, tile, storage)}
    ${isShared(tile, storage) ? "workgroupBarrier();" : ""}
    let j0 = key0 + tx * 4;
    let i0 = row0 + ty * ${perThread};
    let guarded = ${isGuarded ? "true" : "partial || key0 + 32 > Nk()"};
    if (guarded) {
      // A loop over workgroup memory: its text is compiled once, not 16 times.
      ${storeCells("s")}
      for (var x = 0; x < 4; x++) {
        ${eachGroup(
          (g) => `{ var cells = ${cell("x", g)};
        for (var y = 0; y < 4; y++) { cells[y] = element(b, h, i0 + ${4 * g} + y, j0 + x, cells[y]); }
        ${cell("x", g)} = cells; }`,
        )}
      }
      ${each(4, (x) => eachGroup((g) => `{ let cells = ${cell(x, g)}; ${each(4, (y) => `s${4 * g + y}[${x}] = cells[${y}];`)} }`))}
    } else {
      ${eachRow((y) => `s${y} = s${y} * scaleOf();`)}
    }
    // 2 the new maximum of each row
    ${eachGroup((g) => `let best${g} = vec4f(${fourOf(g, (y) => `max(max(s${y}.x, s${y}.y), max(s${y}.z, s${y}.w))`)});`)}
    ${reduceRow(shape, "top", "best", (a, b) => `max(${a}, ${b})`)}
    // 3 rescale what earlier keys gave, and add p = exp(s − m); masked cells of p are −1 for step 4
    ${eachGroup((g) => `top${g} = max(top${g}, m${g});\nlet alpha${g} = exp(m${g} - top${g});\nm${g} = top${g};`)}
    ${eachRow((y) => `var p${y} = exp(s${y} - ${of("m", y)});`)}
    if (guarded) {
      ${eachRow((y) => `p${y} = select(p${y}, vec4f(0), s${y} == vec4f(LOWEST));`)}
    }
    ${eachGroup((g) => `l${g} = l${g} * alpha${g} + vec4f(${fourOf(g, (y) => `(p${y}.x + p${y}.y) + (p${y}.z + p${y}.w)`)});`)}
    ${hasDropout ? eachRow((y) => each(4, (x) => `p${y}[${x}] *= dropped(b, h, i0 + ${y}, j0 + ${x});`)) : ""}
    if (guarded) {
      ${eachRow((y) => `p${y} = select(p${y}, vec4f(-1), s${y} == vec4f(LOWEST));`)}
    }
    ${storeCells("p")}
    ${matrices?.weights ?? ""}
    ${outputs((n, y) => `o${n} *= ${of("alpha", y)};`)}
    let keys = min(32, Nk() - key0);
    // 4 o += p·v; a masked cell adds nothing, whatever v is
    ${each(
      chunks,
      (c) => `workgroupBarrier();
    ${loadColumns(`e0 + ${32 * c}`, (row, e) => `v${read}(vAt, key0 + ${row}, ${e})`, tile, storage)}
    ${matrices ? matrices.addKeys(c, addKeys(c)) : `workgroupBarrier();\n${addKeys(c)}`}`,
    )}
    ${chunks === 0 ? "workgroupBarrier();" : ""}
    }
  }
  // 5 the sums of the 8 threads of a row, the sink, and o / l
  workgroupBarrier();
  ${reduceRow(shape, "sum", "l", (a, b) => `(${a} + ${b})`)}
  ${eachGroup((g) => `l${g} = sum${g};`)}
  ${
    hasSinks
      ? `let extra = sink(h);
  if (split == 0 && bitcast<u32>(extra) != 0xff800000u) {
    ${eachGroup(
      (g) => `let top${g} = max(m${g}, vec4f(extra));
    let alpha${g} = exp(m${g} - top${g});
    l${g} = l${g} * alpha${g} + exp(vec4f(extra) - top${g});
    m${g} = top${g};`,
    )}
    ${outputs((n, y) => `o${n} *= ${of("alpha", y)};`)}
  }`
      : ""
  }
  if (tx == 0 && part == 0) {
    ${eachGroup(
      (g) => `for (var y = 0; y < 4; y++) {
      let i = row0 + ty * ${perThread} + ${4 * g} + y;
      if (i < Nq()) {
        store_lse(((split * B() + b) * Hq() + h) * Nq() + i, select(m${g}[y] + log(l${g}[y]), ${negativeInfinity}, l${g}[y] == 0.0));
      }
    }`,
    )}
  }
  ${each(
    chunks,
    (c) => `${eachRow(
      (y) =>
        `${ps}[(ty * ${perThread} + ${y}) * 8 + tx] = select(o${perThread * c + y} / ${of("l", y)}, vec4f(0), ${of("l", y)} == 0.0);`,
    )}
  for (var y = ty * ${perThread}; y < ty * ${perThread} + ${perThread}; y++) {
    if (row0 + y < Nq()) {
      let at = oAt + (row0 + y) * o_row();
      for (var x = tx * 4; x < tx * 4 + 4; x++) {
        let e = e0 + ${32 * c} + x;
        if (e < dv()) { store_o(at + e * o_column(), ${ps}[y * 8 + tx][x - tx * 4]); }
      }
    }
  }`,
  )}
}`;
}

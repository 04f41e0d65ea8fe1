/** The gradients of a call: those of query, key and value, and on request of float masks, sinks and the tables of score mods. */
import type { BackwardResult, BackwardTensors, Extra } from "../../backend/contract.ts";
import type { Problem } from "../../backend/problem.ts";
import type { DType } from "../../core/dtype.ts";
import { rowShape, type Shape } from "../../core/shape.ts";
import { sizeOf, type Tensor } from "../../core/tensor.ts";
import { derivative, type TableDerivative } from "../../masks/expression/derivative.ts";
import { type Table, tablesOf, uses } from "../../masks/expression/expr.ts";
import { printWgsl } from "../../masks/expression/wgsl.ts";
import { float32, gpuStorage } from "../device.ts";
import type { GpuStorage } from "../memory.ts";
import { inDtype, runArrayOperation } from "../ops/array.ts";
import { runRows } from "../rows.ts";
import type { GpuSession } from "../session.ts";
import { backwardCall, keyGradients, queryGradient, rowStats } from "./backward.ts";
import { KernelCall } from "./call.ts";

/** The backward pass of a problem. */
export function backward(
  session: GpuSession,
  problem: Problem,
  tensors: BackwardTensors,
  wanted: readonly Extra[],
): BackwardResult {
  const { shape, score } = problem;
  const { dOutput } = tensors;
  const stats = rowStats(session, problem, tensors);
  const [query, key, value] = [shape.query.tensor, shape.key.tensor, shape.value.tensor];
  const [dq, dk, dv] = [query, key, value].map((t) => float32(fullShape(shape, t)));
  queryGradient(session, problem, dOutput, stats, dq);
  keyGradients(session, problem, dOutput, stats, dk, dv);
  const floats = wanted.includes("mask") ? problem.tensors.filter((t) => t.kind === "float") : [];
  const lookups = wanted.includes("tables") && score ? derivative(score).tables : [];
  const tables = new Map<Table, Tensor>();
  const ds = floats.length + lookups.length > 0 ? cellGradients(session, problem, dOutput, stats) : undefined;
  const masks = problem.tensors.map(({ tensor }, n) =>
    ds && floats.includes(problem.tensors[n]) ? reduced(session, ds, tensor.shape, tensor.dtype) : undefined,
  );
  if (ds && score)
    for (const table of tablesOf(score).filter((t) => t.type === "float"))
      tables.set(table, tableGradient(session, problem, ds, table, lookups));
  // The gradient of a mask with a number for each cell is this tensor.
  if (ds && !masks.includes(ds)) ds.dispose();
  const sinks = wanted.includes("sinks") ? sinkGradient(session, problem, stats) : undefined;
  const result = {
    dQuery: reduced(session, dq, query.shape, query.dtype),
    dKey: reduced(session, dk, key.shape, key.dtype),
    dValue: reduced(session, dv, value.shape, value.dtype),
    masks,
    ...(sinks && { sinks }),
    tables,
  };
  for (const t of [dq, dk, dv]) if (!Object.values(result).includes(t)) t.dispose();
  stats.memory.dispose(stats);
  return result;
}

/** The shape of a gradient before it is summed over the batch axes along which its tensor was broadcast. */
function fullShape(shape: Shape, t: Tensor): number[] {
  const axes = shape.heads ? 3 : 2;
  const last = t.shape.slice(Math.max(0, t.shape.length - axes));
  return [...shape.batch, ...new Array<number>(axes - last.length).fill(1), ...last];
}

/** A gradient summed to the shape of its tensor, in its dtype; the same tensor where that changes nothing. */
function reduced(session: GpuSession, full: Tensor, shape: readonly number[], dtype: DType): Tensor {
  let result = full;
  if (sizeOf(shape) !== full.size) {
    result = float32(shape);
    runArrayOperation(session, { name: "sum", x: full, y: result });
  } else if (shape.join() !== full.shape.join()) result = full.reshape(shape);
  return inDtype(session, result, dtype, result === full);
}

/** ds = p·(dp − δ) of every cell, [..., Hq, Nq, Nk]: only gradients of masks and tables need it. */
function cellGradients(session: GpuSession, problem: Problem, dOutput: Tensor, stats: GpuStorage): Tensor {
  const { shape } = problem;
  const call = backwardCall(problem, dOutput);
  const result = float32(rowShape(shape, shape.Nk));
  call.enqueue(session, runRows, {
    inputs: { stats },
    outputs: { ds: gpuStorage(result.storage) },
    body: `let i = row % Nq();
  let h = row / Nq() % Hq();
  let b = row / Nq() / Hq();
  let qAt = q_at(b, h) + i * q_row();
  let kAt = k_at(b, h / G());
  let vAt = v_at(b, h / G());
  let doAt = do_at(b, h) + i * do_row();
  let all = load_stats(2 * row);
  let delta = load_stats(2 * row + 1);
  let isEmpty = bitcast<u32>(all) == 0xff800000u;
  EACH(j, Nk()) {
    var dot = 0.0;
    for (var d = 0; d < dk(); d++) { dot += load_q(qAt + d * q_column()) * load_k(kAt + j * k_row() + d * k_column()); }
    var dp = 0.0;
    for (var e = 0; e < dv(); e++) { dp += load_do(doAt + e * do_column()) * load_v(vAt + j * v_row() + e * v_column()); }
    let s = element(b, h, i, j, dot);
    let factor = ${problem.dropoutP > 0 ? "dropped(b, h, i, j)" : "1.0"};
    store_ds(row * Nk() + j, select(exp(s - all) * (dp * factor - delta), 0.0, s == LOWEST || isEmpty));
  }`,
    rows: shape.B * shape.Hq * shape.Nq,
  });
  return result;
}

/** dSinks [Hq] = −Σ exp(sink − lse)·δ; undefined for a call without sinks. */
function sinkGradient(session: GpuSession, problem: Problem, stats: GpuStorage): Tensor | undefined {
  const { B, Hq, Nq } = problem.shape;
  const call = new KernelCall(problem);
  if (!call.sinks()) return undefined;
  const result = float32([Hq]);
  const count = call.params.i32(B * Nq);
  call.enqueue(session, runRows, {
    inputs: { stats },
    outputs: { dSinks: gpuStorage(result.storage) },
    body: `let extra = sink(row);
  let isNone = bitcast<u32>(extra) == 0xff800000u;
  var sum = 0.0;
  EACH(n, ${count}) {
    let at = 2 * ((n / Nq() * Hq() + row) * Nq() + n % Nq());
    let all = load_stats(at);
    sum += select(exp(extra - all) * load_stats(at + 1), 0.0, isNone || bitcast<u32>(all) == 0xff800000u);
  }
  let x = total(thread, sum);
  if (thread == 0) { store_dSinks(row, -x); }`,
    rows: Hq,
  });
  return result;
}

/** Cells × entries up to which a table has a gradient here: the kernel visits every cell for every entry. */
export const MAX_VISITS = 2 ** 36;

/** The gradient of a table: a workgroup for each entry adds ds·∂score/∂entry over the cells that read it. */
function tableGradient(
  session: GpuSession,
  problem: Problem,
  ds: Tensor,
  table: Table,
  lookups: readonly TableDerivative[],
): Tensor {
  const call = new KernelCall(problem);
  call.operand("q", problem.shape.query);
  call.operand("k", problem.shape.key);
  call.elements();
  const leaves = call.leaves();
  // The lookup of this table itself prints its index.
  const places = {
    ...leaves,
    lookup: (t: Table, at: string) => (t === table ? `f32(${at})` : leaves.lookup(t, at)),
  };
  const terms = lookups
    .filter((lookup) => lookup.table === table)
    .map(({ read, partial }, n) => {
      const [place, factor] = [printWgsl(read, places, `r${n}_`), printWgsl(partial, leaves, `t${n}_`)];
      return `${place.statements}\nif (i32(${place.value}) == row) {\n${factor.statements}\nsum += load_ds(cell) * ${factor.value};\n}`;
    });
  const size = sizeOf(table.shape);
  const result = float32(table.shape);
  const cells = call.params.i32(ds.size);
  call.enqueue(session, runRows, {
    inputs: { ds: gpuStorage(ds.storage) },
    outputs: { entry: gpuStorage(result.storage) },
    body: `var sum = 0.0;
  EACH(cell, ${cells}) {
    let j = cell % Nk();
    let i = cell / Nk() % Nq();
    let h = cell / Nk() / Nq() % Hq();
    let b = cell / Nk() / Nq() / Hq();
    let position = i + offsetOf(b);
    var score = 0.0;
    ${lookups.some(({ partial }) => uses(partial, "score")) ? SCORE : ""}
    ${terms.join("\n")}
  }
  let x = total(thread, sum);
  if (thread == 0) { store_entry(row, x); }`,
    rows: size,
  });
  return inDtype(session, result, table.dtype as DType);
}

const SCORE = `let qAt = q_at(b, h) + i * q_row();
    let kAt = k_at(b, h / G()) + j * k_row();
    for (var d = 0; d < dk(); d++) { score += load_q(qAt + d * q_column()) * load_k(kAt + d * k_column()); }
    score *= scaleOf();`;

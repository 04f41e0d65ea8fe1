/** The weights of some heads and rows, rebuilt from lse: a workgroup for each row, keys in steps of 64; w = exp(s − lse), written once. */
import type { Selection } from "../../backend/contract.ts";
import type { Problem } from "../../backend/problem.ts";
import { selectionShape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { float32, gpuStorage } from "../device.ts";
import { inDtype } from "../ops/array.ts";
import { runRows } from "../rows.ts";
import type { GpuSession } from "../session.ts";
import { KernelCall } from "./call.ts";

/** Enqueues the weights; returns them. */
export function weights(session: GpuSession, problem: Problem, lse: Tensor, selection: Selection): Tensor {
  const { shape, dtype } = problem;
  const { heads, rows } = selection;
  const call = new KernelCall(problem);
  call.operand("q", shape.query);
  call.operand("k", shape.key);
  call.elements();
  call.dropout();
  const { params, data } = call;
  const [headList, rowList] = [params.i32(data.integers(heads)), params.i32(data.integers(rows))];
  params.lets({ heads: heads.length, rows: rows.length, lseStart: lse.offset });
  const result = float32(selectionShape(shape, selection));
  call.enqueue(session, runRows, {
    inputs: { lse: gpuStorage(lse.storage) },
    outputs: { w: gpuStorage(result.storage) },
    body: `let i = word(${rowList} + row % rows());
  let h = word(${headList} + row / rows() % heads());
  let b = row / rows() / heads();
  let qAt = q_at(b, h) + i * q_row();
  let kAt = k_at(b, h / G());
  let all = load_lse(lseStart() + (b * Hq() + h) * Nq() + i);
  let isEmpty = bitcast<u32>(all) == 0xff800000u;
  EACH(j, Nk()) {
    var dot = 0.0;
    for (var d = 0; d < dk(); d++) {
      dot += load_q(qAt + d * q_column()) * load_k(kAt + j * k_row() + d * k_column());
    }
    let s = element(b, h, i, j, dot);
    let p = exp(s - all)${problem.dropoutP > 0 ? " * dropped(b, h, i, j)" : ""};
    store_w(row * Nk() + j, select(p, 0.0, s == LOWEST || isEmpty));
  }`,
    rows: shape.B * heads.length * rows.length,
  });
  return inDtype(session, result, dtype);
}

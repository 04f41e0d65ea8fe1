/**
 * A map of weights: the largest and the mean weight of each cell of queries × keys, without a number for each weight. A workgroup has one
 * row of cells and as many columns as 32 keys need, at most 32. It walks over the keys that the mask leaves and over the queries of its
 * row in tiles of 32 × 32: w = exp(s − lse), reduced over the queries of a tile by all threads, over its keys by one thread a column.
 */
import type { MapCells } from "../../backend/contract.ts";
import { cellsShape } from "../../backend/map.ts";
import type { Problem } from "../../backend/problem.ts";
import type { Tensor } from "../../core/tensor.ts";
import { float32, gpuStorage } from "../device.ts";
import { run } from "../kernel.ts";
import type { GpuSession } from "../session.ts";
import { each, product, ROWS, TILE, TILES } from "../tile.ts";
import { KernelCall } from "./call.ts";
import { defineRuns, keyRuns } from "./runs.ts";

/** Multiplications of one submit: some tenths of a second, so that no watchdog ends it. */
const SUBMIT = 2 ** 37;

/** Enqueues the map, in parts of some rows of cells; returns it. */
export function map(session: GpuSession, problem: Problem, lse: Tensor, cells: MapCells): Tensor {
  const { shape } = problem;
  const { B, Nq, Nk, dk } = shape;
  const { heads, rows, columns } = cells;
  const result = float32(cellsShape(shape, heads.length, rows.length - 1, columns.length - 1));
  const rowCells = rows.length - 1;
  const perRow = (B * heads.length * Nq * Nk * Math.max(1, dk)) / Math.max(1, rowCells);
  const step = Math.max(1, Math.floor(SUBMIT / Math.max(1, perRow)));
  for (let first = 0; first < rowCells; first += step) {
    const part = rows.slice(first, Math.min(rowCells, first + step) + 1);
    const call = new KernelCall(problem);
    call.operand("q", shape.query);
    call.operand("k", shape.key);
    call.elements();
    call.dropout();
    defineRuns(call, keyRuns(problem, part));
    const { params, data } = call;
    const lists = [heads, part, columns].map((list) => params.i32(data.integers(list)));
    const width = Math.max(1, Math.min(TILE, Math.ceil((TILE * (columns.length - 1)) / Math.max(1, Nk))));
    const spans = Math.ceil((columns.length - 1) / width);
    params.lets({ heads: heads.length, lseStart: lse.offset, width, spans });
    params.lets({ firstRow: first, partRows: part.length - 1, rowCells, columnCells: columns.length - 1 });
    call.define(`fn headAt(n: i32) -> i32 { return word(${lists[0]} + n); }
fn rowStart(n: i32) -> i32 { return word(${lists[1]} + n); }
fn columnStart(n: i32) -> i32 { return word(${lists[2]} + n); }`);
    call.enqueue(session, run, {
      inputs: { lse: gpuStorage(lse.storage) },
      outputs: { map: gpuStorage(result.storage) },
      body: mapText(problem.dropoutP > 0),
      workgroups: B * heads.length * (part.length - 1) * spans,
    });
    if (step < rowCells) session.queue.flush();
  }
  return result;
}

const mapText = (hasDropout: boolean): string => `
${ROWS}
${TILES}
var<workgroup> tops: array<f32, 256>;
var<workgroup> sums: array<f32, 256>;
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) thread: u32) {
  let task = workgroupOf(id);
  if (task >= workgroups()) { return; }
  let lid = i32(thread);
  let tx = lid % 8;
  let ty = lid / 8;
  let row = task / spans() % partRows();
  let head = task / spans() / partRows();
  let h = headAt(head % heads());
  let b = head / heads();
  let qAt = q_at(b, h);
  let kAt = k_at(b, h / G());
  let lseAt = lseStart() + (b * Hq() + h) * Nq();
  let c0 = task % spans() * width();
  let columns = min(width(), columnCells() - c0);
  let keyFrom = columnStart(c0);
  let keyEnd = columnStart(c0 + columns);
  let rowFrom = rowStart(row);
  let rowEnd = rowStart(row + 1);
  // The column of this thread.
  let column = min(c0 + lid, columnCells() - 1);
  let left = columnStart(column);
  let right = columnStart(column + 1);
  var top = 0.0;
  var sum = 0.0;
  let end = firstRun(b, h, row + 1);
  for (var r = firstRun(b, h, row); r < end; r++) {
    let last = min(runTo(r) / 2, keyEnd);
    for (var key0 = max(runFrom(r), keyFrom); key0 < last; key0 += 32) {
      for (var row0 = rowFrom; row0 < rowEnd; row0 += 32) {
        // 1 s = q·kᵀ
        ${product(
          "s",
          "dk()",
          (i, d) => `qOf(qAt, ${i}, ${d})`,
          (j, d) => `kOf(kAt, ${j}, ${d})`,
        )}
        // 2 w = exp(s − lse) of 4 queries × 4 keys; the largest and the sum of each key's four
        ${each(4, (x) => `ps[(tx * 4 + ${x}) * 8 + ty] = vec4f(s0[${x}], s1[${x}], s2[${x}], s3[${x}]);`)}
        for (var x = 0; x < 4; x++) {
          let at = (tx * 4 + x) * 8 + ty;
          let j = key0 + tx * 4 + x;
          let dots = ps[at];
          var w = vec4f(0);
          for (var y = 0; y < 4; y++) {
            let i = row0 + ty * 4 + y;
            let all = load_lse(lseAt + min(i, Nq() - 1));
            let s = element(b, h, i, j, dots[y]);
            let isEmpty = s == LOWEST || bitcast<u32>(all) == 0xff800000u || i >= rowEnd || j >= last;
            w[y] = select(exp(s - all)${hasDropout ? " * dropped(b, h, i, j)" : ""}, 0.0, isEmpty);
          }
          tops[at] = max(max(w.x, w.y), max(w.z, w.w));
          sums[at] = (w.x + w.y) + (w.z + w.w);
        }
        workgroupBarrier();
        // 3 the same of each key's 32 queries
        if (lid < 32) {
          for (var g = lid * 8 + 1; g < lid * 8 + 8; g++) {
            tops[lid * 8] = max(tops[lid * 8], tops[g]);
            sums[lid * 8] += sums[g];
          }
        }
        workgroupBarrier();
        // 4 the keys of each column
        if (lid < columns) {
          for (var j = max(left, key0); j < min(right, min(last, key0 + 32)); j++) {
            top = max(top, tops[(j - key0) * 8]);
            sum += sums[(j - key0) * 8];
          }
        }
        workgroupBarrier();
      }
    }
  }
  if (lid < columns) {
    let at = (head * rowCells() + firstRow() + row) * columnCells() + column;
    store_map(at, top);
    let area = (rowEnd - rowFrom) * (right - left);
    store_map(at + B() * heads() * rowCells() * columnCells(), sum / f32(area));
  }
}`;

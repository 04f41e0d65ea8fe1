/** Kernels in which a workgroup reduces a row: sums and maxima of its 64 threads, always in the same order. */
import { type GpuKernel, run } from "./kernel.ts";
import type { GpuSession } from "./session.ts";

/** Threads of a row. */
const THREADS = 64;

const REDUCTIONS = `
var<workgroup> reduced: array<f32, ${THREADS}>;
fn total(thread: i32, x: f32) -> f32 {
  workgroupBarrier();
  reduced[thread] = x;
  workgroupBarrier();
  var sum = 0.0;
  for (var t = 0; t < ${THREADS}; t++) { sum += reduced[t]; }
  return sum;
}
fn largest(thread: i32, x: f32) -> f32 {
  workgroupBarrier();
  reduced[thread] = x;
  workgroupBarrier();
  var top = reduced[0];
  for (var t = 1; t < ${THREADS}; t++) { top = max(top, reduced[t]); }
  return top;
}`;

/**
 * Enqueues a kernel with a workgroup for each row. In `body`, `row` is the row, `thread` one of its threads, `total(thread, x)` and
 * `largest(thread, x)` reduce x over them, and `EACH(name, length)` is the head of a loop over the columns of the thread.
 */
export function runRows(
  session: GpuSession,
  kernel: Omit<GpuKernel, "workgroups"> & { readonly rows: number },
): void {
  const { rows } = kernel;
  const loops = kernel.body.replaceAll(
    /\bEACH\((\w+), ([^;{}]+?)\) \{/g,
    (_, name: string, length: string) =>
      `for (var ${name} = thread; ${name} < ${length}; ${name} += ${THREADS}) {`,
  );
  run(session, {
    ...kernel,
    workgroups: rows,
    body: `${REDUCTIONS}
@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) index: u32) {
  let row = workgroupOf(id);
  if (row >= workgroups()) { return; }
  let thread = i32(index);
  ${loops}
}`,
  });
}

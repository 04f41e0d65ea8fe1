/** Sums of the columns of some rows: the gradient of a bias. Each task has separate sums, which are then added up in order. */
import { f32x4, i32 } from "../../assembler/index.ts";
import type { PipelineSpec } from "./row-pipeline.ts";
import { clearVectors, each, eachVector, loads, pipelineKernel, stores } from "./row-pipeline.ts";

/** Arrays x and the task's sums. */
export function columnSumsKernel(spec: PipelineSpec): Uint8Array<ArrayBuffer> {
  return pipelineKernel(spec, 2, (f, _, rows, count, [x, sums]) => {
    const vectors = f.int(i32.shr_s(i32.add(count, 3), 2));
    const to = f.int(sums);
    clearVectors(f, to, vectors);
    f.down(rows, 1, () => {
      f.set(to, sums);
      eachVector(f, [x, to], vectors, (offsets) => {
        const more = loads(f, x, offsets);
        const old = loads(f, to, offsets);
        const sum = each(f, old, (y, n) => f32x4.add(y, more[n]));
        stores(f, to, offsets, sum);
      });
    });
  });
}

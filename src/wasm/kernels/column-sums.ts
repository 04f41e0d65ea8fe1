/** Sums of the columns of some rows: the gradient of a bias. A task's sums are its own; they are added up in order afterwards. */
import { f32x4, i32, ZERO } from "../assembler/index.ts";
import { each, eachVector, loads, type PipelineSpec, pipelineKernel, stores } from "./row-pipeline.ts";

/** Arrays x and the task's sums. */
export function columnSumsKernel(spec: PipelineSpec): Uint8Array<ArrayBuffer> {
  return pipelineKernel(spec, 2, (f, _, rows, count, [x, sums]) => {
    const vectors = f.int(i32.shr_s(i32.add(count, 3), 2));
    const to = f.int(sums);
    eachVector(f, [to], vectors, (offsets) =>
      stores(
        f,
        to,
        offsets,
        offsets.map(() => ZERO),
      ),
    );
    f.loop(
      () => rows,
      () => {
        f.set(to, sums);
        eachVector(f, [x, to], vectors, (offsets) => {
          const more = loads(f, x, offsets);
          const old = loads(f, to, offsets);
          const sum = each(f, old, (y, n) => f32x4.add(y, more[n]));
          stores(f, to, offsets, sum);
        });
        f.step(rows, -1);
      },
    );
  });
}

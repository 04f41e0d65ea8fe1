/** Sums of the columns of some rows: the gradient of a bias. A task's sums are its own; they are added up in order afterwards. */
import { f32x4, i32, v128, ZERO } from "../assembler/index.ts";
import { eachVector, type StreamSpec, streamKernel } from "./stream.ts";

/** Arrays x and the task's sums. */
export function columnSumsKernel(spec: StreamSpec): Uint8Array<ArrayBuffer> {
  return streamKernel(spec, 2, (f, _, rows, count, [x, sums]) => {
    const vectors = f.int(i32.shr_s(i32.add(count, 3), 2));
    const to = f.int(sums);
    eachVector(f, [to], vectors, (offset) => f.storeVector(to, ZERO, offset));
    f.loop(
      () => rows,
      () => {
        f.set(to, sums);
        eachVector(f, [x, to], vectors, (offset) =>
          f.storeVector(to, f32x4.add(v128.load(to, offset), v128.load(x, offset)), offset),
        );
        f.step(rows, -1);
      },
    );
  });
}

/** Which operations the backend runs: the reason why not, as a clause for an error message. */
import type { Operation } from "../backend/contract.ts";
import type { Problem } from "../backend/problem.ts";
import type { DType } from "../core/dtype.ts";
import { bindingReason } from "./attention/call.ts";
import { session } from "./device.ts";
import { isReadable } from "./elements.ts";

/** Why an operation cannot run; undefined where it can. */
export function supports(operation: Operation): string | undefined {
  switch (operation.kind) {
    case "forward": return attentionReason(operation.problem);
    case "weights": return "it does not rebuild weights yet";
    case "backward": return "it has no gradients of attention yet";
    case "matmul": return "it has no matrix products yet";
    case "rowwise": return "it has no row-wise operations yet";
    case "array": return "it has no array operations yet";
  }
} // biome-ignore format: a row an operation

/** WGSL has no 64-bit floats, and no loads of some dtypes. */
const dtypeReason = (dtype: DType): string | undefined =>
  dtype === "float64"
    ? 'WGSL has no float64, it computes in float32; cast(x, "float32") on the CPU converts'
    : isReadable(dtype)
      ? undefined
      : `its kernels do not read ${dtype}`;

function attentionReason(problem: Problem): string | undefined {
  const { shape, tensors, deviceSinks, deviceTables } = problem;
  const sources = [shape.query.tensor, shape.key.tensor, shape.value.tensor, ...tensors.map((t) => t.tensor), ...(deviceSinks ? [deviceSinks] : []), ...deviceTables.map((t) => t.source)]; // biome-ignore format: one list
  for (const { dtype } of sources) {
    const reason = dtypeReason(dtype);
    if (reason !== undefined) return reason;
  }
  return bindingReason(problem, session().device.limits.maxStorageBuffersPerShaderStage);
}

/** Which operations the backend runs: the reason why not, as a clause for an error message. */
import { type ArrayOperation, tensorsOf } from "../backend/array.ts";
import type { Operation } from "../backend/contract.ts";
import type { Problem } from "../backend/problem.ts";
import { storageOf } from "../backend/rowwise.ts";
import { DTYPES, type DType } from "../core/dtype.ts";
import { sizeOf } from "../core/tensor.ts";
import { tablesOf } from "../masks/expression/expr.ts";
import { bindingReason } from "./attention/call.ts";
import { MAX_VISITS } from "./attention/gradients.ts";
import { session } from "./device.ts";
import { isReadable, isWritable } from "./elements.ts";

/** Why an operation cannot run; undefined where it can. */
export function supports(operation: Operation): string | undefined {
  switch (operation.kind) {
    case "forward": return attentionReason(operation.problem, 7);
    case "weights": return attentionReason(operation.problem, 5);
    case "backward": return attentionReason(operation.problem, 8) ?? tablesReason(operation.problem);
    case "matmul": {
      const { a, b, bias, accumulate } = operation.product;
      return readReason([a.tensor, b.tensor, ...(bias ? [bias.tensor] : []), ...(accumulate ? [accumulate] : [])]);
    }
    case "rowwise": return readReason(Object.values(storageOf(operation.operation)));
    case "array": return arrayReason(operation.operation);
  }
} // biome-ignore format: a row an operation

/** WGSL has no 64-bit floats, and no loads of some dtypes. */
const dtypeReason = (dtype: DType): string | undefined =>
  dtype === "float64"
    ? 'WGSL has no float64, it computes in float32; cast(x, "float32") on the CPU converts'
    : isReadable(dtype)
      ? undefined
      : `its kernels do not read ${dtype}`;

/** Why one of several tensors or storages cannot be read. */
const readReason = (tensors: readonly unknown[]): string | undefined =>
  tensors.map((t) => dtypeReason((t as { readonly dtype: DType }).dtype)).find((reason) => reason);

/** Results of array operations are float32; `cast` and `mergeStates` also write 16 bits, and `cast` truth values and integers. */
function arrayReason(operation: ArrayOperation): string | undefined {
  const reason = readReason(Object.values(tensorsOf(operation)));
  if (reason !== undefined) return reason;
  switch (operation.name) {
    case "cast": return isWritable(operation.y.dtype) ? undefined : `its kernels do not write ${operation.y.dtype}`;
    case "mergeStates": return undefined;
    case "assign": return DTYPES[operation.y.dtype].bytes === 4 ? undefined : `it writes parts of tensors of 4-byte elements only, not of ${operation.y.dtype}`;
    default: return undefined;
  } // biome-ignore format: a row an operation
}

/** `others`: the storages that its kernels bind besides mask tensors. */
function attentionReason(problem: Problem, others: number): string | undefined {
  const { shape, tensors, deviceSinks, deviceTables } = problem;
  const sources = [shape.query.tensor, shape.key.tensor, shape.value.tensor, ...tensors.map((t) => t.tensor), ...(deviceSinks ? [deviceSinks] : []), ...deviceTables.map((t) => t.source)]; // biome-ignore format: one list
  const reason = readReason(sources);
  if (reason !== undefined) return reason;
  return bindingReason(problem, session().device.limits.maxStorageBuffersPerShaderStage, others);
}

function tablesReason({ score, shape }: Problem): string | undefined {
  const cells = shape.B * shape.Hq * shape.Nq * shape.Nk;
  const large = (score ? tablesOf(score) : []).find(
    (t) => t.type === "float" && sizeOf(t.shape) * cells > MAX_VISITS,
  );
  return large
    ? `the gradient of ${large.name}, ${sizeOf(large.shape)} entries over ${cells} cells, takes more than 2^36 visits; divide the call over heads or rows`
    : undefined;
}

/**
 * Losses. Each is one operation on a tape.
 *
 *     cross-entropy = mean over rows of  ln Σ_v exp(x_v) − x_target
 *
 * over the rows whose target is not `ignoreIndex`. The same function is the loss of a decoder (the target is the next token)
 * and of a masked language model (the target of every unmasked position is `ignoreIndex`). The gradient is
 * (softmax(x) − onehot(target)) / rows, computed with the loss: one exp per logit. The backend of the logits computes both
 * (rowwise.ts); targets are on the CPU.
 */
import { binary } from "../api/array.ts";
import { rowwise } from "../api/rowwise.ts";
import { allocateLike, checkOnCpu } from "../core/device/device.ts";
import { tensorOver } from "../core/device/tensor.ts";
import {
  checkArgument,
  checkCount,
  checkInteger,
  formatValue,
  OptionError,
  ShapeError,
} from "../core/errors.ts";
import { checkOptionNames } from "../core/option-names.ts";
import { asTensor, Tensor, type TensorLike } from "../core/tensor.ts";
import { idsOf } from "../nn/ops/lookup.ts";
import { allocateResult, type FloatTensorOf, type Precision, storageOf } from "../nn/ops/operand.ts";
import { isRecording, record } from "../nn/record.ts";

/** Rows with this target are not counted, as in PyTorch. */
export const IGNORE_INDEX = -100;

/** Options of `crossEntropy`. */
export interface CrossEntropyOptions {
  /** Target of rows that are not counted; default −100. */
  readonly ignoreIndex?: number;
}

/**
 * The mean cross-entropy, in nats: a tensor of shape [].
 *
 * @param logits  [..., V] float32 or float64
 * @param targets [...] int32, on the CPU, or a list: the correct class of each row, or `ignoreIndex`
 *
 * @example
 * crossEntropy(zeros([2, 4]), [0, 3]).at().toFixed(4); // → "1.3863", ln 4
 */
export function crossEntropy<T extends TensorLike>(
  logits: T,
  targets: TensorLike,
  options: CrossEntropyOptions = {},
): FloatTensorOf<T> {
  checkCount("crossEntropy", arguments, 3);
  checkOptionNames("crossEntropy", options, ["ignoreIndex"]);
  const { ignoreIndex = IGNORE_INDEX } = options;
  checkInteger("crossEntropy", "ignoreIndex", ignoreIndex, -(2 ** 31), 2 ** 31 - 1);
  return meanOf(
    asTensor("crossEntropy: logits", logits),
    targetsOf(targets),
    ignoreIndex,
  ) as FloatTensorOf<T>;
}

/** The targets as a tensor; a list of classes as int32. */
function targetsOf(targets: TensorLike): Tensor {
  if (!(Array.isArray(targets) || ArrayBuffer.isView(targets)))
    return asTensor("crossEntropy: targets", targets);
  const { list, shape } = idsOf("crossEntropy", targets, "targets");
  const wrong = list.find((id) => !Number.isInteger(id));
  checkArgument(wrong === undefined, "crossEntropy", "integers as targets", wrong);
  return new Tensor(Int32Array.from(list), shape, "int32");
}

function meanOf(logits: Tensor, targets: Tensor, ignoreIndex: number): Tensor {
  const { size, rows, count } = check(logits, targets, ignoreIndex);
  const t = targets.dense();
  const classes = t.data.subarray(t.offset, t.offset + rows) as Int32Array;
  const counted = classes.map((id) => (id === ignoreIndex ? -1 : id));
  const x = storageOf(logits);
  const dtype = logits.dtype as Precision;
  // [rows, V]: (softmax − onehot) / count, the gradient for an incoming gradient of 1
  const gradient = tensorOver(allocateResult(x, dtype, rows * size), logits.shape, dtype);
  const dLogits = gradient.storage;
  const sum = allocateLike(x, dtype, 1);
  rowwise({ name: "cross-entropy", logits: x, targets: counted, V: size, count, dLogits, loss: sum });
  const loss = tensorOver(sum, [], dtype);
  if (isRecording())
    record({
      name: "crossEntropy",
      inputs: [logits],
      outputs: [loss],
      backward: ([dLoss]) => {
        if (dLoss === undefined) return [undefined];
        if (dLoss.device !== "cpu") {
          const scaled = tensorOver(allocateLike(dLogits, dtype, rows * size), logits.shape, dtype);
          binary({ name: "binary", function: "multiply", a: gradient, b: dLoss, y: scaled });
          return [scaled];
        }
        const factor = dLoss.toFloat64()[0];
        if (factor === 1) return [gradient];
        const scaled = allocateLike(dLogits, dtype, rows * size);
        rowwise({ name: "add", a: scaled, b: dLogits, scale: factor, y: scaled });
        return [tensorOver(scaled, logits.shape, dtype)];
      },
    });
  return loss;
}

function check(logits: Tensor, targets: Tensor, ignoreIndex: number) {
  const shape = logits.shape.slice(0, -1);
  const size = logits.shape[logits.shape.length - 1];
  if (!(logits.dtype === "float32" || logits.dtype === "float64") || logits.shape.length === 0 || size === 0)
    throw new ShapeError(
      "logits",
      `crossEntropy: logits must be [..., V] float32 or float64, got [${logits.shape.join(", ")}] ${logits.dtype}`,
      { shape: logits.shape, dtype: logits.dtype },
    );
  if (targets.dtype !== "int32" || targets.shape.join() !== shape.join())
    throw new ShapeError(
      "targets",
      `crossEntropy: targets must be [${shape.join(", ")}] int32 for logits [${logits.shape.join(", ")}], got [${targets.shape.join(", ")}] ${targets.dtype}${targets.shape.join() === logits.shape.join() ? "; of one-hot rows they are argmax(targets, -1)" : targets.dtype === "int32" ? "" : '; cast(targets, "int32") converts ids'}`,
      { shape: targets.shape, expected: shape },
    );
  checkOnCpu("crossEntropy", "targets", targets);
  const rows = targets.size;
  const classes = targets.toFloat64();
  let count = 0;
  for (let row = 0; row < rows; row++) {
    const target = classes[row];
    if (target === ignoreIndex) continue;
    if (!(target >= 0 && target < size))
      throw new OptionError(
        "targets",
        `crossEntropy: target ${formatValue(target)} of row ${row} is no class of ${size}, nor ignoreIndex ${ignoreIndex}`,
        { row, target, classes: size },
      );
    count++;
  }
  if (count === 0)
    throw new OptionError(
      "targets",
      `crossEntropy: none of the ${rows} targets counts; a mean needs one that is not ignoreIndex ${ignoreIndex}`,
    );
  return { size, rows, count };
}

/**
 * Losses, each one step on a tape.
 *
 *     cross-entropy = mean over rows of  ln Σ_v exp(x_v) − x_target
 *
 * over the rows whose target counts. The same function is the loss of a decoder (the target is the next token) and of
 * a masked language model (the target of every position that was not masked is `ignoreIndex`). Its gradient is
 * (softmax(x) − onehot(target)) / rows, computed with the loss: one exp for each logit in all. In float32 the engine does
 * both (rowwise.ts); the loop below does float64, and is what both mean.
 */

import { resultArray } from "../core/arena.ts";
import { formatValue, OptionError, ShapeError } from "../core/errors.ts";
import { Tensor } from "../core/tensor.ts";
import { isRecording, record } from "../nn/record.ts";
import { engineCrossEntropy } from "../rowwise.ts";

/** Targets with this number count nothing, as in PyTorch. */
export const IGNORE_INDEX = -100;

/** How a cross-entropy counts. */
export interface CrossEntropyOptions {
  /** Target of rows that do not count; default −100. */
  readonly ignoreIndex?: number;
}

/**
 * The mean cross-entropy, in nats: a tensor of shape [].
 *
 * @param logits  [..., V] float32 or float64
 * @param targets [...] int32: the right class of each row, or `ignoreIndex`
 */
export function crossEntropy(logits: Tensor, targets: Tensor, options: CrossEntropyOptions = {}): Tensor {
  const { ignoreIndex = IGNORE_INDEX } = options;
  const { size, rows, count } = check(logits, targets, ignoreIndex);
  const x = logits.dense();
  const t = targets.dense();
  const classes = t.data.subarray(t.offset, t.offset + rows) as Int32Array;
  const values = x.data.subarray(x.offset, x.offset + rows * size) as Float32Array;
  // [rows, V]: (softmax − onehot) / count, the gradient where the loss counts 1
  const slopes = (
    logits.dtype === "float64" ? new Float64Array(rows * size) : resultArray(rows * size)
  ) as Float32Array;
  const counted = classes.map((id) => (id === ignoreIndex ? -1 : id));
  let sum =
    logits.dtype === "float32" ? engineCrossEntropy(values, counted, size, 1 / count, slopes) : undefined;
  if (sum === undefined) {
    sum = 0;
    slopes.fill(0);
    for (let row = 0; row < rows; row++)
      if (counted[row] >= 0) sum += rowLoss(values, row * size, size, counted[row], slopes, 1 / count);
  }
  const data = logits.dtype === "float64" ? Float64Array.of(sum / count) : Float32Array.of(sum / count);
  const loss = new Tensor(data, [], logits.dtype);
  if (isRecording())
    record({
      name: "crossEntropy",
      inputs: [logits],
      outputs: [loss],
      backward: ([dLoss]) => {
        if (dLoss === undefined) return [undefined];
        const factor = dLoss.toFloat64()[0];
        return [
          new Tensor(factor === 1 ? slopes : slopes.map((s) => s * factor), logits.shape, logits.dtype),
        ];
      },
    });
  return loss;
}

/** The loss of one row; writes its part of the gradient. */
function rowLoss(
  x: Float32Array,
  start: number,
  size: number,
  target: number,
  slopes: Float32Array,
  weight: number,
): number {
  const end = start + size;
  let max = Number.NEGATIVE_INFINITY;
  for (let i = start; i < end; i++) if (x[i] > max || x[i] !== x[i]) max = x[i];
  let sum = 0;
  for (let i = start; i < end; i++) {
    const e = Math.exp(x[i] - max);
    slopes[i] = e;
    sum += e;
  }
  const factor = weight / sum;
  for (let i = start; i < end; i++) slopes[i] *= factor;
  slopes[start + target] -= weight;
  return Math.log(sum) + (max - x[start + target]);
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
      `crossEntropy: targets must be [${shape.join(", ")}] int32 for logits [${logits.shape.join(", ")}], got [${targets.shape.join(", ")}] ${targets.dtype}`,
      { shape: targets.shape, expected: shape },
    );
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

/**
 * The held-out loss: the mean over the counted targets of batches that no step trains on. Ranks share the batches.
 */
import { tidy } from "../../api/tidy.ts";
import type { Communicator } from "../../cluster/communicator/communicator.ts";
import { checkArgument, checkCount, UnsupportedError } from "../../core/errors.ts";
import { COPY } from "../../core/tensor.ts";
import { withRecorder } from "../../nn/record.ts";
import {
  checkedCount,
  checkedLoss,
  countTargets,
  lossOverRanks,
  type SequenceRanks,
  type Trainable,
} from "./options.ts";
import { microBatchesOf } from "./parallel.ts";

/**
 * The mean loss over the counted targets of batches, without recording. The model is on the CPU.
 *
 * @example
 * const corpus = new Corpus([text], decoder.tokenizer, { kind: "decoder", context: 16 });
 * const sizes = { vocabulary: decoder.tokenizer.size, context: 16, layers: 1, heads: 2, width: 16, seed: 1 };
 * meanLoss(languageModel("decoder", sizes), corpus.heldOut); // nats a token
 */
export function meanLoss<B>(
  model: Trainable<B>,
  batches: readonly B[],
  countOf: (batch: B) => number = countTargets,
): number {
  checkCount("meanLoss", arguments, 3);
  checkArgument(
    typeof (model as Partial<Trainable<B>> | undefined)?.loss === "function" && Array.isArray(batches),
    "meanLoss",
    "a model with loss(batch), as languageModel returns, and a list of batches",
    Array.isArray(batches) ? model : batches,
  );
  checkArgument(typeof countOf === "function", "meanLoss", "a function as the third argument", countOf);
  const isSome = batches.length > 0 && batches.every((batch) => batch != null);
  checkArgument(isSome, "meanLoss", "one or more batches", batches);
  return weightedMean(
    batches.map((batch) => checkedCount(countOf(batch), "meanLoss")),
    batches.map((batch) => lossOf(model, batch)),
  );
}

const lossOf = <B>(model: Trainable<B>, batch: B): number =>
  tidy(() => {
    const loss = withRecorder(undefined, () => checkedLoss("meanLoss", model.loss(batch)));
    if (loss.device !== "cpu")
      throw new UnsupportedError(
        "device",
        `meanLoss: the model is on the device "${loss.device}", and a number cannot be returned before the device has computed it; measure with train({ heldOut }), or move the model: await model.to("cpu")`,
        { device: loss.device },
      );
    return loss.toFloat64()[0];
  });

/** The losses of batches, of a model on any device: all are enqueued before the first is read. */
async function lossesOf<B>(model: Trainable<B>, batches: readonly B[]): Promise<number[]> {
  const losses = batches.map((batch) => tidy(() => withRecorder(undefined, () => model.loss(batch))[COPY]()));
  const values = await Promise.all(losses.map((loss) => loss.read()));
  for (const loss of losses) loss.dispose();
  return values.map((value) => Number(value[0]));
}

function weightedMean(counts: readonly number[], losses: ArrayLike<number>): number {
  let sum = 0;
  let total = 0;
  counts.forEach((count, n) => {
    sum += count * losses[n];
    total += count;
  });
  return sum / total;
}

/** The held-out loss; ranks share its batches, and those of `context` the sequences of each. */
export async function heldOutLoss<B>(
  model: Trainable<B>,
  batches: readonly B[],
  countOf: (batch: B) => number,
  comm: Communicator | undefined,
  context?: SequenceRanks,
): Promise<number> {
  if (comm === undefined) return weightedMean(batches.map(countOf), await lossesOf(model, batches));
  const shares = Array.from({ length: comm.size }, (_, r) => microBatchesOf(batches.length, comm.size, r));
  const [from, to] = shares[comm.rank];
  const losses = new Float64Array(batches.length);
  const localLosses = new Float64Array(to - from);
  for (const [n, batch] of batches.slice(from, to).entries())
    localLosses[n] = context
      ? await lossOverRanks(context, model, batch, undefined, (loss) => loss)
      : lossOf(model, batch);
  await comm.allGather(
    localLosses,
    losses,
    shares.map(([a, b]) => 8 * (b - a)),
  );
  return weightedMean(batches.map(countOf), losses);
}

/**
 * The held-out loss: the mean over the counted targets of batches that no step trains on. Ranks share the batches.
 */
import { stepMemory, tidy } from "../../api/tidy.ts";
import { checkArgument, checkCount, UnsupportedError } from "../../core/errors.ts";
import type { Pause } from "../../core/synchronous.ts";
import { COPY, type Tensor } from "../../core/tensor.ts";
import { withRecorder } from "../../nn/record.ts";
import {
  checkedCount,
  checkedLoss,
  countTargets,
  lossInParts,
  lossOverRanks,
  type Trainable,
  unlessAborted,
} from "./options.ts";
import { microBatchesOf } from "./parallel.ts";
import { anyOf, type Ranks } from "./ranks.ts";

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

/** The losses of batches, of a model on any device: all are enqueued before the first is read. `pause` throws to end the work. */
async function lossesOf<B>(model: Trainable<B>, batches: readonly B[], pause: Pause): Promise<number[]> {
  const losses: Tensor[] = [];
  try {
    for (const batch of batches) {
      await pause();
      losses.push(await lossCopy(model, batch, pause));
    }
    const values = await Promise.all(losses.map((loss) => loss.read()));
    return values.map((value) => Number(value[0]));
  } finally {
    for (const loss of losses) loss.dispose();
  }
}

/** The loss of a batch, which outlives the memory of its computation. */
async function lossCopy<B>(model: Trainable<B>, batch: B, pause: Pause): Promise<Tensor> {
  const memory = stepMemory();
  const copies = new Set<Tensor>();
  try {
    const run = <T>(part: () => T) => memory.run(() => withRecorder(undefined, part));
    const loss = await lossInParts("train", model, batch, { run, pause });
    const copy = run(() => loss[COPY]());
    copies.add(copy);
    return copy;
  } finally {
    memory.end(copies);
  }
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

/**
 * The held-out loss; ranks share its batches, and those of `context` the sequences of each. Undefined on all ranks where the signal of one
 * ended it.
 */
export async function heldOutLoss<B>(
  model: Trainable<B>,
  batches: readonly B[],
  countOf: (batch: B) => number,
  { all, data: comm, context }: Ranks,
  { signal, pause }: { readonly signal: AbortSignal | undefined; readonly pause: Pause },
): Promise<number | undefined> {
  const counts = batches.map(countOf);
  if (all === undefined || comm === undefined) {
    const losses = await unlessAborted(signal, () => lossesOf(model, batches, pause));
    return losses && weightedMean(counts, losses);
  }
  const shares = Array.from({ length: comm.size }, (_, r) => microBatchesOf(batches.length, comm.size, r));
  const [from, to] = shares[comm.rank];
  const losses = new Float64Array(batches.length);
  const localLosses = new Float64Array(to - from);
  let stops = false;
  if (context)
    for (const [n, batch] of batches.slice(from, to).entries()) {
      stops = await anyOf(context.comm, signal?.aborted === true);
      if (stops) break;
      localLosses[n] = await lossOverRanks(context, model, batch, undefined, (loss) => loss);
    }
  else {
    const list = await unlessAborted(signal, () => lossesOf(model, batches.slice(from, to), pause));
    stops = list === undefined;
    localLosses.set(list ?? []);
  }
  if (await anyOf(all, stops)) return undefined;
  await comm.allGather(
    localLosses,
    losses,
    shares.map(([a, b]) => 8 * (b - a)),
  );
  return weightedMean(counts, losses);
}

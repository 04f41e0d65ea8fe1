/**
 * Training of the shipped decoder's architecture (GPT-2's: 4 layers, 4 heads, width 128, 1,024 tokens, context 128): one
 * step is the loss of a batch, all gradients, and one update. heed and the other packages that are installed take turns in one
 * process, with the same initial weights and batches; the first losses are compared before anything is timed.
 *
 *   node bench/train.ts [--level wide] [--threads 1] [--turns 9] [--peers] [--untidy] [--context 128] [--batch 16] [--vocab 1024]
 *   node bench/train.ts --memory              peak memory of a step with one layer of one head, as the context grows
 */
import { type Tensor, tensor } from "../src/index.ts";
import { Gpt2 } from "../src/models/index.ts";
import { AdamW, clipScale, crossEntropy, Generator, gradientNorm, Tape, tidy } from "../src/train/index.ts";
import { inProcess, isMain, optionsOf, printTable, startThreads } from "./support/setup.ts";
import { quantile } from "./support/turns.ts";

/** Sizes of the decoder and of a batch. */
export interface DecoderSizes {
  readonly layers: number;
  readonly heads: number;
  readonly width: number;
  readonly vocab: number;
  readonly context: number;
  readonly batch: number;
  readonly lr: number;
}

/** A model that can be trained step by step. */
interface Trainer {
  step(tokens: Int32Array): number | Promise<number>;
}

/** heed's model with its tape; a step runs in `tidy` or in another given function. */
export function trainer(model: Gpt2, { batch, context, lr }: DecoderSizes, within = tidy): Trainer {
  const parameters = model.parameters();
  const optimizer = new AdamW(parameters, { lr, weightDecay: 0 });
  return {
    step(tokens) {
      const rows = (from: number) =>
        tensor(
          Int32Array.from(
            { length: batch * context },
            (_, n) => tokens[Math.floor(n / context) * (context + 1) + (n % context) + from],
          ),
          [batch, context],
        ) as Tensor;
      return within(() => {
        const tape = new Tape();
        const loss = tape.run(() => crossEntropy(model.forward(rows(0)), rows(1)));
        const gradients = tape.gradients(loss, parameters.values());
        optimizer.step(gradients, { scale: clipScale(gradientNorm(gradients).at(), Number.MAX_VALUE) });
        return loss.toFloat64()[0];
      });
    },
  };
}

/** The decoder with seeded weights. */
export const decoder = ({ layers, heads, width, vocab, context }: DecoderSizes): Gpt2 =>
  new Gpt2(
    { vocab_size: vocab, n_positions: context, n_embd: width, n_layer: layers, n_head: heads },
    { seed: 1 },
  );

/** Contexts whose peak memory is measured, each in a separate process. */
const CONTEXTS = [1024, 4096, 8192, 16384];

/** Peak resident memory of one training step of one head over `context` tokens, in MiB; called in a fresh process. */
function memoryOf(context: number): number {
  const sizes = { layers: 1, heads: 1, width: 64, vocab: 64, context, batch: 1, lr: 1e-3 };
  const one = trainer(decoder(sizes), sizes);
  one.step(Int32Array.from({ length: context + 1 }, (_, n) => (n * 7) % sizes.vocab));
  return process.resourceUsage().maxRSS / 1024;
}

/** Memory of a step at each context, and the memory per additional token. */
function measureMemory(): void {
  const rows = CONTEXTS.map((context) => {
    const args = ["--context", `${context}`, "--memory", "--child"];
    return { context, mib: inProcess<number>(import.meta.url, args) };
  });
  for (const { context, mib } of rows) {
    const more = ((mib - rows[0].mib) * 1024) / Math.max(1, context - rows[0].context);
    console.log(
      `${String(context).padStart(6)} tokens: ${mib.toFixed(0)} MiB at most${more > 0 ? `, ${more.toFixed(1)} KiB for each token more than ${rows[0].context}` : ""}; N×N float32 would be ${((context * context) / 2 ** 18).toFixed(0)} MiB`,
    );
  }
}

async function main(): Promise<void> {
  const { values } = optionsOf({
    memory: false,
    child: false,
    level: "wide",
    threads: 1,
    turns: 9,
    context: 128,
    batch: 16,
    vocab: 1024,
    peers: false,
    untidy: false,
  });
  const { context, batch, vocab, turns, level, threads } = values;
  if (values.child) return void process.stdout.write(String(memoryOf(context)));
  if (values.memory) return measureMemory();
  const sizes: DecoderSizes = { layers: 4, heads: 4, width: 128, vocab, context, batch, lr: 1e-3 };
  await startThreads(threads, level);
  const model = decoder(sizes);
  const initial = new Map(
    [...model.parameters()].map(([name, t]) => [
      name,
      { data: Float32Array.from(t.toFloat64()), shape: t.shape },
    ]),
  );
  const subjects: { name: string; trainer: Trainer; times: number[] }[] = [
    { name: `heed ${level}`, trainer: trainer(model, sizes), times: [] },
  ];
  if (values.untidy)
    subjects.push({
      name: "heed without tidy",
      trainer: trainer(decoder(sizes), sizes, (work) => work()),
      times: [],
    });
  if (values.peers) {
    const { trainingPeers } = await import("./peers/train.mjs");
    for (const peer of trainingPeers) {
      const ready = await peer.prepare(sizes, initial);
      if ("refuses" in ready) console.log(`${peer.name}: ${ready.refuses}`);
      else subjects.push({ name: peer.name, trainer: ready, times: [] });
    }
  }
  const generator = new Generator(7);
  for (let turn = -2; turn < turns; turn++) {
    const tokens = Int32Array.from({ length: batch * (context + 1) }, () =>
      Math.floor(generator.uniform() * vocab),
    );
    const losses: number[] = [];
    for (const one of subjects) {
      const start = performance.now();
      losses.push(await one.trainer.step(tokens));
      if (turn >= 0) one.times.push(performance.now() - start);
    }
    if (turn === -2 && losses.some((loss) => !(Math.abs(loss - losses[0]) < 1e-4)))
      throw new Error(`bench: the first losses differ: ${losses.join(", ")}`);
  }
  const heedTime = quantile(subjects[0].times, 0.5);
  const rows = subjects.map(({ name, times }) => {
    const median = quantile(times, 0.5);
    const tokens = Math.round((batch * context * 1000) / median);
    const spread = `${quantile(times, 0.25).toFixed(0)}–${quantile(times, 0.75).toFixed(0)}`;
    return [
      name,
      `${median.toFixed(0)} ms`,
      spread,
      `${tokens} tokens/s`,
      `${(median / heedTime).toFixed(2)} ×`,
    ];
  });
  console.log(
    `${batch} × ${context} tokens a step, ${turns} turns, ${threads} thread(s), Node ${process.version}`,
  );
  printTable([["", "median", "quartiles", "", "time over heed's"], ...rows]);
}

if (isMain(import.meta.url)) await main();

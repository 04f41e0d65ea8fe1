/**
 * Trains the translator: a BART of two layers in each part, on pairs that grammar.ts makes as it runs.
 *
 *     node tools/corpus/translation/train.ts DIRECTORY STEPS      resumes from DIRECTORY/checkpoint.safetensors, if it is there
 *
 * Writes config.json, model.safetensors, tokenizer.json, tokenizer_config.json, words.txt and training.json.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { configure, Tensor } from "../../../src/index.ts";
import { EncoderDecoder, modelToFiles, readConfig, readTokenizer } from "../../../src/models/index.ts";
import { embedding, type FloatTensor, reshape, sinusoidalPositions } from "../../../src/nn/index.ts";
import { crossEntropy, readCheckpoint, schedule, train } from "../../../src/train/index.ts";
import { wordsOf } from "./clauses.ts";
import type { Pair } from "./grammar.ts";
import { pairs, tokenizerText, wordsText } from "./task.ts";

const [directory, count] = process.argv.slice(2);
if (!(Number(count) > 0)) {
  console.error("node tools/corpus/translation/train.ts DIRECTORY STEPS");
  process.exit(2);
}
configure({ threads: 1 });
const [START, PAD, END] = [0, 1, 2];
const SETTINGS = { lr: 0.002, warmup: 300, batch: 64, width: 128, inner: 256, layers: 2, heads: 4, seed: 1 };
const { lr, warmup, batch, width, inner, layers, heads, seed } = SETTINGS;
/** Batches that are made together, so that the sentences of one have about the same length. */
const TOGETHER = 4;

mkdirSync(directory, { recursive: true });
const path = (name: string) => join(directory, name);
if (!existsSync(path("tokenizer.json"))) writeFileSync(path("tokenizer.json"), tokenizerText());
const tokenizer = readTokenizer(readFileSync(path("tokenizer.json")));
const fields = {
  architectures: ["BartForConditionalGeneration"],
  model_type: "bart",
  vocab_size: tokenizer.size,
  d_model: width,
  encoder_layers: layers,
  decoder_layers: layers,
  encoder_attention_heads: heads,
  decoder_attention_heads: heads,
  encoder_ffn_dim: inner,
  decoder_ffn_dim: inner,
  max_position_embeddings: 48,
  activation_function: "gelu",
  dropout: 0,
  attention_dropout: 0,
  activation_dropout: 0,
  init_std: 0.05,
  scale_embedding: false,
  is_encoder_decoder: true,
  tie_word_embeddings: true,
  bos_token_id: START,
  pad_token_id: PAD,
  eos_token_id: END,
  decoder_start_token_id: END,
  forced_eos_token_id: null,
};
const { config } = readConfig(new TextEncoder().encode(JSON.stringify(fields)));
const model = new EncoderDecoder(config as ConstructorParameters<typeof EncoderDecoder>[0], { seed });
// Sinusoids instead of noise, so that adjacent positions are alike from the start.
for (const [name, rows] of model.parameters())
  if (name.includes("embed_positions")) {
    const waves = sinusoidalPositions(rows.shape[0], width, { base: 48, dtype: "float32" });
    for (let n = 0; n < rows.size; n++) rows.data[n] = 0.15 * waves.data[n];
  }

/** Ids of sentences, padded at the end, and which of them are words. */
function padded(lists: readonly (readonly number[])[]): { ids: Tensor<"int32">; mask: Tensor<"bool"> } {
  const N = Math.max(...lists.map(({ length }) => length));
  const shape = [lists.length, N];
  const ids = Int32Array.from({ length: lists.length * N }, (_, i) => lists[Math.floor(i / N)][i % N] ?? PAD);
  return {
    ids: new Tensor(ids, shape, "int32"),
    mask: new Tensor(
      Uint8Array.from(ids, (id) => (id === PAD ? 0 : 1)),
      shape,
      "bool",
    ),
  };
}

interface Batch {
  readonly source: ReturnType<typeof padded>;
  readonly target: Tensor<"int32">;
  readonly positions: readonly number[];
  readonly classes: readonly number[];
  readonly count: number;
}

function batchOf(list: readonly Pair[]): Batch {
  const idsOf = (words: readonly string[]) =>
    wordsOf(words).map((word) => tokenizer.id(word) ?? tokenizer.id("<unk>")!);
  const german = list.map((pair) => idsOf(pair.german));
  const { ids: target } = padded(german.map((ids) => [END, ...ids]));
  const N = target.shape[1];
  const positions = german.flatMap((ids, b) => [...ids, END].map((_, n) => b * N + n));
  const classes = german.flatMap((ids) => [...ids, END]);
  const source = padded(list.map((pair) => [...idsOf(pair.english), END]));
  return { source, target, positions, classes, count: classes.length };
}

const batches = new Map<number, Batch[]>();
/** Streams of training pairs begin at 100. */
function batchAt(step: number): Batch {
  const group = Math.floor(step / TOGETHER);
  let list = batches.get(group);
  if (list === undefined) {
    const sorted = pairs(batch * TOGETHER, 100 + group).sort((a, b) => a.english.length - b.english.length);
    list = Array.from({ length: TOGETHER }, (_, n) => batchOf(sorted.slice(n * batch, (n + 1) * batch)));
    batches.clear();
    batches.set(group, list);
  }
  return list[step % TOGETHER];
}

const trainable = {
  parameters: () => model.parameters(),
  loss({ source, target, positions, classes }: Batch) {
    const memory = model.encode(source.ids, { keyMask: source.mask });
    const states = model.hidden(target, { memory, memoryMask: source.mask });
    const rows = embedding(positions, reshape(states, [target.size, -1]) as FloatTensor);
    return crossEntropy(model.logits(rows), new Tensor(Int32Array.from(classes), [classes.length], "int32"));
  },
};

const steps = Number(count);
const checkpoint = path("checkpoint.safetensors");
const heldOut = Array.from({ length: 4 }, (_, n) => batchOf(pairs(batch, 10 + n, true)));
const start = performance.now();
const abort = new AbortController();
process.on("SIGINT", () => abort.abort());
process.on("SIGTERM", () => abort.abort());
const result = await train<Batch>({
  model: trainable,
  data: (step) => [batchAt(step)],
  steps,
  schedule: schedule({ lr, warmup, decay: "cosine", steps, floor: 0.02 }),
  adamw: { betas: [0.9, 0.98], weightDecay: 0.01, decays: "matrices" },
  heldOut: { batches: heldOut, every: 250 },
  checkpoint: { path: checkpoint, every: 100, config: JSON.stringify(SETTINGS) },
  ...(existsSync(checkpoint) && { resume: readCheckpoint(readFileSync(checkpoint)) }),
  signal: abort.signal,
  onStep({ step, loss, norm, heldOut }) {
    if (step % 50 === 0 || heldOut !== undefined)
      console.log(
        step,
        loss.toFixed(4),
        norm.toFixed(2),
        heldOut?.toFixed(4) ?? "",
        `${((performance.now() - start) / 1e3).toFixed(0)} s`,
      );
  },
});
const json = (value: object) => `${JSON.stringify(value, undefined, 2)}\n`;
for (const [name, bytes] of modelToFiles(model, tokenizer, { dtype: "float16" }))
  if (!name.startsWith("tokenizer")) writeFileSync(path(name), bytes);
writeFileSync(
  path("tokenizer_config.json"),
  json({
    tokenizer_class: "PreTrainedTokenizerFast",
    model_max_length: 48,
    bos_token: "<s>",
    pad_token: "<pad>",
    eos_token: "</s>",
    unk_token: "<unk>",
  }),
);
writeFileSync(path("words.txt"), wordsText());
const parameters = [...model.parameters().values()].reduce((sum, { size }) => sum + size, 0);
writeFileSync(
  path("training.json"),
  json({
    settings: SETTINGS,
    parameters,
    vocabulary: tokenizer.size,
    steps: result.step,
    loss: result.losses.at(-1),
    heldOut: result.heldOut,
    dtype: "float16",
  }),
);
console.log(`${parameters} parameters, step ${result.step}`);

/** Longformer's global tokens: who sees whom, batches with padding, hooks, files, and questions. The numbers are in families.test.ts. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Tensor, tensor } from "heed";
import type { Encoder } from "heed/models";
import { answerQuestion, type LayerAttention, layerWeights, modelFromFiles } from "heed/models";
import { describe, expect, test } from "vitest";
import { bundleOfTexts } from "../../src/cli/support/input/model-bundle.ts";
import { openStore } from "../../src/store/formats/open.ts";
import { readTensors, worst } from "../support/shared.ts";
import { carrierTokenizer } from "./carrier.ts";

const open = (folder: string, change: (config: Record<string, unknown>) => object = (config) => config) => {
  const read = (name: string) => readFileSync(join(import.meta.dirname, folder, name));
  const config = change(JSON.parse(read("config.json").toString()));
  return modelFromFiles(
    new Map<string, Uint8Array>([
      ["config.json", new TextEncoder().encode(JSON.stringify(config))],
      ["model.safetensors", read("model.safetensors")],
      ["tokenizer.json", carrierTokenizer()],
    ]),
    { dtype: "float64" },
  );
};
const model = await open("models/longformer");
const encoder = model.model as unknown as Encoder;
const golden = readTensors(join(import.meta.dirname, "models/longformer/golden.safetensors"));
const ids = (golden.get("ids.1") as Tensor).toFloat64();
const globals = [...(golden.get("globals.1") as Tensor).toFloat64()];
const N = ids.length;

test("a token sees its window of each layer and the global tokens, which see all and are seen by all", () => {
  const layers = model.attentionOf(ids, undefined, { globals });
  [4, 8].forEach((width, n) => {
    const weights = layerWeights(layers[n]).toFloat64();
    for (let i = 0; i < N; i++)
      for (let j = 0; j < N; j++) {
        const sees = Math.abs(i - j) <= width / 2 || globals.includes(i) || globals.includes(j);
        expect(weights[i * N + j] > 0, `${i} → ${j}`).toBe(sees);
      }
  });
});

test("without global tokens their projections are not used, and an empty list is none", () => {
  const without = encoder.hidden(ids).toFloat64();
  expect(encoder.hidden(ids, { globals: [] }).toFloat64()).toEqual(without);
  expect(worst(encoder.hidden(ids, { globals: [3, 0, 3] }).toFloat64(), without)).toBeGreaterThan(1e-3);
});

test("a padded batch gives each text the states that it has alone", () => {
  const [short, long] = [ids.slice(0, 6), ids];
  const rows = Int32Array.from([...short, ...Array(N - 6).fill(1), ...long]);
  const keep = Uint8Array.from(rows, (_, i) => +(i < 6 || i >= N));
  const states = encoder
    .hidden(tensor(rows, [2, N], "int32"), { keyMask: tensor(keep, [2, N], "bool"), globals: [0, 4] })
    .toFloat64();
  const C = encoder.sizes.width;
  const alone = (text: Float64Array) => encoder.hidden(text, { globals: [0, 4] }).toFloat64();
  expect(worst(states.subarray(0, 6 * C), alone(short))).toBeLessThan(1e-11);
  expect(worst(states.subarray(N * C), alone(long))).toBeLessThan(1e-11);
});

test("a hook that returns the same query, weights or output changes nothing", () => {
  const want = encoder.hidden(ids, { globals }).toFloat64();
  const same = {
    query: ({ query }: LayerAttention) => ({ query }),
    weights: (layer: LayerAttention) => ({ weights: layerWeights(layer) as LayerAttention["output"] }),
    output: ({ output }: LayerAttention) => ({ output }),
  };
  for (const [name, change] of Object.entries(same)) {
    const states = encoder.hidden(ids, { globals, onAttention: (_, layer) => change(layer) });
    expect(worst(states.toFloat64(), want), name).toBeLessThan(1e-11);
  }
});

test("a file of its attention has the weights of transformers, global tokens included", async () => {
  const attention = {
    ...model.tokenize(""),
    texts: [""],
    tokens: Array.from(ids, String),
    special: Array.from(ids, () => false),
    sequences: new Int8Array(N),
    layers: model.attentionOf(ids, undefined, { globals }),
  };
  const store = await openStore(await bundleOfTexts(model, [attention]), { name: "longformer" });
  expect(store.report.problems).toEqual([]);
  const want = (golden.get("attention.1") as Tensor).toFloat64();
  for (let head = 0; head < model.heads; head++) {
    const ref = { block: 0, layer: 1, head };
    await store.load(ref);
    for (let i = 0; i < N; i++) {
      const at = ((model.heads + head) * N + i) * N;
      expect(worst(Float64Array.from(store.row(ref, i, "weights")), want.subarray(at, at + N))).toBeLessThan(
        1e-6,
      );
    }
  }
  store.dispose();
});

describe("errors", () => {
  test.each([
    [[N], `integers from 0 to ${N - 1}`],
    [[0.5], "globals must be a list of positions"],
    [5 as unknown as number[], "got 5"],
  ])("globals %o", (wrong, text) => {
    expect(() => encoder.hidden(ids, { globals: wrong })).toThrow(text);
  });

  test("a model without projections for global tokens refuses them", async () => {
    const bert = await open("models/bert");
    expect(() => bert.attentionOf([5, 6], undefined, { globals: [0] })).toThrow(
      "bert: has no projections for global tokens",
    );
  });

  test.each([[[4, 5]], [[4]], [3], [0]])("attention_window %o", async (attention_window) => {
    await expect(open("models/longformer", (config) => ({ ...config, attention_window }))).rejects.toThrow(
      "attention_window",
    );
  });
});

test("answerQuestion reads the question as global tokens, as transformers does", async () => {
  const answerer = await open("answerers/longformer");
  const network = answerer.model as unknown as Encoder;
  const [question, text] = ["the cat", "sat on the mat"];
  const pair = answerer.tokenize(question, text);
  const first = pair.ids.indexOf(answerer.tokenizer.id("[SEP]")!);
  const logits = network
    .spanLogits(network.hidden(pair.ids, { typeIds: pair.typeIds, globals: [...Array(first).keys()] }))
    .toFloat64();
  const [{ start, startLogit }] = answerQuestion(answerer, question, text).answers;
  const token = pair.offsets.findIndex(([from], i) => pair.sequences[i] === 1 && from === start);
  expect(startLogit).toBeCloseTo(logits[2 * token], 12);
});

/**
 * Every model family against transformers in float64: hidden states of every layer, attention of every head, logits. A folder in
 * tests/golden/models adds a test (models/README.md).
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { attentionWeights, type Tensor, tensor } from "heed";
import type { DecoderModel, LayerAttention, TextModel } from "heed/models";
import { modelFromFiles, modelToFiles } from "heed/models";
import { describe, expect, test } from "vitest";
import { readTensors, worst, worstShare } from "../support/shared.ts";
import { carrierTokenizer } from "./carrier.ts";

const root = join(import.meta.dirname, "models");
const families = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

const filesOf = (family: string) =>
  new Map<string, Uint8Array>([
    ["config.json", readFileSync(join(root, family, "config.json"))],
    ["model.safetensors", readFileSync(join(root, family, "model.safetensors"))],
    ["tokenizer.json", carrierTokenizer()],
  ]);

const int32 = (t: Tensor) => tensor(Int32Array.from(t.toFloat64()), t.shape, "int32");

test("there is a folder for every family", () => expect(families.length).toBeGreaterThanOrEqual(16));

describe.each(families)("%s", (family) => {
  const golden = readTensors(join(root, family, "golden.safetensors"));
  const inputs = [...golden.keys()].filter((name) => name.startsWith("ids.")).map((name) => name.slice(4));
  const get = (name: string, n: string) => (golden.get(`${name}.${n}`) as Tensor).toFloat64();

  describe.each([
    ["float32", 2e-5, worstShare],
    ["float64", 1e-11, worst],
  ] as const)("%s", (dtype, tolerance, error) => {
    let opened: Promise<TextModel> | undefined;
    const open = () => (opened ??= modelFromFiles(filesOf(family), { dtype }));

    test.each(inputs)(`input %s: states, attention and logits within ${tolerance}`, async (n) => {
      const model = await open();
      const ids = int32(golden.get(`ids.${n}`) as Tensor);
      const [B, N] = ids.shape;
      const types = golden.get(`types.${n}`);
      const keep = golden.get(`keep.${n}`);
      const globals = golden.get(`globals.${n}`);
      const attention: LayerAttention[] = [];
      const states: Float64Array[] = [];
      const options = {
        onAttention: (_: number, it: LayerAttention) => void attention.push(it),
        onHidden: (_: number, x: Tensor) => void states.push(x.toFloat64()),
        ...(types && { typeIds: int32(types) }),
        ...(globals && { globals: [...globals.toFloat64()] }),
        ...(keep && { keyMask: tensor(Uint8Array.from(keep.toFloat64()), keep.shape, "bool") }),
      };
      const hidden = model.model.hidden(ids, options);
      const logits = model.model.logits(hidden);

      // Decoders norm the last state; what transformers hands out as its last one is normed too.
      states[states.length - 1] = hidden.toFloat64();
      const { layers, heads, width } = model.model.sizes;
      const wantStates = get("hidden", n);
      expect(states.length).toBe(layers + 1);
      states.forEach((state, layer) => {
        const want = wantStates.subarray(layer * B * N * width, (layer + 1) * B * N * width);
        expect(error(state, want), `state ${layer}`).toBeLessThan(tolerance);
      });
      const wantWeights = get("attention", n);
      const each = B * heads * N * N;
      attention.forEach(({ query, key, lse, options: how }, layer) => {
        const weights = attentionWeights(query, key, lse, how).toFloat64();
        const want = wantWeights.subarray(layer * each, (layer + 1) * each);
        expect(error(weights, want), `attention ${layer}`).toBeLessThan(tolerance);
      });
      expect(attention.length).toBe(layers);
      expect(error(logits.toFloat64(), get("logits", n)), "logits").toBeLessThan(tolerance);
    });
  });

  test("a decoder that reads token by token out of its cache gives the same logits", async () => {
    const { model } = await modelFromFiles(filesOf(family));
    if (!("cache" in model)) return;
    const decoder = model as DecoderModel;
    const ids = (golden.get("ids.0") as Tensor).toFloat64();
    const cache = decoder.cache(ids.length);
    const V = decoder.sizes.vocabulary;
    const want = get("logits", "0");
    let next = 0;
    for (const n of [3, ...Array(ids.length - 3).fill(1)]) {
      const logits = decoder.forward(Int32Array.from(ids.subarray(next, next + n)), { cache }).toFloat64();
      expect(worst(logits, want.subarray(next * V, (next + n) * V)), `from ${next}`).toBeLessThan(1e-4);
      next += n;
    }
    expect(cache.length).toBe(ids.length);
  });

  test("a padded batch of a decoder gives each text the logits that it has alone", async () => {
    const { model } = await modelFromFiles(filesOf(family), { dtype: "float64" });
    if (model.architecture !== "decoder") return;
    const decoder = model as DecoderModel;
    const V = decoder.sizes.vocabulary;
    const text = [5, 9, 7, 6];
    const alone = decoder.forward(text).toFloat64();
    const rows = [
      [0, 0, ...text], // padding on the left
      [...text, 0, 0], // and on the right
      [0, ...text, 0],
    ];
    const keep = Uint8Array.from(rows.flat(), (id) => (id === 0 ? 0 : 1));
    // LongRoPE's factors follow the length of the batch.
    if (family === "phi3") return;
    const logits = decoder
      .forward(tensor(Int32Array.from(rows.flat()), [3, 6], "int32"), {
        keyMask: tensor(keep, [3, 6], "bool"),
      })
      .toFloat64();
    rows.forEach((row, b) => {
      const from = (6 * b + row.indexOf(5)) * V;
      expect(worst(logits.subarray(from, from + 4 * V), alone), `row ${b}`).toBeLessThan(1e-10);
    });
  });

  test("each decode step out of a cache equals the pass over the whole text", async () => {
    const { model } = await modelFromFiles(filesOf(family));
    if (!("cache" in model)) return;
    const decoder = model as DecoderModel;
    const [longest] = inputs
      .map((n) => [...(golden.get(`ids.${n}`) as Tensor).toFloat64()])
      .sort((a, b) => b.length - a.length);
    const cache = decoder.cache(longest.length);
    const V = decoder.sizes.vocabulary;
    for (let n = 1; n <= longest.length; n++) {
      const step = decoder.forward([longest[n - 1]], { cache }).toFloat64();
      const pass = decoder.forward(longest.slice(0, n)).toFloat64();
      expect(worst(step, pass.subarray((n - 1) * V)), `token ${n}`).toBeLessThan(2e-5);
    }
  });

  test("a model that is written and read again gives the same logits", async () => {
    const { model, tokenizer } = await modelFromFiles(filesOf(family));
    const again = await modelFromFiles(modelToFiles(model, tokenizer, { dtype: "float32" }));
    expect(again.model.type).toBe(model.type);
    const ids = [5, 6, 7, 8];
    expect(again.model.forward(ids).toFloat64()).toEqual(model.forward(ids).toFloat64());
  });
});

test("an MPNet's positions begin after row 1 whatever the id of padding is, as in transformers", async () => {
  const files = filesOf("mpnet");
  const config = JSON.parse(new TextDecoder().decode(files.get("config.json")));
  const other = new TextEncoder().encode(JSON.stringify({ ...config, pad_token_id: 0 }));
  const ids = [5, 6, 7, 8];
  const logits = async (it: Map<string, Uint8Array>) =>
    (await modelFromFiles(it)).model.forward(ids).toFloat64();
  expect(await logits(new Map(files).set("config.json", other))).toEqual(await logits(files));
});

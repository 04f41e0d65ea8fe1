/** What BERT and GPT-2 share: parameters, gradients, dropout, lengths; and where they differ: the mask. */
import { describe, expect, test } from "vitest";
import { attentionWeights } from "../api/attention.ts";
import { FormatError, OptionError, ShapeError, UnsupportedError } from "../core/errors.ts";
import { Tensor } from "../core/tensor.ts";
import { withDropout } from "../nn/index.ts";
import { crossEntropy, Tape } from "../train/index.ts";
import type { BertConfig, Gpt2Config } from "./config/types.ts";
import { Bert } from "./families/encoders/bert.ts";
import { Gpt2 } from "./families/gpt/gpt2.ts";
import { readConfig } from "./families/read-config.ts";
import type { LayerAttention } from "./transformer/attend.ts";

const GPT2: Gpt2Config = {
  vocab_size: 11,
  n_positions: 8,
  n_embd: 8,
  n_layer: 2,
  n_head: 2,
  initializer_range: 0.4,
};
const BERT: BertConfig = {
  vocab_size: 11,
  hidden_size: 8,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  intermediate_size: 12,
  max_position_embeddings: 8,
  initializer_range: 0.4,
};
const MODELS = [
  ["Gpt2", (dtype: "float32" | "float64", seed = 3) => new Gpt2(GPT2, { dtype, seed })],
  ["Bert", (dtype: "float32" | "float64", seed = 3) => new Bert(BERT, { dtype, seed })],
] as const;
const batch = new Tensor(Int32Array.of(1, 2, 3, 4, 5, 6, 7, 3, 2, 10), [2, 5], "int32");
const targets = new Tensor(Int32Array.of(2, 3, 4, 5, 6, 7, -100, 2, 10, 1), [2, 5], "int32");
const distance = (a: ArrayLike<number>, b: ArrayLike<number>) => {
  expect(a.length).toBe(b.length);
  return Math.max(0, ...Array.from(a, (x, i) => Math.abs(x - b[i])));
};

describe.each(MODELS)("%s", (_, make) => {
  test("every gradient matches central differences", () => {
    const model = make("float64");
    const loss = () => crossEntropy(model.forward(batch), targets);
    const tape = new Tape();
    const gradients = tape.gradients(tape.run(loss), model.parameters().values());
    for (const [name, parameter] of model.parameters()) {
      const gradient = gradients.get(parameter)?.toFloat64() ?? new Float64Array(parameter.size);
      // A few numbers of each: the first, the last and some between.
      for (let i = 0; i < parameter.size; i += Math.max(1, Math.floor(parameter.size / 4))) {
        const data = parameter.data as Float64Array;
        const original = data[i];
        const [up, down] = [1e-6, -1e-6].map((step) => {
          data[i] = original + step;
          return loss().toFloat64()[0];
        });
        data[i] = original;
        expect(Math.abs(gradient[i] - (up - down) / 2e-6), `${name}[${i}]`).toBeLessThan(1e-8);
      }
    }
  });

  test("float32 differs from float64 only by rounding, from the same seed", () => {
    const [narrow, wide] = [make("float32").forward(batch), make("float64").forward(batch)];
    expect(narrow.dtype).toBe("float32");
    expect(narrow.shape).toEqual([2, 5, 11]);
    expect(distance(narrow.toFloat64(), wide.toFloat64())).toBeLessThan(2e-5);
    expect(distance(narrow.toFloat64(), make("float32", 4).forward(batch).toFloat64())).toBeGreaterThan(0.1);
  });

  test("a batch gives the same as its sequences one by one", () => {
    const model = make("float64");
    const rows = [batch.data.slice(0, 5), batch.data.slice(5)].flatMap((ids) => [
      ...model.forward(ids as Int32Array).toFloat64(),
    ]);
    expect(distance(rows, model.forward(batch).toFloat64())).toBeLessThan(1e-12);
  });

  test("a layer's query, key and log-sum-exp give its weights, whose rows sum to 1", () => {
    const layerAttentions: LayerAttention[] = [];
    make("float64").forward([1, 2, 3, 4], {
      onAttention: (layer, it) => {
        expect(layerAttentions.push(it)).toBe(layer + 1);
      },
    });
    expect(layerAttentions.length).toBe(2);
    for (const { query, key, value, lse, options } of layerAttentions) {
      expect([query.shape, key.shape, value.shape, lse.shape]).toEqual([
        [2, 4, 4],
        [2, 4, 4],
        [2, 4, 4],
        [2, 4],
      ]);
      const weights = attentionWeights(query, key, lse, options).toFloat64();
      for (let row = 0; row < 8; row++)
        expect(weights.slice(4 * row, 4 * row + 4).reduce((a, b) => a + b)).toBeCloseTo(1, 12);
    }
  });

  test("an async onAttention is refused: its change would come too late", () => {
    const onAttention = (async () => ({})) as never;
    expect(() => make("float32").forward([1, 2, 3], { onAttention })).toThrow(
      /returned a promise.*may not be async/,
    );
  });

  test("dropout applies inside withDropout only, and depends on its seed", () => {
    const share = {
      hidden_dropout_prob: 0.3,
      attention_probs_dropout_prob: 0.3,
      embd_pdrop: 0.3,
      attn_pdrop: 0.3,
      resid_pdrop: 0.3,
    };
    const full = make("float64");
    const dropping =
      full instanceof Bert
        ? new Bert({ ...BERT, ...share }, { dtype: "float64", seed: 3 })
        : new Gpt2({ ...GPT2, ...share }, { dtype: "float64", seed: 3 });
    const plain = full.forward(batch).toFloat64();
    const run = (seed: number) => withDropout(seed, () => dropping.forward(batch)).toFloat64();
    expect(dropping.forward(batch).toFloat64()).toEqual(plain);
    expect(run(1)).toEqual(run(1));
    expect(distance(run(1), run(2))).toBeGreaterThan(0.01);
    expect(distance(run(1), plain)).toBeGreaterThan(0.01);
  });

  test("more tokens than positions, and ids without a row, are refused", () => {
    expect(() => make("float32").forward([1, 1, 1, 1, 1, 1, 1, 1, 1])).toThrow(/9 tokens; the model has 8/);
    expect(() => make("float32").forward([11])).toThrow(OptionError);
  });

  test("given parameters must fit", () => {
    const model = make("float32");
    const Model = model.constructor as typeof Gpt2;
    const [name] = model.parameters().keys();
    const parameters = new Map(model.parameters());
    expect(new Model(model.config as Gpt2Config, { parameters }).forward(batch)).toEqual(
      model.forward(batch),
    );
    parameters.delete(name);
    expect(() => new Model(model.config as Gpt2Config, { parameters })).toThrow(new RegExp(name));
    expect(
      () => new Model(model.config as Gpt2Config, { parameters: model.parameters(), dtype: "float64" }),
    ).toThrow(/float64/);
  });
});

describe("GPT-2", () => {
  test("later tokens do not change earlier results", () => {
    const model = new Gpt2(GPT2, { dtype: "float64" });
    const [a, b] = [
      [1, 2, 3, 4, 5],
      [1, 2, 3, 9, 9],
    ].map((ids) => model.forward(ids).toFloat64());
    expect(distance(a.slice(0, 33), b.slice(0, 33))).toBe(0);
    expect(distance(a, b)).toBeGreaterThan(0.01);
  });

  test("a cache gives the results of the whole sequence, in pieces of any size", () => {
    const model = new Gpt2(GPT2, { dtype: "float64", seed: 8 });
    const ids = [1, 2, 3, 4, 5, 6, 7, 8];
    const full = model.forward(ids).toFloat64();
    for (const sizes of [
      [1, 1, 1, 1, 1, 1, 1, 1],
      [3, 5],
      [7, 1],
    ]) {
      const cache = model.cache();
      let at = 0;
      const pieces = sizes.flatMap((n) => [
        ...model.forward(ids.slice(at, (at += n)), { cache }).toFloat64(),
      ]);
      expect(distance(pieces, full)).toBeLessThan(1e-12);
      expect(cache.length).toBe(8);
    }
  });

  test("a cache takes one sequence, and no more than its capacity", () => {
    const model = new Gpt2(GPT2);
    expect(() => model.forward(batch, { cache: model.cache() })).toThrow(ShapeError);
    const cache = model.cache(3);
    model.forward([1, 2], { cache });
    expect(() => model.forward([1, 2], { cache })).toThrow(/2 tokens after 2; the capacity is 3/);
  });

  test("an untied output matrix has its own parameter", () => {
    const model = new Gpt2({ ...GPT2, tie_word_embeddings: false });
    expect(model.parameters().get("lm_head.weight")?.shape).toEqual([11, 8]);
    expect(new Gpt2(GPT2).parameters().has("lm_head.weight")).toBe(false);
  });
});

describe("BERT", () => {
  test("every token depends on every other, and on its type", () => {
    const model = new Bert(BERT, { dtype: "float64" });
    const first = (ids: number[], typeIds?: number[]) =>
      model.forward(ids, { typeIds }).toFloat64().slice(0, 11);
    expect(distance(first([1, 2, 3]), first([1, 2, 4]))).toBeGreaterThan(0.01);
    expect(distance(first([1, 2, 3]), first([1, 2, 3], [0, 1, 1]))).toBeGreaterThan(0.01);
  });

  test("masked padding changes nothing", () => {
    const model = new Bert(BERT, { dtype: "float64" });
    const short = model.forward([1, 2, 3]).toFloat64();
    const ids = new Tensor(Int32Array.of(1, 2, 3, 0, 0, 4, 5, 6, 7, 8), [2, 5], "int32");
    const keyMask = new Tensor(Uint8Array.of(1, 1, 1, 0, 0, 1, 1, 1, 1, 1), [2, 5], "bool");
    expect(distance(model.forward(ids, { keyMask }).toFloat64().slice(0, 33), short)).toBeLessThan(1e-12);
    const row = new Tensor(Uint8Array.of(1, 1, 1, 0), [4], "bool");
    expect(
      distance(model.forward([1, 2, 3, 0], { keyMask: row }).toFloat64().slice(0, 33), short),
    ).toBeLessThan(1e-12);
    expect(() => model.forward(ids, { keyMask: row })).toThrow(/keyMask must be \[2, 5\] bool/);
  });

  test("without its head it has states and no logits", () => {
    const model = new Bert(BERT, { hasHead: false });
    expect(model.hidden([1, 2]).shape).toEqual([2, 8]);
    expect(() => model.forward([1, 2])).toThrow(UnsupportedError);
  });

  test("the row of the padding token is initialized to zeros", () => {
    const table = new Bert({ ...BERT, pad_token_id: 2 })
      .parameters()
      .get("bert.embeddings.word_embeddings.weight");
    const rows = Array.from({ length: 11 }, (_, id) =>
      Math.hypot(...table!.toFloat64().slice(8 * id, 8 * id + 8)),
    );
    expect(rows.map((length, id) => (length === 0 ? id : -1)).filter((id) => id >= 0)).toEqual([2]);
  });
});

describe("configs", () => {
  const read = (fields: object) => readConfig(new TextEncoder().encode(JSON.stringify(fields)));

  test("a config.json is read with its type; nulls are defaults", () => {
    expect(read({ model_type: "gpt2", ...GPT2, n_inner: null, other: { deep: [1.5] } })).toEqual({
      type: "gpt2",
      config: GPT2,
    });
    expect(read({ model_type: "bert", ...BERT, architectures: ["BertModel"] })).toEqual({
      type: "bert",
      config: BERT,
    });
  });

  test.each([
    ["n_embd", { n_embd: undefined }, FormatError],
    ["n_layer", { n_layer: 1e9 }, FormatError],
    ["n_layer", { n_layer: 0 }, FormatError],
    ["n_embd", { n_embd: 8.5 }, FormatError],
    ["vocab_size", { vocab_size: 2 ** 40 }, FormatError],
    ["n_head", { n_head: 3 }, FormatError],
    ["resid_pdrop", { resid_pdrop: 1 }, FormatError],
    ["swiglu", { activation_function: "swiglu" }, UnsupportedError],
    ["heed capture --python", { model_type: "whisper" }, UnsupportedError],
    ["model_type", { model_type: 7 }, UnsupportedError],
    ["add_cross_attention", { add_cross_attention: true }, UnsupportedError],
    ["scale_attn_by_inverse_layer_idx", { scale_attn_by_inverse_layer_idx: true }, UnsupportedError],
    [
      "GPTQ, 4 bits; heed reads",
      { quantization_config: { quant_method: "gptq", bits: 4 } },
      UnsupportedError,
    ],
    ["AWQ, 4 bits; heed reads", { quantization_config: { quant_method: "awq", bits: 4 } }, UnsupportedError],
    ["bitsandbytes, 4 bits.*dequantize", { quantization_config: { load_in_4bit: true } }, UnsupportedError],
    [
      "fp8 in blocks; .*FineGrainedFP8Config",
      { quantization_config: { quant_method: "fp8" } },
      UnsupportedError,
    ],
    ["weights are newq; heed", { quantization_config: { quant_method: "newq" } }, UnsupportedError],
  ])("%s: %j is refused", (name, over, kind) => {
    const fields = { model_type: "gpt2", ...GPT2, ...over };
    expect(() => read(fields)).toThrow(kind);
    expect(() => read(fields)).toThrow(new RegExp(name));
  });

  test("a BERT whose output matrix is not its embedding has a parameter for it", () => {
    const { config } = read({ model_type: "bert", ...BERT, tie_word_embeddings: false });
    const name = "cls.predictions.decoder.weight";
    expect(new Bert(config as typeof BERT).parameters().has(name)).toBe(true);
    expect(new Bert(BERT).parameters().has(name)).toBe(false);
  });

  test.each([
    ["num_key_value_heads", { num_key_value_heads: 3 }, FormatError],
    ["head_dim", { head_dim: 5 }, FormatError],
    ["hidden_size", { hidden_size: 1e12 }, FormatError],
    ["rope_type", { rope_scaling: { rope_type: "mrope" } }, UnsupportedError],
    ["low_freq_factor", { rope_scaling: { rope_type: "llama3", factor: 8 } }, FormatError],
    [
      "short_factor",
      { rope_parameters: { rope_type: "longrope", original_max_position_embeddings: 8 } },
      FormatError,
    ],
    ["layer_types", { layer_types: ["linear_attention", "full_attention"] }, UnsupportedError],
    ["layer_types", { layer_types: ["full_attention"] }, FormatError],
    ["rope_theta", { rope_theta: 0 }, FormatError],
    // Llama's published code rotates all of a head, whatever the field says.
    ["partial_rotary_factor", { partial_rotary_factor: 0.5 }, UnsupportedError],
    ["eos_token_id", { eos_token_id: [2, "x"] }, FormatError],
  ])("a decoder's %s: %j is refused", (name, over, kind) => {
    const fields = {
      model_type: "llama",
      vocab_size: 11,
      hidden_size: 8,
      intermediate_size: 6,
      num_hidden_layers: 2,
      num_attention_heads: 2,
      max_position_embeddings: 16,
    };
    expect(read(fields).type).toBe("decoder");
    expect(() => read({ ...fields, ...over })).toThrow(kind);
    expect(() => read({ ...fields, ...over })).toThrow(new RegExp(name));
  });

  test("a model is planned before it is allocated", () => {
    const moon = { ...GPT2, vocab_size: 2 ** 22, n_embd: 2 ** 17, n_head: 2 };
    expect(() => new Gpt2(moon)).toThrow(/in float32\): \d+ bytes in memory; the limit is 4294967296/);
    expect(() => new Bert({ ...BERT, num_hidden_layers: 0 })).toThrow(FormatError);
  });
});

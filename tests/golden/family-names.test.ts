/** The same checkpoints under the names that other files give their parts: base models, models beside pictures, aliases. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Tensor, tensor } from "heed";
import { readSafetensors, writeSafetensors } from "heed/io";
import { layerWeights, modelFromFiles } from "heed/models";
import { storeFromModel } from "heed/view";
import { describe, expect, test } from "vitest";
import { readTensors } from "../support/shared.ts";
import { carrierTokenizer } from "./carrier.ts";

const root = join(import.meta.dirname, "models");

/** A golden family with another config and other names of tensors; undefined leaves a tensor out. */
async function renamed(
  family: string,
  config: (fields: Record<string, unknown>) => Record<string, unknown>,
  name: (name: string) => string | undefined,
  more: Record<string, Tensor> = {},
) {
  const fields = config(JSON.parse(readFileSync(join(root, family, "config.json"), "utf8")));
  const { tensors } = readSafetensors(readFileSync(join(root, family, "model.safetensors")));
  const other = new Map(Object.entries(more));
  for (const [originalName, t] of tensors as Map<string, Tensor>) {
    const wanted = name(originalName);
    if (wanted !== undefined) other.set(wanted, t);
  }
  const model = await modelFromFiles(
    new Map([
      ["config.json", new TextEncoder().encode(JSON.stringify(fields))],
      ["model.safetensors", writeSafetensors(other)],
      ["tokenizer.json", carrierTokenizer()],
    ]),
    { dtype: "float64" },
  );
  const golden = readTensors(join(root, family, "golden.safetensors"));
  const ids = Int32Array.from((golden.get("ids.0") as Tensor).toFloat64());
  const want = (what: string) => (golden.get(`${what}.0`) as Tensor).toFloat64();
  return { model, ids, want, distance };
}

const distance = (a: Float64Array, b: Float64Array) => Math.max(...a.map((x, i) => Math.abs(x - b[i])));

const same = (fields: Record<string, unknown>) => fields;

describe("other names of the same parts", () => {
  test.each([
    ["language_model.model.", "language_model.lm_head."],
    ["model.language_model.", "lm_head."],
  ])("Gemma 3 beside a part that reads pictures: %s", async (prefix) => {
    const { model, ids, want, distance } = await renamed(
      "gemma3",
      ({ model_type, ...text }) => ({
        model_type: "gemma3",
        text_config: { ...text, model_type },
        vision_config: {},
      }),
      (name) => name.replace(/^model\./, prefix),
      { "vision_tower.patch.weight": tensor(new Float32Array(4), [2, 2]) },
    );
    expect(model.model.type).toBe("gemma3_text");
    expect(model.notes.map(({ code }) => code)).toEqual(["task-head"]);
    expect(distance(model.model.forward(ids).toFloat64(), want("logits"))).toBeLessThan(1e-11);
  });

  test("Gemma 4 beside its other parts, with the keys that its last layers do not read", async () => {
    const { model, ids, want, distance } = await renamed(
      "gemma4",
      ({ model_type, ...text }) => ({
        model_type: "gemma4",
        text_config: { ...text, model_type },
        vision_config: {},
      }),
      (name) => name.replace(/^model\./, "model.language_model."),
      {
        "model.language_model.layers.4.self_attn.k_proj.weight": tensor(new Float32Array(4), [2, 2]),
        "model.embed_vision.weight": tensor(new Float32Array(4), [2, 2]),
      },
    );
    expect(model.notes.map(({ code }) => code)).toEqual(["task-head"]);
    expect(distance(model.model.forward(ids).toFloat64(), want("logits"))).toBeLessThan(1e-11);
  });

  test("layers of Gemma 4 with fewer key heads are stored beside the others, with the same weights", async () => {
    const { model } = await renamed("gemma4-global", same, (name) => name);
    const weights: Float64Array[] = [];
    const shown = model.attention("a b c");
    model.model.hidden(Int32Array.from(shown.ids), {
      onAttention: (_, layer) => void weights.push(layerWeights(layer).toFloat64()),
    });
    expect(storeFromModel(shown).blocks[0].layers).toHaveLength(3);
    shown.layers.forEach((layer, n) => {
      expect(distance(layerWeights(layer).toFloat64(), weights[n])).toBeLessThan(1e-15);
    });
  });

  test.each([
    ["enable_moe_block", true],
    ["use_bidirectional_attention", "all"],
  ])("Gemma 4 with %s is refused by name, inside a text_config too", async (field, value) => {
    const change = (fields: Record<string, unknown>) => ({ ...fields, [field]: value });
    const inside = ({ model_type, ...text }: Record<string, unknown>) => ({
      model_type: "gemma4",
      text_config: change({ ...text, model_type }),
    });
    for (const config of [change, inside])
      await expect(renamed("gemma4", config, (name) => name)).rejects.toThrow(
        new RegExp(`${field} must be false or null`),
      );
  });

  test("XLM-RoBERTa is a RoBERTa", async () => {
    const { model, ids, want, distance } = await renamed(
      "roberta",
      (fields) => ({ ...fields, model_type: "xlm-roberta" }),
      (name) => name,
    );
    expect(distance(model.model.forward(ids).toFloat64(), want("logits"))).toBeLessThan(1e-11);
  });

  test("a BLOOM by the slow path, which leaves out biases, is refused", () =>
    expect(
      renamed(
        "bloom",
        (it) => ({ ...it, slow_but_exact: true }),
        (name) => name,
      ),
    ).rejects.toThrow(/slow_but_exact must be false/));

  test("a BLOOM in the names of its published files", async () => {
    const { model, ids, want, distance } = await renamed(
      "bloom",
      ({ hidden_size, n_head, ...fields }) => ({
        ...fields,
        n_embed: hidden_size,
        num_attention_heads: n_head,
      }),
      (name) => name.replace(/^transformer\./, ""),
    );
    expect(distance(model.model.forward(ids).toFloat64(), want("logits"))).toBeLessThan(1e-11);
  });

  test("a Pythia in the names of transformers 4, with the masks of its first files", async () => {
    const { model, ids, want, distance } = await renamed(
      "gpt_neox",
      ({ rope_parameters: _, ...fields }) => ({ ...fields, rotary_pct: 0.5, rotary_emb_base: 100 }),
      (name) => name,
      {
        "gpt_neox.layers.0.attention.bias": tensor(new Float32Array(16), [1, 1, 4, 4]),
        "gpt_neox.layers.0.attention.masked_bias": tensor(new Float32Array(1), [1]),
        "gpt_neox.layers.1.attention.rotary_emb.inv_freq": tensor(new Float32Array(1), [1]),
      },
    );
    expect(distance(model.model.forward(ids).toFloat64(), want("logits"))).toBeLessThan(1e-11);
  });

  test.each([
    ["llama2", "model."],
    ["roberta", "roberta."],
    ["distilbert", "distilbert."],
    ["electra", "electra."],
    ["mpnet", "mpnet."],
  ])("%s without its head and prefix gives states", async (family, prefix) => {
    const { model, ids, want, distance } = await renamed(family, same, (name) =>
      name.startsWith(prefix) ? name.slice(prefix.length) : undefined,
    );
    expect(model.model.hasHead).toBe(false);
    const states = want("hidden");
    const last = states.subarray(states.length - ids.length * model.model.sizes.width);
    expect(distance(model.model.hidden(ids).toFloat64(), last)).toBeLessThan(1e-11);
    expect(() => model.model.forward(ids)).toThrow(/no (head|output matrix)/);
  });

  test("an ELECTRA discriminator: its head is ignored with a note", async () => {
    const { model } = await renamed(
      "electra",
      same,
      (name) => (name.startsWith("generator_") ? undefined : name),
      { "discriminator_predictions.dense.weight": tensor(new Float32Array(144), [12, 12]) },
    );
    expect(model.model.hasHead).toBe(false);
    expect(model.notes[0].text).toContain("discriminator_predictions.dense.weight");
  });
});

test("a BigBird refuses texts that would have random blocks, with the number of tokens that it reads", async () => {
  const { model } = await renamed("big_bird", same, (name) => name);
  // (5 + 2·3)·2 tokens have no random block; the table has 24 positions.
  expect(model.model.forward(new Int32Array(22).fill(5)).shape).toEqual([22, 40]);
  expect(() => model.model.forward(new Int32Array(23).fill(5))).toThrow(
    /big_bird: 23 tokens; the model has 22 positions/,
  );
  const full = await renamed(
    "big_bird",
    (fields) => ({ ...fields, attention_type: "original_full" }),
    (name) => name,
  );
  expect(full.model.model.forward(new Int32Array(24).fill(5)).shape).toEqual([24, 40]);
});

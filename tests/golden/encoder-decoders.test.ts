/**
 * Every family of encoder–decoders against transformers in float64: states and attention of both parts, logits, and generated
 * texts. A folder in tests/golden/encoder-decoders adds a test (models/README.md).
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { attentionWeights, type Tensor, tensor } from "heed";
import { readSafetensors, writeSafetensors } from "heed/io";
import type { EncoderDecoder, LayerAttention, TargetOptions } from "heed/models";
import { generateTarget, modelFromFiles, modelToFiles } from "heed/models";
import { describe, expect, test } from "vitest";
import { readTensors, worst, worstShare } from "../support/shared.ts";
import { carrierTokenizer } from "./carrier.ts";

const root = join(import.meta.dirname, "encoder-decoders");
const families = readdirSync(root);

const filesOf = (family: string) =>
  new Map<string, Uint8Array>([
    ["config.json", readFileSync(join(root, family, "config.json"))],
    ["model.safetensors", readFileSync(join(root, family, "model.safetensors"))],
    ["tokenizer.json", carrierTokenizer()],
  ]);

const open = async (family: string, dtype: "float32" | "float64" = "float32") => {
  const { model, tokenizer } = await modelFromFiles(filesOf(family), { dtype, family: "encoder-decoder" });
  return { model, tokenizer };
};

/** Options of make.py's GENERATED. */
const GENERATED: Readonly<Record<string, TargetOptions>> = {
  greedy: { maxTokens: 11 },
  beam: { maxTokens: 11, beams: 3 },
  penalized: { maxTokens: 9, beams: 4, lengthPenalty: 2, earlyStopping: true, noRepeat: 2, minTokens: 4 },
};

/** Within `tolerance`; one above 1e-6 is a share of 1 + |want|. */
function expectClose(got: ArrayLike<number>, want: ArrayLike<number>, tolerance: number, what: string) {
  expect((tolerance > 1e-6 ? worstShare : worst)(got, want), what).toBeLessThan(tolerance);
}

const int32 = (t: Tensor) => tensor(Int32Array.from(t.toFloat64()), t.shape, "int32");
const flat = (list: readonly Float64Array[]) => list.flatMap((one) => [...one]);
const weightsOf = (list: readonly LayerAttention[]) =>
  flat(list.map(({ query, key, lse, options }) => attentionWeights(query, key, lse, options).toFloat64()));

test("there is a folder for every family", () => expect(families.length).toBe(8));

describe.each(families)("%s", (family) => {
  const golden = readTensors(join(root, family, "golden.safetensors"));
  const get = (name: string) => (golden.get(name) as Tensor).toFloat64();

  test.each([
    ["float32", 0, 2e-5],
    ["float64", 0, 1e-11],
    ["float64", 1, 1e-11],
  ] as const)(
    "%s, input %i: states, attention of encoder, decoder and cross, logits within %f",
    async (dtype, n, tolerance) => {
      const { model } = await open(family, dtype);
      const heads: Record<string, LayerAttention[]> = { encoder: [], self: [], cross: [] };
      const states: Record<string, Float64Array[]> = { encoder: [], decoder: [] };
      const memory = model.encode(int32(golden.get(`ids.${n}`) as Tensor), {
        onAttention: (_, it) => void heads.encoder.push(it),
        onHidden: (_, x) => void states.encoder.push(x.toFloat64()),
      });
      const hidden = model.hidden(int32(golden.get(`target.${n}`) as Tensor), {
        memory,
        onAttention: (_, it) => void heads[it.kind ?? "self"].push(it),
        onHidden: (_, x) => void states.decoder.push(x.toFloat64()),
      });
      states.encoder[states.encoder.length - 1] = memory.toFloat64();
      states.decoder[states.decoder.length - 1] = hidden.toFloat64();
      expectClose(flat(states.encoder), get(`hidden.${n}`), tolerance, "encoder's states");
      expectClose(flat(states.decoder), get(`decoder-hidden.${n}`), tolerance, "decoder's states");
      expectClose(weightsOf(heads.encoder), get(`attention.${n}`), tolerance, "encoder's attention");
      expectClose(weightsOf(heads.self), get(`decoder-attention.${n}`), tolerance, "decoder's attention");
      expectClose(weightsOf(heads.cross), get(`cross.${n}`), tolerance, "cross-attention");
      expectClose(model.logits(hidden).toFloat64(), get(`logits.${n}`), tolerance, "logits");
    },
  );

  test.each(Object.keys(GENERATED))("%s: the text that transformers generates", async (name) => {
    const { model } = await open(family, "float64");
    const options = GENERATED[name];
    const [, ...want] = get(`${name}.0`);
    while (want.length > 0 && model.endIds.includes(want[want.length - 1])) want.pop();
    expect(generateTarget(model, get("ids.0"), options)).toEqual(want);
  });

  test("a decoder that reads token by token out of its cache gives the same logits", async () => {
    const { model } = await open(family);
    const [memory, cache] = [
      model.encode(int32(golden.get("ids.0") as Tensor).reshape([-1])),
      model.cache(8),
    ];
    const target = get("target.0");
    const rows = [...target].flatMap((id) => [
      ...model.forward(Int32Array.of(id), { memory, cache }).toFloat64(),
    ]);
    expectClose(rows, get("logits.0"), 2e-5, "logits");
  });

  test("a model that is written and read again gives the same logits", async () => {
    const { model, tokenizer } = await open(family);
    const again = await modelFromFiles(modelToFiles(model, tokenizer, { dtype: "float32" }), {
      family: "encoder-decoder",
    });
    const logits = (it: EncoderDecoder) => it.forward([3, 7], { memory: it.encode([5, 6, 8]) }).toFloat64();
    expect(logits(again.model)).toEqual(logits(model));
  });
});

const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

test("a T5 whose config says that its outputs are not scaled, as transformers 5 writes it, has the logits of its golden", async () => {
  const golden = readTensors(join(root, "flan-t5", "golden.safetensors"));
  const files = filesOf("flan-t5");
  const config = JSON.parse(new TextDecoder().decode(files.get("config.json")));
  files.set("config.json", json({ ...config, tie_word_embeddings: true, scale_decoder_outputs: false }));
  const { model } = await modelFromFiles(files, { family: "encoder-decoder" });
  const memory = model.encode(int32(golden.get("ids.0") as Tensor));
  const logits = model.forward(int32(golden.get("target.0") as Tensor), { memory }).toFloat64();
  expectClose(logits, (golden.get("logits.0") as Tensor).toFloat64(), 2e-5, "logits");
});

test("a file with positions that are not the computed ones is refused", async () => {
  const files = filesOf("pegasus");
  const { d_model: C } = JSON.parse(new TextDecoder().decode(files.get("config.json")));
  const numbers = (change: number) =>
    Float32Array.from({ length: 4 * C }, (_, i) => {
      const [n, column] = [Math.floor(i / C), i % C];
      const angle = n * 10_000 ** (-(column % (C / 2)) / (C / 2));
      return (column < C / 2 ? Math.sin(angle) : Math.cos(angle)) + (n === 2 ? change : 0);
    });
  const tensors = readSafetensors(files.get("model.safetensors") as Uint8Array).tensors;
  const withTable = (change: number) =>
    modelFromFiles(
      new Map(files).set(
        "model.safetensors",
        writeSafetensors(
          new Map([
            ...tensors,
            ["model.encoder.embed_positions.weight", tensor(numbers(change), [4, C], "float32")],
          ]),
        ),
      ),
    );
  expect((await withTable(0)).model.type).toBe("pegasus");
  await expect(withTable(0.1)).rejects.toThrow(/embed_positions.weight: row 2 is not the sines/);
});

test("generation_config.json takes precedence over config.json in the ids that begin and end a text", async () => {
  const files = filesOf("bart").set(
    "generation_config.json",
    json({
      eos_token_id: [7, 8],
      decoder_start_token_id: 5,
      forced_bos_token_id: null,
      bad_words_ids: [[9]],
    }),
  );
  const { model } = await modelFromFiles(files, { family: "encoder-decoder" });
  expect(model.endIds).toEqual([7, 8]);
  expect(model.config).toMatchObject({
    decoder_start_token_id: 5,
    forced_bos_token_id: 0,
    suppressed_ids: [9],
  });
  const again = modelToFiles(model, (await open("bart")).tokenizer);
  expect((await modelFromFiles(again)).model.endIds).toEqual([7, 8]);
  await expect(modelFromFiles(filesOf("bart").set("generation_config.json", json([1])))).rejects.toThrow(
    "generation_config.json: expected a JSON object",
  );
  await expect(
    modelFromFiles(filesOf("bart").set("generation_config.json", json({ eos_token_id: "end" }))),
  ).rejects.toThrow("eos_token_id must be an integer ≥ 0");
});

test("a file without final_logits_bias has logits without a bias", async () => {
  const files = filesOf("bart");
  const { tensors } = readSafetensors(files.get("model.safetensors") as Uint8Array);
  const bias = (tensors.get("final_logits_bias")!.data as Float32Array).slice();
  const few = new Map([...tensors].filter(([name]) => name !== "final_logits_bias"));
  files.set("model.safetensors", writeSafetensors(few as never));
  const { model } = await modelFromFiles(files, { dtype: "float64", family: "encoder-decoder" });
  const complete = (await open("bart", "float64")).model;
  const logitsOf = (one: EncoderDecoder) =>
    one.forward([2, 5], { memory: one.encode([5, 6, 7]) }).toFloat64();
  const [without, withBias] = [logitsOf(model), logitsOf(complete)];
  expectClose(
    withBias,
    without.map((x, i) => x + bias[i % bias.length]),
    1e-12,
    "logits",
  );
});

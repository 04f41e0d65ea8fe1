import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FormatError, HeedError, OptionError, type Tensor, tensor, UnsupportedError } from "heed";
import { readSafetensors, writeSafetensors } from "heed/io";
import {
  Bert,
  Decoder,
  Gpt2,
  locateShipped,
  modelFromFiles,
  modelToFiles,
  readConfig,
  readModel,
  trainTokenizer,
  writeModel,
} from "heed/models";
import { afterAll, describe, expect, test } from "vitest";

const root = mkdtempSync(join(tmpdir(), "heed-models-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const text = "the cat sat on the mat, the cat sat\n".repeat(4);
const bpe = trainTokenizer([text], { kind: "bpe", vocabSize: 262 });
const wordPiece = trainTokenizer([text], { kind: "wordpiece", vocabSize: 40 });
const gpt2 = new Gpt2({
  vocab_size: 262,
  n_positions: 16,
  n_embd: 8,
  n_layer: 2,
  n_head: 2,
  eos_token_id: 0,
});
const bert = new Bert({
  vocab_size: wordPiece.size,
  hidden_size: 8,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  intermediate_size: 12,
  max_position_embeddings: 16,
});
const BOTH = [
  ["gpt2", gpt2, bpe],
  ["bert", bert, wordPiece],
] as const;

/** The files of a model, the weights after a change to their tensors. */
function changed(model: Gpt2 | Bert, change: (tensors: Map<string, Tensor>) => void) {
  const files = modelToFiles(model, model === gpt2 ? bpe : wordPiece, { dtype: "float32" });
  const tensors = readSafetensors(files.get("model.safetensors") as Uint8Array).tensors as Map<
    string,
    Tensor
  >;
  change(tensors);
  return new Map([...files, ["model.safetensors", writeSafetensors(tensors)]]);
}

describe.each(BOTH)("%s", (name, model, tokenizer) => {
  test("a folder holds the four files, and reads as the same model", async () => {
    const folder = join(root, "written", name);
    await writeModel(folder, model, tokenizer, { dtype: "float32" });
    expect(readdirSync(folder).sort()).toEqual([
      "config.json",
      "model.safetensors",
      "tokenizer.json",
      "tokenizer_config.json",
    ]);
    // Without these names, transformers' tokenizer returns no token types, and the second of two texts would have type 0.
    const inputs = JSON.parse(readFileSync(join(folder, "tokenizer_config.json"), "utf8")).model_input_names;
    expect(inputs).toEqual(name === "bert" ? ["input_ids", "token_type_ids", "attention_mask"] : undefined);
    const read = await readModel(folder);
    expect(read.name).toBe(name);
    expect(read.architecture).toBe(name === "bert" ? "encoder" : "decoder");
    expect([read.layers, read.heads, read.maxTokens]).toEqual([2, 2, 16]);
    expect(read.tokenizer.spec).toEqual(tokenizer.spec);
    expect(read.model.config).toMatchObject(model.config);
    expect(read.model.forward([1, 2, 3])).toEqual(model.forward([1, 2, 3]));
  });

  test("16 bits are widened: every weight within half a unit of its last place", async () => {
    for (const [dtype, bits] of [
      ["float16", 11],
      ["bfloat16", 8],
    ] as const) {
      const read = await modelFromFiles(modelToFiles(model, tokenizer, { dtype }));
      for (const [key, tensor] of model.parameters()) {
        const got = (read.model.parameters().get(key) as Tensor).toFloat64();
        tensor
          .toFloat64()
          .forEach((x, i) =>
            expect(Math.abs(got[i] - x)).toBeLessThanOrEqual(Math.abs(x) * 2 ** -bits + 2 ** -25),
          );
      }
    }
  });

  test("float64 computes in float64", async () => {
    const read = await modelFromFiles(modelToFiles(model, tokenizer), { dtype: "float64", name: "mine" });
    expect(read.name).toBe("mine");
    expect(read.model.forward([1, 2]).dtype).toBe("float64");
  });

  test("training a model leaves the bytes it was read from as they are", async () => {
    const files = modelToFiles(model, tokenizer, { dtype: "float32" });
    const before = (files.get("model.safetensors") as Uint8Array).slice();
    const read = await modelFromFiles(files);
    for (const parameter of read.model.parameters().values()) parameter.data.fill(7);
    expect(files.get("model.safetensors")).toEqual(before);
  });

  test("shards and their index read as one file does", async () => {
    const files = modelToFiles(model, tokenizer, { dtype: "float32" });
    const tensors = [...readSafetensors(files.get("model.safetensors") as Uint8Array).tensors];
    const half = tensors.length >> 1;
    const shards = new Map([
      ["model-00001-of-00002.safetensors", new Map(tensors.slice(0, half))],
      ["model-00002-of-00002.safetensors", new Map(tensors.slice(half))],
    ]);
    const map = Object.fromEntries(
      [...shards].flatMap(([file, part]) => [...part.keys()].map((key) => [key, file])),
    );
    files.delete("model.safetensors");
    files.set(
      "model.safetensors.index.json",
      new TextEncoder().encode(JSON.stringify({ metadata: { total_size: 1 }, weight_map: map })),
    );
    for (const [file, part] of shards) files.set(file, writeSafetensors(part));
    expect((await modelFromFiles(files)).model.forward([1, 2])).toEqual(model.forward([1, 2]));
    const folder = join(root, "shards", name);
    mkdirSync(folder, { recursive: true });
    for (const [file, bytes] of files) writeFileSync(join(folder, file), bytes);
    expect((await readModel(folder)).model.forward([1, 2])).toEqual(model.forward([1, 2]));
  });
});

describe("names of other versions", () => {
  test("GPT-2 without its prefix, with stored masks and a second copy of the tied embedding", async () => {
    const files = changed(gpt2, (tensors) => {
      for (const [name, t] of [...tensors]) {
        tensors.delete(name);
        tensors.set(name.replace("transformer.", ""), t);
      }
      tensors.set("h.0.attn.bias", tensor(new Float32Array(16), [1, 1, 4, 4]));
      tensors.set("h.1.attn.masked_bias", tensor(new Float32Array(1), [1]));
      tensors.set("lm_head.weight", tensors.get("wte.weight") as Tensor);
    });
    expect((await modelFromFiles(files)).model.forward([1, 2])).toEqual(gpt2.forward([1, 2]));
  });

  test("BERT with gamma and beta, pooler, next-sentence head and a tied decoder", async () => {
    const files = changed(bert, (tensors) => {
      for (const [name, t] of [...tensors]) {
        tensors.delete(name);
        tensors.set(
          name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"),
          t,
        );
      }
      tensors.set("bert.pooler.dense.weight", tensor(new Float32Array(64), [8, 8]));
      tensors.set("cls.seq_relationship.bias", tensor(new Float32Array(2), [2]));
      tensors.set(
        "cls.predictions.decoder.weight",
        tensors.get("bert.embeddings.word_embeddings.weight") as Tensor,
      );
      tensors.set("bert.embeddings.position_ids", tensor(BigInt64Array.of(0n, 1n), [1, 2], "int64"));
    });
    expect((await modelFromFiles(files)).model.forward([1, 2])).toEqual(bert.forward([1, 2]));
  });

  test("BERT without head and prefix gives states and attention", async () => {
    const files = changed(bert, (tensors) => {
      for (const [name, t] of [...tensors]) {
        tensors.delete(name);
        if (name.startsWith("bert.")) tensors.set(name.replace("bert.", ""), t);
      }
    });
    const { model, attention } = await modelFromFiles(files);
    expect((model as Bert).hasHead).toBe(false);
    expect(model.hidden([1, 2])).toEqual(bert.hidden([1, 2]));
    expect(attention("the cat").layers.length).toBe(2);
  });
});

describe("facts a user should know of a checkpoint are reported", () => {
  test("NaN and infinite weights, with the first tensor's name", async () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY]) {
      const files = changed(gpt2, (tensors) => {
        for (const name of ["transformer.h.1.ln_1.bias", "transformer.ln_f.weight"]) {
          const { data, shape } = tensors.get(name) as Tensor;
          const copy = Float32Array.from(data as Float32Array);
          copy[5] = value;
          tensors.set(name, tensor(copy, shape));
        }
      });
      const { notes } = await modelFromFiles(files);
      expect(notes).toEqual([expect.objectContaining({ severity: "warning", code: "not-a-number" })]);
      expect(notes[0].text).toMatch(/first in transformer\.h\.1\.ln_1\.bias and in 1 more tensors/);
    }
    const half = modelToFiles(bert, wordPiece, { dtype: "float16" });
    expect((await modelFromFiles(half)).notes).toEqual([]);
    const bytes = half.get("model.safetensors") as Uint8Array;
    const { tensors } = readSafetensors(bytes);
    const name = "bert.encoder.layer.0.attention.self.query.weight";
    const bits = Uint16Array.from((tensors.get(name) as Tensor).data as Uint16Array);
    bits[0] = 0x7e00;
    const broken = new Map([...(tensors as Map<string, Tensor>)].map(([key, t]) => [key, t]));
    broken.set(name, tensor(bits, (tensors.get(name) as Tensor).shape, "float16"));
    half.set("model.safetensors", writeSafetensors(broken));
    expect((await modelFromFiles(half)).notes[0].text).toContain(`first in ${name};`);
  });

  test("heads for other tasks, which are ignored, with their names", async () => {
    const files = changed(bert, (tensors) => {
      tensors.set("classifier.weight", tensor(new Float32Array(16), [2, 8]));
      tensors.set("classifier.bias", tensor(new Float32Array(2), [2]));
    });
    const { model, notes } = await modelFromFiles(files);
    expect(model.forward([1, 2])).toEqual(bert.forward([1, 2]));
    expect(notes).toEqual([
      expect.objectContaining({
        severity: "note",
        code: "task-head",
        text: expect.stringContaining("classifier.bias"),
      }),
    ]);
    const score = changed(gpt2, (tensors) => {
      tensors.set("score.weight", tensor(new Float32Array(16), [2, 8]));
    });
    expect((await modelFromFiles(score)).notes[0].text).toContain("score.weight");
  });

  test("an output matrix that is not the embedding is used regardless of the config", async () => {
    const files = changed(gpt2, (tensors) => {
      const { data, shape } = tensors.get("transformer.wte.weight") as Tensor;
      const other = Float32Array.from(data as Float32Array, (x) => 2 * x);
      tensors.set("lm_head.weight", tensor(other, shape));
    });
    const { model, notes } = await modelFromFiles(files);
    const [twice, once] = [model, gpt2].map((it) => it.forward([1, 2]).toFloat64());
    twice.forEach((x, i) => expect(x).toBeCloseTo(2 * once[i], 4));
    expect(notes).toEqual([expect.objectContaining({ code: "output-matrix" })]);
  });

  test("16-bit weights stay 16-bit until training requests them", async () => {
    const { model } = await modelFromFiles(modelToFiles(gpt2, bpe, { dtype: "bfloat16" }));
    const before = model.forward([1, 2, 3]).toFloat64();
    const parameters = model.parameters();
    expect([...parameters.values()].every(({ dtype }) => dtype === "float32")).toBe(true);
    expect(model.forward([1, 2, 3]).toFloat64()).toEqual(before);
    // From here on the model computes with the very tensors that training updates.
    (parameters.get("transformer.ln_f.weight") as Tensor).data.fill(0 as never);
    (parameters.get("transformer.ln_f.bias") as Tensor).data.fill(0 as never);
    expect(Math.max(...model.forward([1, 2, 3]).toFloat64().map(Math.abs))).toBe(0);
  });
});

describe("what a user should know of a config", () => {
  const withConfig = (over: object) => {
    const files = new Map(modelToFiles(gpt2, bpe, { dtype: "float32" }));
    const fields = JSON.parse(new TextDecoder().decode(files.get("config.json")));
    return files.set("config.json", new TextEncoder().encode(JSON.stringify({ ...fields, ...over })));
  };

  test("code of its own is not run, and noted", async () => {
    const { notes, model } = await modelFromFiles(
      withConfig({ auto_map: { AutoModel: "modeling_x.Model" }, is_causal: false }),
    );
    expect(notes).toEqual([
      expect.objectContaining({
        code: "custom-code",
        text: expect.stringMatching(/auto_map.*is_causal: false/),
      }),
    ]);
    expect(model.forward([1, 2])).toEqual(gpt2.forward([1, 2]));
  });

  test("prefixes of DistributedDataParallel and torch.compile are stripped", async () => {
    for (const prefix of ["module.", "_orig_mod.", "module._orig_mod."]) {
      const files = changed(gpt2, (tensors) => {
        for (const [name, one] of [...tensors]) {
          tensors.delete(name);
          tensors.set(prefix + name, one);
        }
      });
      expect((await modelFromFiles(files)).model.forward([1, 2])).toEqual(gpt2.forward([1, 2]));
    }
  });

  test("a Mistral without sliding_window has the window of the published code; null is none", () => {
    const fields = {
      model_type: "mistral", vocab_size: 11, hidden_size: 8, intermediate_size: 6, num_hidden_layers: 1,
      num_attention_heads: 2, max_position_embeddings: 16,
    }; // biome-ignore format: one config
    const layersOf = (over: object) =>
      (
        readConfig(new TextEncoder().encode(JSON.stringify({ ...fields, ...over })))
          .config as Decoder["recipe"]
      ).layers;
    expect(layersOf({})[0].window).toBe(4096);
    expect(layersOf({ sliding_window: null })[0].window).toBeUndefined();
    expect(layersOf({ sliding_window: 5 })[0].window).toBe(5);
  });
});

describe("inconsistent files are refused", () => {
  test("missing, unexpected and misshapen tensors are in one error", async () => {
    const files = changed(gpt2, (tensors) => {
      tensors.delete("transformer.ln_f.bias");
      tensors.delete("transformer.h.1.ln_2.weight");
      tensors.set("transformer.h.2.ln_1.weight", tensor(new Float32Array(8), [8]));
      tensors.set("transformer.wpe.weight", tensor(new Float32Array(8), [1, 8]));
      tensors.set("transformer.h.0.ln_1.bias", tensor(new Int32Array(8), [8], "int32"));
    });
    const error = await modelFromFiles(files).catch((caught) => caught);
    expect(error).toBeInstanceOf(FormatError);
    expect(error.fields).toMatchObject({
      missing: ["transformer.h.1.ln_2.weight", "transformer.ln_f.bias"],
      unexpected: ["transformer.h.2.ln_1.weight"],
    });
    expect(error.fields.wrong.length).toBe(2);
    for (const part of ["ln_f.bias", "h.2.ln_1", "[1, 8] float32, expected [16, 8]", "int32"])
      expect(error.message).toContain(part);
  });

  test("a model beyond the limit, before its weights are read", async () => {
    await expect(modelFromFiles(modelToFiles(gpt2, bpe), { maxBytes: 1000 })).rejects.toThrow(
      /the limit is 1000/,
    );
  });

  test("a tokenizer with more ids than the model has rows", () => {
    expect(() => modelToFiles(gpt2, trainTokenizer([text], { kind: "bpe", vocabSize: 270 }))).toThrow(
      OptionError,
    );
  });

  test("a recipe that was not read from a config.json: the error says how to save the model", () => {
    const { source, ...recipe } = gpt2.recipe;
    const model = new Decoder({ ...recipe, model_type: "llama" });
    expect(() => modelToFiles(model, bpe)).toThrow(
      expect.objectContaining({
        code: "write",
        message: expect.stringMatching(
          /^writeModel: the config of this llama was not read.*writeSafetensors/,
        ),
      }),
    );
    const parameters = model.parameters();
    const { tensors } = readSafetensors(writeSafetensors(parameters));
    expect([...tensors.keys()].sort()).toEqual([...parameters.keys()].sort());
  });

  test("weights that float16 cannot hold, by name", () => {
    const model = new Gpt2(gpt2.config);
    (model.parameters().get("transformer.ln_f.bias") as Tensor).data[3] = 70_000;
    expect(() => modelToFiles(model, bpe)).toThrow(
      /transformer\.ln_f\.bias holds 70000, which float16 cannot keep/,
    );
    expect(() => modelToFiles(model, bpe, { dtype: "bfloat16" })).not.toThrow();
    (model.parameters().get("transformer.ln_f.bias") as Tensor).data[3] = Number.NaN;
    expect(() => modelToFiles(model, bpe, { dtype: "float32" })).toThrow(/NaN/);
  });

  test("a field of config.json that appears twice, as a field", async () => {
    const files = new Map([
      ["config.json", new TextEncoder().encode('{"model_type": "bert", "hidden_size": 8, "hidden_size": 4}')],
      ["model.safetensors", new Uint8Array()],
      ["tokenizer.json", new Uint8Array()],
    ]);
    await expect(modelFromFiles(files)).rejects.toThrow(
      'config.json: the key "hidden_size" appears twice (byte 41)',
    );
  });

  test("the file that is broken, by its path", async () => {
    const folder = join(root, "broken");
    const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n";
    const edit = (name: string, change: (bytes: Buffer) => string | Uint8Array) => async () => {
      rmSync(folder, { recursive: true, force: true });
      await writeModel(folder, bert, wordPiece);
      writeFileSync(join(folder, name), change(readFileSync(join(folder, name))));
    };
    const config = (field: string, value: unknown) =>
      edit("config.json", (bytes) => JSON.stringify({ ...JSON.parse(`${bytes}`), [field]: value }));
    const cases: readonly [() => Promise<void>, string, string][] = [
      [config("num_hidden_layers", "2"), "/config.json", "num_hidden_layers must be an integer"],
      [config("hidden_act", "gelo"), "/config.json", 'activation "gelo"'],
      [config("model_type", "brt"), "/config.json", 'model_type is "brt"'],
      [config("num_attention_heads", 3), "/config.json", "bert config: num_attention_heads 3"],
      [config("hidden_size", 4), "", "the weights are not those of this config.json"],
      [edit("tokenizer.json", () => "[]"), "/tokenizer.json", "expected a JSON object"],
      [edit("tokenizer.json", () => pointer), "/tokenizer.json", "a Git LFS pointer"],
      [edit("model.safetensors", () => pointer), "", "a Git LFS pointer"],
      [edit("model.safetensors", (bytes) => bytes.subarray(0, bytes.length - 9)), "", "tensor "],
    ];
    for (const [make, file, text] of cases) {
      await make();
      const error = await readModel(folder).catch((error) => error);
      expect(error).toBeInstanceOf(HeedError);
      expect(error.message.startsWith(`${folder}${file}: ${text}`), error.message).toBe(true);
    }
  });

  test("missing files and folders, by name", async () => {
    await expect(readModel(join(root, "nowhere"))).rejects.toThrow(/config\.json/);
    await expect(modelFromFiles(new Map())).rejects.toThrow(/config\.json is missing/);
    const files = modelToFiles(gpt2, bpe);
    files.delete("tokenizer.json");
    await expect(modelFromFiles(files)).rejects.toThrow(/tokenizer\.json is missing/);
    await expect(readModel(join(root, "nowhere"))).rejects.toBeInstanceOf(HeedError);
  });

  test("an index with a shard outside the folder", async () => {
    const files = modelToFiles(gpt2, bpe);
    const index = (file: string) =>
      new TextEncoder().encode(JSON.stringify({ weight_map: { "transformer.wte.weight": file } }));
    await expect(
      modelFromFiles(new Map([...files, ["model.safetensors.index.json", index("../secret")]])),
    ).rejects.toThrow(/not a plain file name/);
    const folder = join(root, "escape");
    await writeModel(folder, gpt2, bpe);
    writeFileSync(join(root, "outside.safetensors"), readFileSync(join(folder, "model.safetensors")));
    symlinkSync(join(root, "outside.safetensors"), join(folder, "shard.safetensors"));
    writeFileSync(join(folder, "model.safetensors.index.json"), index("shard.safetensors"));
    await expect(readModel(folder)).rejects.toThrow(/outside/);
  });

  test("a model that heed does not ship", () => {
    expect(() => locateShipped("other" as never)).toThrow(OptionError);
    // A clone may not have the models yet: then it is a typed error.
    for (const which of ["encoder", "decoder", "translator"] as const)
      try {
        expect(readdirSync(locateShipped(which))).toContain("config.json");
      } catch (error) {
        expect(error).toBeInstanceOf(UnsupportedError);
      }
  });
});

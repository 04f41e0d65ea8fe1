/** Files as people have them, against the libraries that made them (weights/make.py): checkpoints of PyTorch, GGUF, SentencePiece, LoRA. */
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FormatError, HeedError, type Tensor, tensor } from "heed";
import { openGguf, openTorch, type SafetensorsFile } from "heed/io";
import { locateShipped, modelFromFiles, modelToFiles, readModel } from "heed/models";
import { describe, expect, test } from "vitest";
import { readSentencePiece, sentencePieceJson } from "../../src/models/tokenizer/convert/sentencepiece.ts";
import { convertedTokenizer } from "../../src/models/tokenizer/file.ts";
import { readTensors, worst } from "../support/shared.ts";
import { carrierTokenizer } from "./carrier.ts";

const root = join(import.meta.dirname, "weights");
const path = (...names: string[]) => join(root, ...names);
const json = (...names: string[]) => JSON.parse(readFileSync(path(...names), "utf8"));

async function numbersOf(file: SafetensorsFile, name: string): Promise<number[]> {
  const { data } = await file.read(name);
  return Array.from(data as ArrayLike<number | bigint>, Number);
}

describe("a checkpoint of PyTorch", () => {
  const expected = readTensors(path("torch", "expected.safetensors"));

  test.each(["zip.bin", "stream.bin"])("%s: every tensor, views and 16 bits included", async (name) => {
    const file = await openTorch(path("torch", name));
    expect([...file.tensors.keys()].sort()).toEqual([...expected.keys()].sort());
    for (const [key, want] of expected) {
      const { shape, dtype } = file.tensors.get(key)!;
      expect([key, [...shape], dtype]).toEqual([key, [...want.shape], want.dtype]);
      expect(await numbersOf(file, key), key).toEqual(Array.from(want.data as Float32Array, Number));
    }
    await file.close();
  });

  test("rows of a dense tensor and of a view are those of all of it", async () => {
    const file = await openTorch(readFileSync(path("torch", "zip.bin")));
    for (const name of ["plain", "transposed", "part"]) {
      const width = file.tensors.get(name)!.shape[1];
      const all = await numbersOf(file, name);
      const { data, shape } = await file.read(name, { rows: [1, 2] });
      expect(shape).toEqual([1, width]);
      expect(Array.from(data as Float32Array)).toEqual(all.slice(width, 2 * width));
    }
  });

  test("the weights of a training checkpoint are found under their key", async () => {
    const file = await openTorch(path("torch", "training.bin"));
    expect([...file.tensors.keys()]).toEqual(["module.w"]);
    await file.close();
  });

  test.each([
    ["evil.bin", "posix.system"],
    ["module.bin", "torch.nn.modules.linear.Linear"],
  ])("%s calls a function, which is refused by its name", async (name, callee) => {
    const error = await openTorch(path("torch", name)).catch((error) => error);
    expect(error).toBeInstanceOf(FormatError);
    expect(error.code).toBe("pickle-code");
    expect(error.fields.name).toBe(callee);
    expect(error.message).toContain("heed runs no code of a file");
  });
});

describe("a BERT in the files of 2019", () => {
  test("pytorch_model.bin with the prefix of DDP, and vocab.txt", async () => {
    const { model, tokenizer, notes } = await readModel(path("bert-bin"), { dtype: "float64" });
    expect(notes).toEqual([]);
    const { ids, typeIds } = tokenizer.encode("the old ships", "a cafe");
    const want = readTensors(path("bert-bin", "expected.safetensors")).get("hidden") as Tensor;
    const hidden = model.hidden(ids, { typeIds } as never);
    expect(worst(hidden.toFloat64(), want.toFloat64())).toBeLessThan(1e-5);
    for (const [text, ids] of json("bert-bin", "expected.json"))
      expect([text, ...tokenizer.encode(text).ids]).toEqual([text, ...ids]);
  });

  test("written, it is a folder with model.safetensors and tokenizer.json that reads as the same model", async () => {
    const { model, tokenizer } = await readModel(path("bert-bin"));
    const again = await modelFromFiles(modelToFiles(model, tokenizer, { dtype: "float32" }));
    expect(again.model.hidden([5, 6]).toFloat64()).toEqual(model.hidden([5, 6]).toFloat64());
    expect(again.tokenizer.encode("the old ships").ids).toEqual(tokenizer.encode("the old ships").ids);
  });
});

describe("a SentencePiece model", () => {
  const expected: Record<string, [string, number[]][]> = json("sentencepiece", "expected.json");
  const modelOf = (name: string) => readSentencePiece(readFileSync(path("sentencepiece", `${name}.model`)));

  test.each(Object.keys(expected))("%s: the ids of the library", (name) => {
    const config = { add_bos_token: false };
    const tokenizer = convertedTokenizer(
      name,
      sentencePieceJson(modelOf(name), { modelType: "llama", config }),
    );
    for (const [text, ids] of expected[name])
      expect([text, ...tokenizer.encode(text).ids]).toEqual([text, ...ids]);
  });

  const families: Record<string, [string, number[]][]> = json("sentencepiece", "families.json");
  test.each(Object.keys(families))("%s: its order of ids and its special tokens", (name) => {
    const tokenizer = convertedTokenizer(name, sentencePieceJson(modelOf("unigram"), { modelType: name }));
    for (const [text, ids] of families[name])
      expect([text, ...tokenizer.encode(text).ids]).toEqual([text, ...ids]);
  });
});

describe("Marian's vocab.json", () => {
  const bytes = readFileSync(path("sentencepiece", "unigram.model"));
  const model = readSentencePiece(bytes);
  const { pieces } = model;
  const names = ["</s>", "<unk>", ">>deu<<", "▁Hund", ...pieces.slice(3).map(({ text }) => text), "<pad>"];
  const vocab = Object.fromEntries(names.map((name, id) => [name, id]));

  test("has the ids of the pieces of source.spm", () => {
    const ids = new Map(Object.entries(vocab));
    const tokenizer = convertedTokenizer("marian", sentencePieceJson(model, { modelType: "marian", ids }));
    const cases: [string, number[]][] = json("sentencepiece", "expected.json").unigram;
    for (const [text, ids] of cases) {
      const want = ids.map((id) => vocab[pieces[id].text]);
      expect([text, ...tokenizer.encode(text).ids]).toEqual([text, ...want, 0]);
    }
    expect(tokenizer.encode(">>deu<< a").ids[0]).toBe(2);
    expect(tokenizer.decode(Int32Array.of(3, 0))).toBe("Hund");
  });

  test("and source.spm are the tokenizer of a folder; wrong ids are refused", async () => {
    const open = (ids: object) => {
      const root = join(import.meta.dirname, "encoder-decoders", "marian");
      const files = ["config.json", "model.safetensors"].map((name): [string, Uint8Array] => [
        name,
        readFileSync(join(root, name)),
      ]);
      const list = new TextEncoder().encode(JSON.stringify(ids));
      return modelFromFiles(new Map([...files, ["source.spm", bytes], ["vocab.json", list]]));
    };
    const few = Object.fromEntries(names.slice(0, 40).map((name, id) => [name, id]));
    expect([...(await open(few)).tokenizer.encode(">>deu<<").ids]).toEqual([2, 0]);
    await expect(open({ ...few, "▁Hund": 2 })).rejects.toThrow(/each once/);
    await expect(open({ "</s>": 0 })).rejects.toThrow(/no <unk>/);
    await expect(open({ "</s>": "0" })).rejects.toThrow(/not an integer/);
  });
});

test("SentencePiece alone is refused where a family has other ids", async () => {
  const root = join(import.meta.dirname, "encoder-decoders", "pegasus");
  const files = new Map<string, Uint8Array>(
    ["config.json", "model.safetensors"].map((name) => [name, readFileSync(join(root, name))]),
  ).set("spiece.model", readFileSync(path("sentencepiece", "unigram.model")));
  await expect(modelFromFiles(files)).rejects.toThrow(/the ids of a pegasus are not those of its/);
});

test("a folder with an adapter alone finds its model by the path in it, or by `base`; a broken one is refused", async () => {
  const work = mkdtempSync(join(tmpdir(), "heed-lora-"));
  try {
    const [base, adapter] = [join(work, "base"), join(work, "adapter")];
    cpSync(path("lora", "base"), base, { recursive: true });
    cpSync(path("lora", "adapter"), adapter, { recursive: true });
    writeFileSync(join(base, "tokenizer.json"), carrierTokenizer());
    const settings = json("lora", "adapter", "adapter_config.json");
    const write = (over: object) =>
      writeFileSync(join(adapter, "adapter_config.json"), JSON.stringify({ ...settings, ...over }));
    write({ base_model_name_or_path: base });
    const ids = [5, 6, 7];
    const { model } = await readModel(adapter);
    write({ base_model_name_or_path: "org/none" });
    expect((await readModel(adapter, { base })).model.forward(ids)).toEqual(model.forward(ids));
    await expect(readModel(adapter)).rejects.toThrow(/org\/none/);
    for (const [over, words] of [
      [{ peft_type: "LOHA" }, /peft_type is "LOHA"; heed merges LORA.*merge_and_unload/],
      [{ use_dora: true }, /adapters with use_dora/],
      [{ r: 0 }, /r must be a number above 0/],
      [{ r: 7 }, /the rank of .* is 7, its matrices have 3/],
      [{ lora_alpha: "5" }, /lora_alpha must be a number/],
    ] as const) {
      write(over);
      await expect(readModel(adapter, { base })).rejects.toThrow(words);
      await expect(readModel(adapter, { base })).rejects.toBeInstanceOf(HeedError);
    }
  } finally {
    rmSync(work, { recursive: true });
  }
});

test("shards of PyTorch with their index read as one file does", async () => {
  const work = mkdtempSync(join(tmpdir(), "heed-bin-"));
  try {
    cpSync(path("bert-bin"), work, { recursive: true });
    renameSync(join(work, "pytorch_model.bin"), join(work, "pytorch_model-00001-of-00001.bin"));
    const file = await openTorch(join(work, "pytorch_model-00001-of-00001.bin"));
    const names = [...file.tensors.keys()];
    await file.close();
    const index = (shard: string, extra: string[] = []) =>
      writeFileSync(
        join(work, "pytorch_model.bin.index.json"),
        JSON.stringify({ weight_map: Object.fromEntries([...names, ...extra].map((name) => [name, shard])) }),
      );
    index("pytorch_model-00001-of-00001.bin");
    const [sharded, single] = [await readModel(work), await readModel(path("bert-bin"))];
    expect(sharded.model.hidden([5, 6])).toEqual(single.model.hidden([5, 6]));
    index("pytorch_model-00001-of-00001.bin", ["more"]);
    await expect(readModel(work)).rejects.toThrow(/the index names it, its shard does not hold it/);
    index("../secret.bin");
    await expect(readModel(work)).rejects.toThrow(/not a plain file name/);
  } finally {
    rmSync(work, { recursive: true });
  }
});

test("vocab.json with merges.txt is the tokenizer of the tokenizer.json that has the same parts", async () => {
  const { model, tokenizer } = await readModel(locateShipped("decoder"));
  const files = new Map<string, Uint8Array>(modelToFiles(model, tokenizer));
  const written = JSON.parse(new TextDecoder().decode(files.get("tokenizer.json")));
  files.delete("tokenizer.json");
  const text = (value: string) => new TextEncoder().encode(value);
  files.set("vocab.json", text(JSON.stringify(written.model.vocab)));
  files.set("merges.txt", text(`#version: 0.2\n${written.model.merges.join("\n")}\n`));
  const again = await modelFromFiles(files);
  for (const one of ["the old ship", " café 3", "日本", ""])
    expect([...again.tokenizer.encode(one).ids]).toEqual([...tokenizer.encode(one).ids]);
});

test("a LoRA adapter is merged: logits are those of PEFT", async () => {
  const bytes = (...names: string[]) => readFileSync(path("lora", ...names));
  const files = new Map<string, Uint8Array>([
    ["config.json", bytes("base", "config.json")],
    ["model.safetensors", bytes("base", "model.safetensors")],
    ["tokenizer.json", carrierTokenizer()],
    ["adapter_config.json", bytes("adapter", "adapter_config.json")],
    ["adapter_model.safetensors", bytes("adapter", "adapter_model.safetensors")],
  ]);
  const want = readTensors(path("lora", "expected.safetensors"));
  const { model, notes } = await modelFromFiles(files, { dtype: "float64" });
  expect(notes.map(({ code }) => code)).toEqual(["adapter"]);
  const ids = Int32Array.from((want.get("ids") as Tensor).toFloat64());
  const logits = (want.get("logits") as Tensor).toFloat64();
  expect(worst(model.forward(ids).toFloat64(), logits)).toBeLessThan(2e-5);
  files.delete("adapter_config.json");
  const plain = await modelFromFiles(files, { dtype: "float64" });
  expect(worst(plain.model.forward(ids).toFloat64(), logits)).toBeGreaterThan(0.01);
});

describe("a GGUF file", () => {
  test("every kind of block, bit for bit as the library unpacks it", async () => {
    const file = await openGguf(path("gguf", "blocks.gguf"));
    const expected = readTensors(path("gguf", "blocks.safetensors"));
    expect([...file.tensors.keys()].sort()).toEqual([...expected.keys()].sort());
    for (const [name, want] of expected) {
      const { data, shape, dtype } = await file.read(name);
      const got = tensor(data as never, shape, dtype as never).toFloat64();
      expect(got, name).toEqual(want.toFloat64());
      const rows = await file.read(name, { rows: [1, 3] });
      expect(tensor(rows.data as never, rows.shape, rows.dtype as never).toFloat64(), name).toEqual(
        want.toFloat64().slice(256),
      );
    }
    expect(file.storage("Q4_K")).toBe("Q4_K");
    expect(file.values.get("numbers")).toEqual([1, 2, 3]);
    expect(file.values.get("flag")).toBe(true);
    expect(file.values.get("double")).toBe(0.1);
    await file.close();
  });

  test.each(["llama", "qwen2", "qwen3", "gemma", "gemma2", "gemma3", "phi3", "gpt2"])(
    "%s: the logits of transformers",
    async (name) => {
      const files = new Map([[`${name}.gguf`, readFileSync(path("gguf", `${name}.gguf`))]]);
      const want = readTensors(path("gguf", `${name}.safetensors`));
      const { model } = await modelFromFiles(files, { dtype: "float64" });
      const ids = Int32Array.from((want.get("ids") as Tensor).toFloat64());
      const logits = (want.get("logits") as Tensor).toFloat64();
      expect(worst(model.forward(ids).toFloat64(), logits)).toBeLessThan(2e-5);
    },
  );

  test("an encoder without a head: the states and the tokens of the same model in other files", async () => {
    const { model, tokenizer } = await modelFromFiles(
      new Map([["m.gguf", readFileSync(path("gguf", "bert.gguf"))]]),
      {
        dtype: "float64",
      },
    );
    const { ids, typeIds } = tokenizer.encode("the old ships", "a cafe");
    const want = readTensors(path("bert-bin", "expected.safetensors")).get("hidden") as Tensor;
    expect(worst(model.hidden(ids, { typeIds } as never).toFloat64(), want.toFloat64())).toBeLessThan(1e-5);
    for (const [text, ids] of json("bert-bin", "expected.json"))
      expect([text, ...tokenizer.encode(text).ids]).toEqual([text, ...ids]);
  });

  test("an architecture, a tokenizer and a split file that heed does not read are refused by name", async () => {
    const bytes = readFileSync(path("gguf", "qwen2.gguf"));
    const renamed = (from: string, to: string) => {
      const at = bytes.indexOf(from);
      expect(at).toBeGreaterThan(0);
      const copy = new Uint8Array(bytes);
      copy.set(new TextEncoder().encode(to), at);
      return modelFromFiles(new Map([["m.gguf", copy]]));
    };
    await expect(renamed("qwen2", "qwenX")).rejects.toThrow(
      /the architecture is "qwenX"; heed reads llama, qwen2/,
    );
    const pre = bytes.indexOf("tokenizer.ggml.pre");
    const copy = new Uint8Array(bytes);
    copy.set(new TextEncoder().encode("other"), bytes.indexOf("qwen2", pre));
    await expect(modelFromFiles(new Map([["m.gguf", copy]]))).rejects.toThrow(
      /tokenizer\.ggml\.pre is "other"/,
    );
    // A tokenizer.json beside the file takes its place.
    const { tokenizer } = await modelFromFiles(
      new Map([
        ["m.gguf", copy],
        ["tokenizer.json", carrierTokenizer()],
      ]),
    );
    expect(tokenizer.kind).toBe("wordpiece");
  });

  test("its tokenizer: SentencePiece's and GPT-2's kinds", async () => {
    const open = async (name: string) =>
      (await modelFromFiles(new Map([[`${name}.gguf`, readFileSync(path("gguf", `${name}.gguf`))]])))
        .tokenizer;
    const llama = await open("llama");
    const expected: [string, number[]][] = json("sentencepiece", "expected.json")["bpe-bytes"];
    for (const [text, ids] of expected) expect([...llama.ids(text)]).toEqual(ids);
    const qwen = await open("qwen2");
    expect(qwen.encode("the sea<|end|>").tokens).toEqual(["the", "Ġsea", "<|end|>"]);
    expect(qwen.decode(qwen.encode("the sea, 12 café").ids)).toBe("the sea, 12 café");
  });

  test("written, it is a folder in Hugging Face's layout that reads as the same model", async () => {
    const files = new Map([["llama.gguf", readFileSync(path("gguf", "llama.gguf"))]]);
    const { model, tokenizer } = await modelFromFiles(files);
    const again = await modelFromFiles(modelToFiles(model, tokenizer, { dtype: "float32" }));
    expect(again.model.type).toBe("llama");
    expect(again.model.forward([5, 6]).toFloat64()).toEqual(model.forward([5, 6]).toFloat64());
  });
});

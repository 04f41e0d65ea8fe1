/** Files as people have them, against the libraries that made them (weights/make.py): checkpoints of PyTorch, GGUF, SentencePiece, LoRA. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { FormatError, type Tensor, tensor } from "heed";
import { openGguf, openTorch, type SafetensorsFile } from "heed/io";
import { modelFromFiles, modelToFiles, readModel } from "heed/models";
import { describe, expect, test } from "vitest";
import { readSentencePiece, sentencePieceJson } from "../../src/models/tokenizer/convert/sentencepiece.ts";
import { convertedTokenizer } from "../../src/models/tokenizer/file.ts";
import { readTensors } from "../support/shared.ts";
import { carrierTokenizer } from "./carrier.ts";

const root = join(import.meta.dirname, "weights");
const path = (...names: string[]) => join(root, ...names);
const json = (...names: string[]) => JSON.parse(readFileSync(path(...names), "utf8"));

function worst(got: ArrayLike<number>, want: ArrayLike<number>): number {
  expect(got.length).toBe(want.length);
  let worst = 0;
  for (let i = 0; i < got.length; i++)
    if (!(Math.abs(got[i] - want[i]) <= worst)) worst = Math.abs(got[i] - want[i]);
  return worst;
}

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

  test.each(["llama", "qwen2", "qwen3", "gemma2", "gpt2"])("%s: the logits of transformers", async (name) => {
    const files = new Map([[`${name}.gguf`, readFileSync(path("gguf", `${name}.gguf`))]]);
    const want = readTensors(path("gguf", `${name}.safetensors`));
    const { model } = await modelFromFiles(files, { dtype: "float64" });
    const ids = Int32Array.from((want.get("ids") as Tensor).toFloat64());
    const logits = (want.get("logits") as Tensor).toFloat64();
    expect(worst(model.forward(ids).toFloat64(), logits)).toBeLessThan(2e-5);
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

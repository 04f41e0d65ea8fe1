/** Heads for spans of answers against transformers in float64, and the spans of a text against all of them tried one by one. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { attentionWeights, type Tensor, tensor } from "heed";
import { readSafetensors, writeSafetensors } from "heed/io";
import { answerQuestion, type Encoder, type LayerAttention, modelFromFiles, modelToFiles } from "heed/models";
import { describe, expect, test } from "vitest";
import { readTensors, worst } from "../support/shared.ts";
import { carrierTokenizer } from "./carrier.ts";

const root = join(import.meta.dirname, "answerers");
const families = readdirSync(root);
const filesOf = (family: string) =>
  new Map<string, Uint8Array>([
    ["config.json", readFileSync(join(root, family, "config.json"))],
    ["model.safetensors", readFileSync(join(root, family, "model.safetensors"))],
    ["tokenizer.json", carrierTokenizer()],
  ]);
const int32 = (t: Tensor) => tensor(Int32Array.from(t.toFloat64()), t.shape, "int32");
const columns = (logits: Float64Array) => [0, 1].map((part) => logits.filter((_, i) => i % 2 === part));

test("there is a folder for every shape of the names", () =>
  expect(families.length).toBeGreaterThanOrEqual(5));

describe.each(families)("%s", (family) => {
  const golden = readTensors(join(root, family, "golden.safetensors"));
  const get = (name: string) => (golden.get(name) as Tensor).toFloat64();

  test.each([
    ["float32", 2e-5],
    ["float64", 1e-11],
  ] as const)("%s: logits of both ends and every head within %d", async (dtype, tolerance) => {
    const { model, notes } = await modelFromFiles(filesOf(family), { dtype });
    const encoder = model as unknown as Encoder;
    expect([encoder.hasSpanHead, encoder.hasHead, notes]).toEqual([true, false, []]);
    const layers: LayerAttention[] = [];
    const types = golden.get("types");
    const globals = golden.get("globals");
    const hidden = encoder.hidden(int32(golden.get("ids") as Tensor), {
      onAttention: (_, layer) => void layers.push(layer),
      ...(types && { typeIds: int32(types) }),
      ...(globals && { globals: [...globals.toFloat64()] }),
    });
    const [start, end] = columns(encoder.spanLogits(hidden).toFloat64());
    expect(worst(start, get("start"))).toBeLessThan(tolerance);
    expect(worst(end, get("end"))).toBeLessThan(tolerance);
    const want = get("attention");
    layers.forEach(({ query, key, lse, options }, n) => {
      const weights = attentionWeights(query, key, lse, options).toFloat64();
      expect(worst(weights, want.subarray(n * weights.length, (n + 1) * weights.length))).toBeLessThan(
        tolerance,
      );
    });
  });

  test("a model that is written keeps its head, and says so in config.json", async () => {
    const { model, tokenizer } = await modelFromFiles(filesOf(family));
    const files = modelToFiles(model, tokenizer, { dtype: "float32" });
    const { architectures } = JSON.parse(new TextDecoder().decode(files.get("config.json")));
    expect(architectures[0]).toMatch(/ForQuestionAnswering$/);
    const again = (await modelFromFiles(files)).model as unknown as Encoder;
    const [a, b] = [model as unknown as Encoder, again].map((one) => one.spanLogits(one.hidden([5, 6, 7])));
    expect(b.toFloat64()).toEqual(a.toFloat64());
  });
});

test("a number that is not finite is a note that names its tensor, at every place of tensors of 2 and of 12 numbers", async () => {
  const files = filesOf("bert");
  const { tensors } = readSafetensors(files.get("model.safetensors")!);
  for (const name of ["qa_outputs.bias", "bert.embeddings.LayerNorm.weight"])
    for (const number of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      const { data, shape } = tensors.get(name) as Tensor;
      for (let at = 0; at < data.length; at++) {
        const broken = Float32Array.from(data as Float32Array);
        broken[at] = number;
        const weights = writeSafetensors(
          new Map([...(tensors as Map<string, Tensor>), [name, tensor(broken, shape)]]),
        );
        const { notes } = await modelFromFiles(new Map([...files, ["model.safetensors", weights]]));
        expect(notes.map(({ code, text }) => [code, text.includes(name)])).toEqual([["not-a-number", true]]);
      }
    }
});

test("ModernBERT's head for another task, which has the same names, is ignored with a note", async () => {
  const files = filesOf("modernbert");
  const config = JSON.parse(new TextDecoder().decode(files.get("config.json")));
  config.architectures = ["ModernBertForSequenceClassification"];
  files.set("config.json", new TextEncoder().encode(JSON.stringify(config)));
  const { model, notes } = await modelFromFiles(files);
  expect([model.hasSpanHead, model.hasHead]).toEqual([false, false]);
  expect(notes.map(({ code }) => code)).toEqual(["task-head"]);
  for (const name of ["classifier.weight", "head.dense.weight"]) expect(notes[0].text).toContain(name);
});

describe("answerQuestion", async () => {
  const model = await modelFromFiles(filesOf("bert"), { dtype: "float64" });
  const network = model.model as unknown as Encoder;

  test("the probabilities are those of all spans and of no answer, tried one by one", () => {
    const [question, text] = ["the cat", "sat on the mat"];
    const { ids, typeIds, sequences, offsets } = model.tokenize(question, text);
    const [start, end] = columns(network.spanLogits(network.hidden(ids, { typeIds })).toFloat64());
    const spans: { place: readonly number[]; score: number }[] = [];
    for (let i = 0; i < ids.length; i++)
      for (let j = i; j < Math.min(i + 3, ids.length); j++)
        if (sequences[i] === 1 && sequences[j] === 1)
          spans.push({ place: [offsets[i][0], offsets[j][1]], score: start[i] + end[j] });
    const sum = Math.exp(start[0] + end[0]) + spans.reduce((sum, { score }) => sum + Math.exp(score), 0);
    const got = answerQuestion(model, question, text, { top: 2, maxTokens: 3 });
    expect(got.windows).toBe(1);
    expect(got.noAnswer).toBeCloseTo(Math.exp(start[0] + end[0]) / sum, 12);
    spans.sort((a, b) => b.score - a.score);
    const [first] = spans;
    const second = spans.find(({ place: [from, to] }) => to <= first.place[0] || from >= first.place[1]);
    got.answers.forEach(({ text: answer, start, end, probability, startLogit, endLogit }, n) => {
      const want = [first, second][n]!;
      expect([start, end]).toEqual(want.place);
      expect(answer).toBe(text.slice(start, end));
      expect(startLogit + endLogit).toBeCloseTo(want.score, 12);
      expect(probability).toBeCloseTo(Math.exp(want.score) / sum, 12);
    });
    expect(got.answers).toHaveLength(2);
  });

  test("a text that is longer than the model reads is read in windows, and every token of it", () => {
    const text = "the cat sat on the mat ".repeat(6).trim();
    const { answers, windows } = answerQuestion(model, "the mat", text, {
      top: 1000,
      maxTokens: 1,
      overlap: 3,
    });
    const { offsets, sequences } = model.tokenizer.encode("the mat", text);
    const tokens = offsets.filter((_, i) => sequences[i] === 1);
    // What question and special tokens leave of 16 positions; each window begins 3 tokens before the end of the one before.
    const free = 16 - (offsets.length - tokens.length);
    expect(windows).toBe(1 + Math.ceil((tokens.length - free) / (free - 3)));
    expect(answers.map(({ start }) => start).sort((a, b) => a - b)).toEqual(tokens.map(([start]) => start));
  });

  test("a model without the head, a question that is too long and wrong options are refused by name", async () => {
    const { locateShipped, readModel } = await import("heed/models");
    const shipped = await readModel(locateShipped("encoder"));
    expect(() => answerQuestion(shipped, "who?", "a ship")).toThrow(
      /encoder was not trained to answer questions/,
    );
    expect(() => (shipped.model as unknown as Encoder).spanLogits(network.hidden([5]))).toThrow(
      /no head for spans/,
    );
    const long = "the cat sat ".repeat(6);
    expect(() => answerQuestion(model, long, "the mat")).toThrow(/question leaves no place/);
    expect(() => answerQuestion(model, "the cat", " ")).toThrow(/a text to find it in/);
    expect(() => answerQuestion(model, "the cat", "the mat", { top: 0 })).toThrow(
      /top must be an integer ≥ 1/,
    );
    expect(() => answerQuestion(model, "the cat", "the mat", { max: 3 } as object)).toThrow(/unknown option/);
  });
});

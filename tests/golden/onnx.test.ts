/** ONNX graphs exposed by heed, against onnxruntime (onnx/make.py): the weights that heed rebuilds are those of the graph's own softmax. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { FormatError, OptionError, type Tensor, UnsupportedError } from "heed";
import { attentionOf, exposeAttention, layerWeights } from "heed/models";
import { describe, expect, test } from "vitest";
import { integerField, rangeField } from "../../src/io/protobuf.ts";
import { concatBytes } from "../../src/io/refuse.ts";
import { CHANGES_MS, readChanged } from "../support/cases/changes.ts";
import { readTensors } from "../support/shared.ts";

const root = join(import.meta.dirname, "onnx");
const names = readdirSync(root).flatMap((name) => (name.endsWith(".onnx") ? [name.slice(0, -5)] : []));
const sums = JSON.parse(readFileSync(join(root, "checksums.json"), "utf8"));

/** The exposed file, and what it says of its layers. */
async function exposed(bytes: Uint8Array) {
  const model = await exposeAttention(bytes);
  const parts: Uint8Array[] = [];
  for await (const part of model.contents()) parts.push(part);
  await model.close();
  return { ...model, bytes: concatBytes(parts) };
}

/** What onnxruntime gave for the exposed file, as a session. */
function sessionOf(name: string, recipe: string) {
  const tensors = readTensors(join(root, `${name}.safetensors`));
  const outputs: Record<string, unknown> = { "heed.recipe": { data: [recipe], dims: [], type: "string" } };
  for (const [key, { data, shape, dtype }] of tensors) outputs[key] = { data, dims: shape, type: dtype };
  return { tensors, session: { outputNames: Object.keys(outputs), run: async () => outputs } };
}

test("there are graphs of every kind", () => expect(names.length).toBeGreaterThanOrEqual(16));

describe.each(names)("%s", (name) => {
  const bytes = readFileSync(join(root, `${name}.onnx`));

  test("the exposed file is the one that onnxruntime ran", async () => {
    const file = await exposed(bytes);
    expect(createHash("sha256").update(file.bytes).digest("hex")).toBe(sums[name]);
    expect(file.refused).toEqual([]);
  });

  test("weights or outputs are those of the graph", async () => {
    const { layers } = await exposed(bytes);
    const { session, tensors } = sessionOf(name, JSON.stringify(layers));
    const attentions = await attentionOf(session, {});
    expect(attentions.length).toBe(layers.length);
    for (const [n, attention] of attentions.entries()) {
      const weights = tensors.get(`want.weights.${n}`);
      const want = (weights ?? tensors.get(`want.output.${n}`)) as Tensor;
      const got = weights ? layerWeights(attention) : attention.output;
      const [a, b] = [got.toFloat64(), want.toFloat64()];
      expect(a.length).toBe(b.length);
      const bound = name === "half" ? 2e-3 : 2e-6;
      for (let i = 0; i < a.length; i++)
        expect(Math.abs(a[i] - b[i]), `layer ${n}, ${i}`).toBeLessThan(bound);
    }
  });
});

test("the model of transformers-js/check.mjs has two layers, with keys masked by a sum", async () => {
  const { layers, refused } = await exposed(readFileSync(join(root, "../transformers-js/onnx/model.onnx")));
  expect(refused).toEqual([]);
  expect(layers.map(({ op, heads, steps }) => [op, heads, steps.map(({ kind }) => kind)])).toEqual([
    ["Softmax", undefined, ["factor", "add"]],
    ["Softmax", undefined, ["factor", "add"]],
  ]);
});

describe("what cannot be exposed", () => {
  const op = (type: string, inputs: string[], outputs: string[], domain = "") =>
    rangeField(
      1,
      concatBytes([
        ...inputs.map((one) => rangeField(1, one)),
        ...outputs.map((one) => rangeField(2, one)),
        rangeField(4, type),
        rangeField(7, domain),
      ]),
    );
  const model = (...nodes: Uint8Array[]) =>
    concatBytes([rangeField(7, concatBytes(nodes)), rangeField(8, integerField(2, 17))]);

  test.each([
    ["a graph without attention", model(op("Relu", ["x"], ["y"])), /there is no attention in the graph/],
    [
      "packed queries",
      model(op("MultiHeadAttention", ["q"], ["y"], "com.microsoft")),
      /packed into one tensor/,
    ],
    [
      "a function between product and softmax",
      model(
        op("MatMul", ["q", "k"], ["s"]),
        op("Tanh", ["s"], ["t"]),
        op("Softmax", ["t"], ["w"]),
        op("MatMul", ["w", "v"], ["y"]),
      ),
      /Tanh is between the product/,
    ],
  ])("%s", async (_, bytes, words) => {
    await expect(exposeAttention(bytes)).rejects.toThrow(UnsupportedError);
    await expect(exposeAttention(bytes)).rejects.toThrow(words);
  });

  test("an exposed model is not exposed again; a plain model gives no attention", async () => {
    const file = await exposed(readFileSync(join(root, "div-and-add.onnx")));
    await expect(exposeAttention(file.bytes)).rejects.toThrow(/has outputs of heed already/);
    const session = { outputNames: ["y"], run: async () => ({}) };
    await expect(attentionOf(session, {})).rejects.toThrow(OptionError);
    await expect(attentionOf(session, {})).rejects.toThrow(/heed onnx expose/);
  });

  test("other bytes are refused", async () => {
    for (const text of ["", "hello", "PK\x03\x04", "{}"])
      await expect(exposeAttention(new TextEncoder().encode(text))).rejects.toThrow(FormatError);
  });

  test("graphs with random changes are exposed, or refused by a typed error", { timeout: CHANGES_MS }, () =>
    readChanged(
      names.map((name) => readFileSync(join(root, `${name}.onnx`))),
      exposed,
    ),
  );
});

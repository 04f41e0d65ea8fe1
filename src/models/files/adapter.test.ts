/** LoRA adapters over single matrices, against sums that are written out; logits of a whole model: tests/golden/weights.test.ts. */
import { expect, it, test } from "vitest";
import { tensor } from "../../core/create/construct.ts";
import type { Tensor } from "../../core/tensor.ts";
import { openSafetensors, writeSafetensors } from "../../io/index.ts";
import { type AdapterConfig, mergeAdapter, readAdapterConfig } from "./adapter.ts";

const config = (over: Partial<AdapterConfig> = {}): AdapterConfig => ({
  ...readAdapterConfig({ peft_type: "LORA", r: 2, lora_alpha: 3 }),
  ...over,
});

/** Numbers that differ, as [rows, columns]. */
const matrix = (rows: number, columns: number, seed: number): Tensor =>
  tensor(
    Float32Array.from({ length: rows * columns }, (_, n) => ((n * 7 + seed * 3) % 11) - 5),
    [rows, columns],
  );

const open = (tensors: Readonly<Record<string, Tensor>>) =>
  openSafetensors(new Blob([writeSafetensors(tensors)]));

/** `model` with `adapter` merged. */
async function merged(
  model: Readonly<Record<string, Tensor>>,
  adapter: Readonly<Record<string, Tensor>>,
  over: Partial<AdapterConfig> = {},
) {
  return mergeAdapter(await open(model), await open(adapter), config(over), (name) => name);
}

const [A, B] = [matrix(2, 5, 1), matrix(4, 2, 2)];
const pair = (module: string) => ({
  [`base_model.model.${module}.lora_A.weight`]: A,
  [`base_model.model.${module}.lora_B.weight`]: B,
});

/** factor · Σ B[i, k] · A[k, j]. */
const delta = (i: number, j: number, factor: number) => {
  let sum = 0;
  for (let k = 0; k < 2; k++) sum += (B.at(i, k) as number) * (A.at(k, j) as number);
  return factor * sum;
};

it.each([
  ["[out, in]", {}, 3 / 2],
  ["[in, out]", { transposed: true }, 3 / 2],
  ["divided by the root of the rank", { stable: true }, 3 / Math.sqrt(2)],
  ["with an alpha of its own", { alphas: { "h.0.up": 8 } }, 8 / 2],
  ["with the alpha of another module", { alphas: { "0.down": 8, p: 8 } }, 3 / 2],
  ["with a rank of its own", { rank: 9, ranks: { up: 2 } }, 3 / 2],
] as [string, Partial<AdapterConfig>, number][])("a matrix %s", async (_, over, factor) => {
  const W = over.transposed ? matrix(5, 4, 4) : matrix(4, 5, 4);
  const file = await merged({ "h.0.up.weight": W, other: matrix(2, 2, 1) }, pair("h.0.up"), over);
  const { data, shape } = await file.read("h.0.up.weight");
  expect(shape).toEqual(W.shape);
  const [rows, columns] = W.shape;
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < columns; j++)
      expect((data as Float32Array)[i * columns + j]).toBeCloseTo(
        (W.at(i, j) as number) + (over.transposed ? delta(j, i, factor) : delta(i, j, factor)),
        4,
      );
  const part = await file.read("h.0.up.weight", { rows: [1, 3] });
  expect([...(part.data as Float32Array)]).toEqual([
    ...(data as Float32Array).subarray(columns, 3 * columns),
  ]);
  expect([...((await file.read("other")).data as Float32Array)]).toEqual([...matrix(2, 2, 1).data]);
  await file.close();
});

test("a table of embeddings is [rows, width] whatever the matrices are, and a saved module takes the place of the model's", async () => {
  const table = matrix(5, 4, 3);
  const file = await merged(
    { "wte.weight": table, "head.weight": matrix(3, 2, 1) },
    {
      "base_model.model.wte.lora_embedding_A": A,
      "base_model.model.wte.lora_embedding_B": B,
      "base_model.model.head.modules_to_save.default.weight": matrix(3, 2, 9),
    },
  );
  const { data } = await file.read("wte.weight");
  expect((data as Float32Array)[4]).toBeCloseTo((table.at(1, 0) as number) + delta(0, 1, 1.5), 4);
  expect([...((await file.read("head.weight")).data as Float32Array)]).toEqual([...matrix(3, 2, 9).data]);
});

const W = { "up.weight": matrix(4, 5, 4) };
it.each([
  [W, pair("down"), {}, /parts that the model has not: base_model\.model\.down\.lora_[AB]\.weight; /],
  [W, { ...pair("a"), ...pair("b"), ...pair("c") }, {}, / and 2 more$/],
  [W, {}, {}, /the adapter has no tensor/],
  [
    W,
    { "up.lora_A.weight": A },
    {},
    /matrices of up are \[2, 5\] and \[undefined\], the model's is \[4, 5\]/,
  ],
  [W, { "up.lora_B.weight": B }, {}, /matrices of up are \[undefined\] and \[4, 2\]/],
  [W, pair("up"), { transposed: true }, /matrices of up are \[2, 5\] and \[4, 2\], the model's is \[4, 5\]/],
  [{ "up.weight": matrix(4, 6, 1) }, pair("up"), {}, /the model's is \[4, 6\]/],
  [{ "up.weight": tensor(new Float32Array(20)) }, pair("up"), {}, /the model's is \[20\]/],
  [W, pair("up"), { rank: 3 }, /the rank of up is 3, its matrices have 2/],
  [W, { "up.weight": matrix(5, 4, 1) }, {}, /up\.weight of the adapter is \[5, 4\], the model's is \[4, 5\]/],
] as [Record<string, Tensor>, Record<string, Tensor>, Partial<AdapterConfig>, RegExp][])(
  "an adapter that does not fit its model is refused: %#",
  async (model, adapter, over, message) => {
    await expect(merged(model, adapter, over)).rejects.toThrow(message);
  },
);

it.each([
  [{ rank_pattern: { up: 0 } }, /rank_pattern must be an object of numbers above 0/],
  [{ alpha_pattern: 3 }, /alpha_pattern must be an object of numbers above 0/],
  [{ r: Number.POSITIVE_INFINITY }, /r must be a number above 0/],
  [{ lora_bias: true }, /does not merge adapters with lora_bias/],
])("a configuration that is none is refused: %j", (over, message) => {
  expect(() => readAdapterConfig({ peft_type: "LORA", r: 2, lora_alpha: 3, ...over })).toThrow(message);
});

test("fields that ask for nothing are no refusal", () => {
  const fields = {
    peft_type: "LORA",
    r: 2,
    lora_alpha: 3,
    use_dora: false,
    lora_bias: null,
    rank_pattern: null,
  };
  expect(readAdapterConfig({ ...fields, base_model_name_or_path: "" })).toMatchObject({
    base: undefined,
    ranks: {},
  });
});

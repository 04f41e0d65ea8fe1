/** DeBERTa's terms: their gradients, changed queries, padding, and each term in the ledger of a weight. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { carrierTokenizer } from "../../../tests/golden/carrier.ts";
import { bundleOfTexts } from "../../cli/support/input/model-bundle.ts";
import { randn, tensor } from "../../index.ts";
import { tablesOf } from "../../masks/expression/expr.ts";
import { openStore } from "../../store/formats/open.ts";
import { crossEntropy, Tape } from "../../train/index.ts";
import { type Encoder, type LayerAttention, modelFromFiles } from "../index.ts";
import { disentangledMods } from "./disentangled.ts";

const root = join(import.meta.dirname, "../../../tests/golden/models");
const open = (family: string) =>
  modelFromFiles(
    new Map([
      ["config.json", readFileSync(join(root, family, "config.json"))],
      ["model.safetensors", readFileSync(join(root, family, "model.safetensors"))],
      ["tokenizer.json", carrierTokenizer()],
    ]),
    { dtype: "float64" },
  );
const IDS = [5, 9, 7, 6, 11, 8];

test.each(["deberta", "deberta-own"])(
  "%s: gradients of the relative positions are central differences",
  async (family) => {
    const model = (await open(family)).model as unknown as Encoder;
    const names = [
      "deberta.encoder.rel_embeddings.weight",
      family === "deberta"
        ? "deberta.encoder.LayerNorm.weight"
        : "deberta.encoder.layer.0.attention.self.pos_key_proj.weight",
      "deberta.encoder.layer.1.attention.self.query_proj.weight",
    ];
    const parameters = model.parameters();
    const loss = () => crossEntropy(model.forward(IDS), tensor(IDS, [IDS.length], "int32"));
    const tape = new Tape();
    const targets = names.map((name) => parameters.get(name)!);
    const gradients = tape.gradients(tape.run(loss), targets);
    for (const [n, name] of names.entries()) {
      const { data } = targets[n];
      const got = gradients.get(targets[n])!.toFloat64();
      for (const at of [0, 7, data.length - 1].map((i) => Math.min(i, data.length - 1))) {
        const before = data[at] as number;
        const [up, down] = [1e-5, -1e-5].map((step) => {
          data[at] = before + step;
          return loss().toFloat64()[0];
        });
        data[at] = before;
        expect(got[at], `${name}[${at}]`).toBeCloseTo((up - down) / 2e-5, 7);
      }
    }
  },
);

test("padding changes no state of the tokens beside it", async () => {
  const model = (await open("deberta")).model as unknown as Encoder;
  const alone = model.hidden(IDS).toFloat64();
  const ids = tensor(Int32Array.from([...IDS, 0, 0]), [1, 8], "int32");
  const keep = tensor(Uint8Array.from([1, 1, 1, 1, 1, 1, 0, 0]), [1, 8], "bool");
  const padded = model.hidden(ids, { keyMask: keep }).toFloat64();
  alone.forEach((x, i) => expect(padded[i]).toBeCloseTo(x, 12));
});

test("a hook that replaces queries with zeros leaves only the term of the keys", async () => {
  const model = (await open("deberta")).model as unknown as Encoder;
  const layers: LayerAttention[] = [];
  model.hidden(IDS, { onAttention: (_, layer) => void layers.push(layer) });
  const { query, key, value, recipe } = layers[0];
  const zeros = tensor(new Float64Array(query.size), query.shape, "float64");
  const states: Float64Array[] = [];
  model.hidden(IDS, {
    onAttention: (layer) => (layer === 0 ? { query: zeros } : undefined),
    onHidden: (_, state) => void states.push(state.toFloat64()),
  });
  // softmax(scale · k_j·qr[i − j]) by hand, for head 1 and query 2.
  const [H, N, d] = query.shape;
  const { positionQueries, rows } = recipe.disentangled!;
  const [k, v, p] = [key, value, positionQueries!].map((x) => x.toFloat64());
  const S = positionQueries!.shape[1];
  const output = new Float64Array(H * N * d);
  for (let h = 0; h < H; h++)
    for (let i = 0; i < N; i++) {
      const scores = Array.from({ length: N }, (_, j) => {
        let sum = 0;
        for (let c = 0; c < d; c++) sum += k[(h * N + j) * d + c] * p[(h * S + rows[i - j + N - 1]) * d + c];
        return sum * recipe.scale!;
      });
      const sum = scores.reduce((sum, s) => sum + Math.exp(s), 0);
      scores.forEach((s, j) => {
        for (let c = 0; c < d; c++)
          output[(h * N + i) * d + c] += (Math.exp(s) / sum) * v[(h * N + j) * d + c];
      });
    }
  const replaced: Float64Array[] = [];
  model.hidden(IDS, {
    onAttention: (layer) => (layer === 0 ? { output: tensor(output, [H, N, d], "float64") } : undefined),
    onHidden: (_, state) => void replaced.push(state.toFloat64()),
  });
  states[1].forEach((x, n) => expect(x).toBeCloseTo(replaced[1][n], 12));
});

test("each term is a line of the ledger, and an edited query changes its own term", async () => {
  const model = await open("deberta");
  const layers = model.attentionOf(IDS);
  const attention = {
    ...model.tokenize(""),
    tokens: IDS.map(String),
    special: IDS.map(() => false),
    sequences: new Int8Array(IDS.length),
    layers,
  };
  const store = await openStore(await bundleOfTexts(model, [attention]), { name: "deberta" });
  const ref = { block: 0, layer: 1, head: 2 };
  await store.load(ref);
  const { query, key, recipe } = layers[1];
  const { positionKeys, positionQueries, rows } = recipe.disentangled!;
  const [q, k] = [query, key].map((x) => x.toFloat64());
  const [pk, pq] = [positionKeys!, positionQueries!].map((x) => x.toFloat64());
  const [N, d, S] = [IDS.length, query.shape[2], positionKeys!.shape[1]];
  const [i, j] = [4, 1];
  const product = (a: ArrayLike<number>, from: number, b: Float64Array, at: number) => {
    let sum = 0;
    for (let c = 0; c < d; c++) sum += a[from + c] * b[at + c];
    return sum * recipe.scale!;
  };
  const row = (2 * S + rows[i - j + N - 1]) * d;
  const content = product(q, (2 * N + i) * d, k, (2 * N + j) * d);
  const c2p = product(q, (2 * N + i) * d, pk, row);
  const p2c = product(k, (2 * N + j) * d, pq, row);
  const line = (step: string, edits = {}) =>
    store.ledger(ref, i, j, edits).lines.find((one) => one.step === step)!.value.value;
  expect(line("scale")).toBeCloseTo(content, 6);
  expect(line("content-position")).toBeCloseTo(content + c2p, 6);
  expect(line("position-content")).toBeCloseTo(content + c2p + p2c, 6);
  const other = Float64Array.from({ length: d }, (_, c) => c - 1.5);
  const edited = product(other, 0, k, (2 * N + j) * d) + product(other, 0, pk, row);
  expect(line("content-position", { query: other })).toBeCloseTo(edited, 6);
  expect(line("position-content", { query: other })).toBeCloseTo(edited + p2c, 6);
  const weights = store.row(ref, i, "weights");
  expect(store.ledger(ref, i, j).weight.value).toBe(weights[j]);
  store.dispose();
});

test("the terms of scores are read where they were computed, not copied", () => {
  const [query, positionKeys] = [randn([2, 3, 4]), randn([2, 5, 4])];
  const rows = Int32Array.of(0, 1, 2, 3, 4);
  const [mod] = disentangledMods({ positionKeys, rows }, query, query, 0.5);
  const terms = tablesOf(mod.expr).find(({ type }) => type === "float")!;
  expect(terms.data).toBeInstanceOf(Float32Array);
  expect(terms.data).toBe(terms.source.data);
});

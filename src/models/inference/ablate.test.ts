/** Changing what a layer's attention computes, and ablating heads. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { carrierTokenizer } from "../../../tests/golden/carrier.ts";
import { OptionError, ShapeError } from "../../core/errors.ts";
import { Tensor } from "../../core/tensor.ts";
import type { AttentionChange, ForwardOptions, Intervention, LayerAttention, TextModel } from "../index.ts";
import {
  ablate,
  ablateHeads,
  intervene,
  layerWeights,
  locateShipped,
  modelFromFiles,
  readModel,
  tokenShares,
  withoutHead,
} from "../index.ts";

const root = join(import.meta.dirname, "../../../tests/golden/models");
const golden = (family: string) =>
  modelFromFiles(
    new Map([
      ["config.json", readFileSync(join(root, family, "config.json"))],
      ["model.safetensors", readFileSync(join(root, family, "model.safetensors"))],
      ["tokenizer.json", carrierTokenizer()],
    ]),
    { dtype: "float64" },
  );

describe.each(["bert", "mpnet", "gpt2", "llama3", "gemma2"])("%s: the result of onAttention", (family) => {
  const ids = [5, 6, 7, 8, 9];
  let model: TextModel;
  let plain: Float64Array;
  beforeAll(async () => {
    model = await golden(family);
    plain = model.model.forward(ids).toFloat64();
  });
  const run = (change: (layerAttention: LayerAttention) => AttentionChange | undefined) =>
    model.model
      .forward(ids, {
        onAttention: (layer, layerAttention) => (layer === 1 ? change(layerAttention) : undefined),
      })
      .toFloat64();
  const distance = (a: Float64Array, b: Float64Array) => Math.max(...a.map((x, i) => Math.abs(x - b[i])));

  test("tensors of another copy of heed, and { data, shape, dtype }, are accepted", () => {
    const plainObject = ({ data, shape, dtype }: Tensor) => ({ data, shape, dtype }) as unknown as Tensor;
    const change = ({ output }: LayerAttention) => ({ output: plainObject(output.contiguous()) as never });
    expect(distance(run(change), plain)).toBe(0);
  });

  test("the same output, pattern, or query, key and value change nothing", () => {
    expect(
      distance(
        run(({ output }) => ({ output })),
        plain,
      ),
    ).toBe(0);
    expect(
      distance(
        run(({ query, key, value }) => ({ query, key, value })),
        plain,
      ),
    ).toBe(0);
    expect(
      distance(
        run((layerAttention) => ({ weights: layerWeights(layerAttention) as never })),
        plain,
      ),
    ).toBeLessThan(1e-12);
  });

  test("a changed value changes the result as attention's linearity says", () => {
    const twice = ({ value }: LayerAttention) =>
      new Tensor(
        (value.contiguous().data as Float64Array).map((x) => 2 * x),
        value.shape,
        value.dtype,
      ) as never;
    const changed = run((layerAttention) => ({ value: twice(layerAttention) }));
    // Gemma normalizes the output of a branch, so a factor changes little.
    expect(distance(changed, plain)).toBeGreaterThan(1e-8);
    // Attention is linear in its values.
    const scaled = run((layerAttention) => ({
      output: new Tensor(
        (layerAttention.output.contiguous().data as Float64Array).map((x) => 2 * x),
        layerAttention.output.shape,
        "float64",
      ) as never,
    }));
    expect(distance(changed, scaled)).toBeLessThan(1e-9);
  });

  test("a wrong name or shape is refused", () => {
    expect(() => run(() => ({ pattern: 1 }) as never)).toThrow(OptionError);
    expect(() => run(({ output }) => ({ weights: output }))).toThrow(ShapeError);
    expect(() => run(() => ({ output: 7 }) as never)).toThrow(ShapeError);
  });

  test("withoutHead replaces the output of one head with zeros", () => {
    let layerAttention: LayerAttention | undefined;
    run((it) => {
      layerAttention = it;
      return undefined;
    });
    const { output } = layerAttention as LayerAttention;
    const [, N, d] = output.shape;
    const before = output.toFloat64();
    (withoutHead(layerAttention as LayerAttention, 1).output as Tensor).toFloat64().forEach((x, i) => {
      expect(x).toBe(Math.floor(i / (N * d)) === 1 ? 0 : before[i]);
    });
    // The position after the last one would be the next head's first.
    for (const [head, replace, position] of [
      [0, "zero", N],
      [0, "zero", -1],
      [99, "zero", null],
      [0, "noise" as never, null],
    ] as const)
      expect(() => withoutHead(layerAttention as LayerAttention, head, replace, position)).toThrow(
        OptionError,
      );
  });
});

describe("ablate", () => {
  let decoder: TextModel;
  beforeAll(async () => {
    decoder = await readModel(locateShipped("decoder"));
  });

  test("every head has an effect, the largest change first, on the model's own probability", () => {
    const { predicted, effects, position } = ablate(decoder, "the president of the united");
    expect(effects).toHaveLength(decoder.layers * decoder.heads);
    const sizes = effects.map(({ change }) => Math.abs(change));
    expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
    expect(sizes[0]).toBeGreaterThan(0.01);
    expect(predicted[0].probability).toBeGreaterThanOrEqual(predicted[1].probability);
    const [{ layer, head, probability }] = effects;
    const { ids } = decoder.tokenize("the president of the united");
    const logits = decoder.model.forward(ids, {
      onAttention: (at, layerAttention) =>
        at === layer ? withoutHead(layerAttention, head as number) : undefined,
    });
    const V = logits.shape[1];
    const row = logits.toFloat64().subarray(position * V, (position + 1) * V);
    const total = row.reduce((sum, x) => sum + Math.exp(x), 0);
    expect(Math.exp(row[predicted[0].id]) / total).toBeCloseTo(probability, 5);
  });

  test("parts are layers of attention and networks, or one link in each head, as intervene turns them off", () => {
    const text = "the president of the united";
    const { ids } = decoder.tokenize(text);
    const probabilityOf = (id: number, change: Intervention) => {
      const logits = decoder.model.forward(ids, intervene(decoder, [change]));
      const V = logits.shape[1];
      return tokenShares(logits.toFloat64().slice((ids.length - 1) * V), {})[id];
    };
    const parts = ablate(decoder, text, { parts: ["attention", "mlp"] });
    expect(parts.effects).toHaveLength(2 * decoder.layers);
    for (const { part, layer, probability } of parts.effects)
      expect(probability).toBeCloseTo(probabilityOf(parts.predicted[0].id, { part, layer } as never), 5);
    for (const renormalize of [false, true]) {
      const link = { query: ids.length - 1, key: 1, renormalize };
      const { effects, predicted } = ablate(decoder, text, { link, layer: 2 });
      expect(effects).toHaveLength(decoder.heads);
      for (const { part, layer, head, probability } of effects) {
        expect(part).toBe("link");
        const change = { ...link, part: "link", layer, head: head as number } as const;
        expect(probability).toBeCloseTo(probabilityOf(predicted[0].id, change), 5);
      }
    }
  });

  test("position is the token that an encoder masks, or whose successor a decoder predicts", async () => {
    const encoder = await readModel(locateShipped("encoder"));
    const atPosition = ablate(encoder, "the old ship", { position: 2, layer: 0, head: 0 });
    const written = ablate(encoder, "the [MASK] ship", { layer: 0, head: 0 });
    expect(atPosition).toEqual(written);
    const early = ablate(decoder, "the president of the united", { position: 2, layer: 0, head: 0 });
    const { ids } = decoder.tokenize("the president of the united");
    const logits = decoder.model.forward(ids);
    const V = logits.shape[1];
    const row = logits.toFloat64().subarray(2 * V, 3 * V);
    expect(early.predicted[0].id).toBe(row.indexOf(Math.max(...row)));
    expect(() => ablate(decoder, "a ship", { position: 99 })).toThrow(/position must be 0 to/);
    expect(() => ablate(encoder, "a ship", { position: -1 })).toThrow(OptionError);
  });

  test("ablateHeads compares a run without several heads with the run with all, at every token or at one", async () => {
    const text = "the president of the united";
    const { ids } = decoder.tokenize(text);
    const heads = [
      { layer: 0, head: 1, replace: "mean" as const },
      { layer: 1, head: 0, position: 2 },
    ];
    const run = ablateHeads(decoder, text, heads);
    const states = (onAttention?: ForwardOptions["onAttention"]) =>
      decoder.model.hidden(ids, { onAttention }).toFloat64();
    const [before, after] = [
      states(),
      states((layer, layerAttention) =>
        layer === 0
          ? withoutHead(layerAttention, 1, "mean")
          : layer === 1
            ? withoutHead(layerAttention, 0, "zero", 2)
            : undefined,
      ),
    ];
    const C = before.length / ids.length;
    const norm = (x: Float64Array, n: number) => Math.hypot(...x.subarray(n * C, (n + 1) * C));
    const difference = after.map((x, i) => x - before[i]);
    run.moved.forEach((share, n) => {
      expect(share).toBeCloseTo(norm(difference, n) / norm(before, n), 6);
    });
    expect(run.cosine).toBeLessThan(1);
    expect(run.predicted?.position).toBe(ids.length - 1);
    const all = ablate(decoder, text, { layer: 0, head: 0 }).predicted;
    expect(run.predicted?.tokens.find(({ id }) => id === all[0].id)?.before).toBe(all[0].probability);
    // A decoder's tokens before the one that is changed stay as they are.
    const late = ablateHeads(decoder, text, [{ layer: 0, head: 0, position: 3 }]);
    expect(late.moved.slice(0, 3)).toEqual([0, 0, 0]);
    expect(late.moved[3]).toBeGreaterThan(0);
    expect(ablateHeads(decoder, text, [])).toMatchObject({ cosine: expect.closeTo(1, 12) });
    expect(() => ablateHeads(decoder, text, [{ layer: 9, head: 0 }])).toThrow(OptionError);
    expect(() => ablateHeads(decoder, text, [{ layer: 0, head: 0, position: 99 }])).toThrow(OptionError);
    expect(() => ablateHeads(decoder, "", [])).toThrow(expect.objectContaining({ code: "empty-text" }));
  });

  test("without a mask in an encoder's text, only the states are compared", async () => {
    const encoder = await readModel(locateShipped("encoder"));
    const plain = ablateHeads(encoder, "the old ship", [{ layer: 0, head: 0 }]);
    expect(plain.predicted).toBeNull();
    expect(plain.moved).toHaveLength(5);
    const masked = ablateHeads(encoder, "the old ship", [{ layer: 0, head: 0 }], { position: 2 });
    expect(masked.predicted).toMatchObject({ position: 2, masked: true });
    const pair = ablateHeads(encoder, "the old ship", [{ layer: 0, head: 0 }], { pair: "the sea" });
    expect(pair.moved).toHaveLength(8);
  });

  test("missing layers and heads, empty texts, unknown replacements and texts without a mask are refused", async () => {
    expect(() => ablate(decoder, "a", { layer: 99 })).toThrow(OptionError);
    expect(() => ablate(decoder, "a", { head: -1 })).toThrow(OptionError);
    expect(() => ablate(decoder, "")).toThrow(OptionError);
    expect(() => ablate(decoder, "a", { replace: "noise" as never })).toThrow(OptionError);
    const encoder = await readModel(locateShipped("encoder"));
    expect(() => ablate(encoder, "no mask")).toThrow(/\[MASK\]/);
    expect(ablate(encoder, "the [MASK] ship", { layer: 0, head: 0, replace: "mean" }).effects).toHaveLength(
      1,
    );
  });
});

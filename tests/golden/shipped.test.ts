/** The models in models/: small, whole, as docs/models.md says, and with heads that do something. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import {
  type Bert,
  type Gpt2,
  generate,
  headScores,
  inductionScores,
  locateShipped,
  readModel,
} from "heed/models";
import { beforeAll, describe, expect, it } from "vitest";

const fileOf = (which: "encoder" | "decoder", name: string) => join(locateShipped(which), name);
const json = (which: "encoder" | "decoder", name: string) =>
  JSON.parse(readFileSync(fileOf(which, name), "utf8"));
const texts = ["The committee, of which he was a member, replied that it would not consent to the treaty."];

describe.each(["encoder", "decoder"] as const)("the %s", (which) => {
  it("is a Hugging Face directory of at most 4 MB", () => {
    for (const name of ["config.json", "tokenizer.json", "model.safetensors", "training.json"])
      expect(existsSync(fileOf(which, name)), name).toBe(true);
    expect(statSync(fileOf(which, "model.safetensors")).size).toBeLessThan(4e6);
    expect(json(which, "config.json")).toMatchObject(
      which === "decoder"
        ? { model_type: "gpt2", n_layer: 4, n_head: 4, n_embd: 128 }
        : { model_type: "bert", num_hidden_layers: 4, num_attention_heads: 4, hidden_size: 128 },
    );
  });

  it("predicts what was held out better than the bigram", () => {
    const { heldOut, baselines } = json(which, "training.json");
    expect(heldOut.at(-1)[1]).toBeLessThan(baselines.bigram - 0.4);
  });
});

describe("the encoder", () => {
  let model: Awaited<ReturnType<typeof readModel>>;
  beforeAll(async () => {
    model = await readModel(locateShipped("encoder"));
  });

  it("predicts better than the 5-gram too", () => {
    const { heldOut, baselines } = json("encoder", "training.json");
    expect(heldOut.at(-1)[1]).toBeLessThan(baselines["5-gram"] - 0.5);
  });

  it("has heads that look one back, and heads that look one ahead", () => {
    const scores = headScores(model, texts);
    expect(scores.filter(({ previous }) => previous > 0.8).length).toBeGreaterThanOrEqual(2);
    expect(scores.filter(({ next }) => next > 0.8).length).toBeGreaterThanOrEqual(2);
  });

  it("has heads of induction", () => {
    const scores = inductionScores(model);
    expect(
      scores.filter(({ induction, even }) => induction > 8 * even.induction).length,
    ).toBeGreaterThanOrEqual(2);
  });

  it("knows the masked word of a phrase", () => {
    const { ids } = model.tokenizer.encode("the [MASK] states of america");
    const logits = (model.model as Bert).forward(ids).toFloat64();
    const { size } = model.tokenizer;
    const at = ids.indexOf(model.tokenizer.id("[MASK]") as number) * size;
    const row = logits.slice(at, at + size);
    expect(model.tokenizer.token(row.indexOf(Math.max(...row)))).toBe("united");
  });
});

describe("the decoder", () => {
  let model: Awaited<ReturnType<typeof readModel>>;
  beforeAll(async () => {
    model = await readModel(locateShipped("decoder"));
  });

  it("has a head that looks at the previous token", () => {
    const scores = headScores(model, texts).map(
      ({ previous, even }) => (previous ?? 0) / (even.previous ?? 1),
    );
    expect(Math.max(...scores)).toBeGreaterThan(3);
  });

  it("has heads of induction: on random tokens said twice they look at what came next the first time", () => {
    const scores = inductionScores(model).map(({ induction }) => induction ?? 0);
    expect(scores.filter((score) => score > 0.4).length).toBeGreaterThanOrEqual(4);
    expect(inductionScores(model)[0].even.induction).toBeLessThan(0.04);
  });

  it("says again what was said", () => {
    const ids = model.tokenizer.ids("seven white birds over the hill, seven white birds");
    const said = model.tokenizer.decode(
      Int32Array.from(generate(model.model as Gpt2, ids, { maxTokens: 6 })),
    );
    expect(said).toMatch(/^ over the hill/);
  });
});

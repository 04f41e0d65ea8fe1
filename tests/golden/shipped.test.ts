/** The model in models/: small, whole, as docs/models.md says, and with heads that do something. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Gpt2, generate, headScores, inductionScores, locateShipped, readModel } from "heed/models";
import { beforeAll, describe, expect, it } from "vitest";

const folder = locateShipped("decoder");
const json = (name: string) => JSON.parse(readFileSync(join(folder, name), "utf8"));
let model: Awaited<ReturnType<typeof readModel>>;
beforeAll(async () => {
  model = await readModel(folder);
});

describe("the decoder", () => {
  it("is a Hugging Face directory of at most 4 MB", () => {
    for (const name of ["config.json", "tokenizer.json", "model.safetensors", "training.json"])
      expect(existsSync(join(folder, name)), name).toBe(true);
    expect(statSync(join(folder, "model.safetensors")).size).toBeLessThan(4e6);
    expect(json("config.json")).toMatchObject({ model_type: "gpt2", n_layer: 4, n_head: 4, n_embd: 128 });
  });

  it("predicts what was held out better than the bigram", () => {
    const { heldOut, baselines } = json("training.json");
    expect(heldOut.at(-1)[1]).toBeLessThan(baselines.bigram - 0.4);
  });

  it("has a head that looks at the previous token", () => {
    const texts = [
      "The committee, of which he was a member, replied that it would not consent to the treaty.",
    ];
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

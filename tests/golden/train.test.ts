/**
 * Fifty steps of training against PyTorch's (tests/golden/pytorch/train-curve): a decoder of two blocks written with the
 * operations of heed/nn, its losses, first logits, first gradients and final weights, in float64 and float32.
 */
import { Tensor, tensor } from "heed";
import { add, attention, embedding, gelu, layerNorm, linear, mergeHeads, split, splitHeads } from "heed/nn";
import { crossEntropy, type Gradients, Tape, train } from "heed/train";
import { describe, expect, it } from "vitest";
import { golden, readGolden, readTensors } from "../support/shared.ts";

interface Manifest {
  readonly config: {
    readonly layers: number;
    readonly heads: number;
    readonly dModel: number;
    readonly seq: number;
    readonly batch: number;
    readonly steps: number;
    readonly lr: number;
    readonly betas: [number, number];
    readonly eps: number;
    readonly weightDecay: number;
    readonly layerNormEps: number;
  };
  readonly parameters: readonly string[];
  readonly decayed: readonly string[];
  readonly losses: readonly number[];
}

const manifest = readGolden<Manifest>("train-curve", "manifest.json");
const tensors = readTensors(golden("train-curve", "train.safetensors"));
const get = (name: string) => tensors.get(name) as Tensor;

/** The README's model, its parameters from before step 0. */
function decoder(dtype: "float32" | "float64") {
  const { layers, heads, layerNormEps: eps } = manifest.config;
  const parameters = new Map(
    manifest.parameters.map((name) => {
      const { data, shape } = get(`initial.${name}`);
      const copy =
        dtype === "float64"
          ? Float64Array.from(data as Float32Array)
          : Float32Array.from(data as Float32Array);
      return [name, new Tensor(copy, shape, dtype) as Tensor];
    }),
  );
  const p = (name: string) => parameters.get(name) as Tensor;
  const norm = (x: Tensor, name: string) => layerNorm(x, p(`${name}.weight`), p(`${name}.bias`), { eps });
  const through = (x: Tensor, name: string) => linear(x, p(`${name}.weight`), p(`${name}.bias`));
  const logits = (tokens: Tensor) => {
    let h = add(embedding(tokens, p("tok_emb.weight")), p("pos_emb.weight"));
    for (let i = 0; i < layers; i++) {
      const at = `blocks.${i}`;
      const qkv = split(
        through(norm(h, `${at}.ln1`), `${at}.attn.qkv`),
        new Array(3).fill(manifest.config.dModel),
      );
      const [q, k, v] = qkv.map((part) => splitHeads(part, heads));
      const { output } = attention(q, k, v, { isCausal: true });
      h = add(h, through(mergeHeads(output), `${at}.attn.proj`));
      h = add(h, through(gelu(through(norm(h, `${at}.ln2`), `${at}.mlp.fc`)), `${at}.mlp.proj`));
    }
    return linear(norm(h, "ln_f"), p("head.weight"));
  };
  return {
    parameters: () => parameters,
    logits,
    loss: ({ inputs, targets }: Step) => crossEntropy(logits(inputs), targets),
  };
}

interface Step {
  readonly inputs: Tensor;
  readonly targets: Tensor;
}

/** Inputs and targets of a step: the first and the last `seq` of each row of tokens. */
function stepOf(step: number): Step {
  const { batch, seq } = manifest.config;
  const tokens = get("tokens").data as Int32Array;
  const part = (from: number) =>
    tensor(
      Int32Array.from({ length: batch * seq }, (_, i) => {
        const [row, column] = [Math.floor(i / seq), i % seq];
        return tokens[(step * batch + row) * (seq + 1) + column + from];
      }),
      [batch, seq],
      "int32",
    );
  return { inputs: part(0), targets: part(1) };
}

function run(model: ReturnType<typeof decoder>) {
  const { lr, betas, eps, weightDecay, steps } = manifest.config;
  const decays = (name: string) => manifest.decayed.includes(name);
  return train<Step>({
    model,
    data: (step) => [stepOf(step)],
    steps,
    adamw: { lr, betas, eps, weightDecay, decays },
    maxNorm: Number.POSITIVE_INFINITY,
  });
}

/** Largest |got − want| / (1 + relative·|want|). */
function worst(got: Tensor, want: Tensor, relative = 0, left: (i: number) => boolean = () => false): number {
  const [a, b] = [got.toFloat64(), want.toFloat64()];
  expect(a.length).toBe(b.length);
  let worst = 0;
  for (let i = 0; i < a.length; i++)
    if (!left(i)) worst = Math.max(worst, Math.abs(a[i] - b[i]) / (1 + relative * Math.abs(b[i])));
  return worst;
}

describe("training against PyTorch", () => {
  it("the parameters that decay are those of rank 2", () => {
    const parameters = decoder("float32").parameters();
    expect([...parameters].filter(([, { shape }]) => shape.length >= 2).map(([name]) => name)).toEqual(
      manifest.decayed,
    );
  });

  it("float64: the first logits and gradients agree to 1e-11", () => {
    const model = decoder("float64");
    expect(worst(model.logits(stepOf(0).inputs), get("first_logits"), 1)).toBeLessThan(1e-11);
    const tape = new Tape();
    const loss = tape.run(() => model.loss(stepOf(0)));
    const gradients: Gradients = tape.gradients(loss, model.parameters().values());
    for (const [name, parameter] of model.parameters())
      expect(worst(gradients.get(parameter) as Tensor, get(`first_grad.${name}`), 1), name).toBeLessThan(
        1e-11,
      );
  });

  it("float64: every loss agrees to 1e-10, the final weights to 1e-8", async () => {
    const model = decoder("float64");
    const { losses } = await run(model);
    expect(losses.length).toBe(50);
    losses.forEach((loss, step) =>
      expect(Math.abs(loss - manifest.losses[step]), `step ${step}`).toBeLessThan(1e-10),
    );
    for (const [name, parameter] of model.parameters())
      expect(worst(parameter, get(`final.${name}`)), name).toBeLessThan(1e-8);
  });

  it("float32: every loss agrees to 1e-5, the final weights to 1e-4 but for the keys' bias, whose gradient is 0", async () => {
    const model = decoder("float32");
    const { losses } = await run(model);
    losses.forEach((loss, step) =>
      expect(Math.abs(loss - manifest.losses[step]), `step ${step}`).toBeLessThan(1e-5),
    );
    const width = manifest.config.dModel;
    for (const [name, parameter] of model.parameters()) {
      const keys = (i: number) => name.endsWith("attn.qkv.bias") && i >= width && i < 2 * width;
      expect(worst(parameter, get(`final.${name}`), 0, keys), name).toBeLessThan(1e-4);
    }
  });
});

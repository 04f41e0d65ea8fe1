/**
 * Layers against PyTorch in float64, outputs and all gradients: its attention module and encoder layer
 * (tests/golden/pytorch/mha-module), the first step of a small decoder (tests/golden/pytorch/train-curve), and the other kinds of
 * attention (tests/golden/pytorch/additive-and-linear). In float64 to 1e-11·(1 + |want|), in float32 as each README says.
 */
import { keyLengths, longformer, type Tensor, tensor } from "heed";
import * as nn from "heed/nn";
import * as history from "heed/nn/history";
import { describe, expect, it } from "vitest";
import { gradientsOf } from "../support/oracles/gradcheck.ts";
import { difference } from "../support/oracles/tolerance.ts";
import { golden, readGolden, readTensors } from "../support/shared.ts";

type Dtype = "float64" | "float32";

const as = (dtype: Dtype) => (t: Tensor) =>
  tensor(dtype === "float64" ? t.toFloat64() : Float32Array.from(t.toFloat64()), t.shape) as nn.FloatTensor;

/** What differs by more than tolerance·(1 + |want|), or undefined. */
function off(got: Tensor | undefined, want: Tensor, tolerance: number): string | undefined {
  const numbers = want.toFloat64();
  const actual = got?.toFloat64() ?? new Float64Array(numbers.length);
  if (got && got.shape.join() !== want.shape.join()) return `shape [${got.shape}], expected [${want.shape}]`;
  return difference(actual, numbers, (i) => tolerance * (1 + Math.abs(numbers[i])));
}

/** bool, true = ignore, turned into true = attend. */
const turned = (t: Tensor) =>
  tensor(
    Uint8Array.from(t.toFloat64(), (x) => (x ? 0 : 1)),
    t.shape,
    "bool",
  );

interface MhaCase {
  name: string;
  file: string;
  module: "MultiheadAttention" | "TransformerEncoderLayer";
  embedDim: number;
  numHeads: number;
  kdim: number;
  vdim: number;
  bias: boolean;
  selfAttention: boolean;
  feedForward: number;
  normFirst: boolean;
  activation: "relu" | "gelu";
  layerNormEps: number;
}

describe("PyTorch's modules", () => {
  const { cases } = readGolden<{ cases: MhaCase[] }>("mha-module/manifest.json");
  for (const c of cases)
    for (const [dtype, tolerance] of [
      ["float64", 1e-11],
      ["float32", 2e-5],
    ] as const)
      it(`${c.name}, ${dtype}`, () => {
        const file = readTensors(golden("mha-module", c.file));
        const float = as(dtype);
        const starting = (prefix: string) =>
          new Map(
            [...file].filter(([n]) => n.startsWith(prefix)).map(([n, t]) => [n.slice(prefix.length), t]),
          );
        const heads = c.numHeads;
        const mask = file.get("attn_mask");
        const padding = file.get("key_padding_mask");
        const attnMask = mask && (mask.dtype === "bool" ? turned(mask) : float(mask));
        const options = {
          // PyTorch's (B · H, Lq, Lk) is (B, H, Lq, Lk) here.
          attnMask:
            attnMask?.shape.length === 3
              ? attnMask.reshape([-1, heads, ...attnMask.shape.slice(1)])
              : attnMask,
          keyMask: padding && turned(padding),
        };
        const names = ["query", "key", "value", "src"].filter((name) => file.has(name));
        const inputs = Object.fromEntries(names.map((name) => [name, float(file.get(name)!)]));
        const layer =
          c.module === "MultiheadAttention"
            ? new nn.MultiHeadAttention(c.embedDim, heads, {
                kdim: c.kdim,
                vdim: c.vdim,
                bias: c.bias,
                dtype,
              })
            : new nn.EncoderBlock(c.embedDim, heads, {
                feedForward: c.feedForward,
                normFirst: c.normFirst,
                activation: c.activation,
                layerNormEps: c.layerNormEps,
                dtype,
              });
        expect(layer.loadStateDict(starting("param."))).toEqual({ missing: [], unexpected: [] });
        let weights: Tensor | undefined;
        const { outputs, gradients } = gradientsOf(
          { ...Object.fromEntries(layer.parameters()), ...inputs },
          () => {
            if (layer instanceof nn.EncoderBlock) return [layer.forward(inputs["src"], options).output];
            const { query, key = query, value = key } = inputs;
            const result = layer.forward(query, key, value, { ...options, returnWeights: true });
            weights = result.weights;
            return [result.output];
          },
          () => float(file.get("d_out")!),
        );
        expect(off(outputs[0], file.get("out")!, tolerance)).toBeUndefined();
        if (file.has("weights")) expect(off(weights, file.get("weights")!, tolerance)).toBeUndefined();
        for (const [name, want] of starting("grad."))
          expect(off(gradients[name], want, tolerance), name).toBeUndefined();
      });
});

/** The model of train-curve, as its README has it. */
class Attention extends nn.Module {
  readonly qkv: nn.Linear;
  readonly proj: nn.Linear;
  readonly #heads: number;
  constructor(width: number, heads: number, dtype: Dtype) {
    super();
    this.qkv = new nn.Linear(width, 3 * width, { dtype });
    this.proj = new nn.Linear(width, width, { dtype });
    this.#heads = heads;
  }
  forward(x: Tensor) {
    const [q, k, v] = nn.split(
      this.qkv.forward(x),
      [1, 1, 1].map((n) => n * x.shape[2]),
    );
    const heads = [q, k, v].map((t) => nn.splitHeads(t, this.#heads));
    return this.proj.forward(
      nn.mergeHeads(nn.attention(heads[0], heads[1], heads[2], { isCausal: true }).output),
    );
  }
}

class Hidden extends nn.Module {
  readonly fc: nn.Linear;
  readonly proj: nn.Linear;
  constructor(width: number, inner: number, dtype: Dtype) {
    super();
    this.fc = new nn.Linear(width, inner, { dtype });
    this.proj = new nn.Linear(inner, width, { dtype });
  }
  forward = (x: Tensor) => this.proj.forward(nn.gelu(this.fc.forward(x)));
}

class Layer extends nn.Module {
  readonly ln1: nn.LayerNorm;
  readonly ln2: nn.LayerNorm;
  readonly attn: Attention;
  readonly mlp: Hidden;
  constructor(width: number, heads: number, inner: number, dtype: Dtype) {
    super();
    this.ln1 = new nn.LayerNorm(width, { dtype });
    this.ln2 = new nn.LayerNorm(width, { dtype });
    this.attn = new Attention(width, heads, dtype);
    this.mlp = new Hidden(width, inner, dtype);
  }
  forward(h: Tensor) {
    const x = nn.add(h, this.attn.forward(this.ln1.forward(h)));
    return nn.add(x, this.mlp.forward(this.ln2.forward(x)));
  }
}

interface Config {
  layers: number;
  heads: number;
  dModel: number;
  dFF: number;
  vocab: number;
  seq: number;
}

class Decoder extends nn.Module {
  readonly tok_emb: nn.Embedding;
  readonly pos_emb: nn.LearnedPositions;
  readonly blocks: readonly Layer[];
  readonly ln_f: nn.LayerNorm;
  readonly head: nn.Linear;
  constructor({ layers, heads, dModel, dFF, vocab, seq }: Config, dtype: Dtype) {
    super();
    this.tok_emb = new nn.Embedding(vocab, dModel, { dtype });
    this.pos_emb = new nn.LearnedPositions(seq, dModel, { dtype });
    this.blocks = Array.from({ length: layers }, () => new Layer(dModel, heads, dFF, dtype));
    this.ln_f = new nn.LayerNorm(dModel, { dtype });
    this.head = new nn.Linear(dModel, vocab, { bias: false, dtype });
  }
  forward(ids: Tensor) {
    let h: Tensor = nn.add(this.tok_emb.forward(ids), this.pos_emb.forward(ids.shape[1]));
    for (const block of this.blocks) h = block.forward(h);
    return this.head.forward(this.ln_f.forward(h));
  }
}

describe("a decoder made of these layers", () => {
  const manifest = () =>
    readGolden<{ config: Config; parameters: string[]; losses: number[] }>("train-curve/manifest.json");
  for (const [dtype, tolerance] of [
    ["float64", 1e-11],
    ["float32", 1e-5],
  ] as const)
    it(`has the logits, the loss and the gradients of step 0, ${dtype}`, () => {
      const { config, parameters, losses } = manifest();
      const file = readTensors(golden("train-curve/train.safetensors"));
      const model = new Decoder(config, dtype);
      expect([...model.parameters().keys()].sort()).toEqual([...parameters].sort());
      model.loadStateDict(new Map(parameters.map((name) => [name, file.get(`initial.${name}`)!])));
      const tokens = file.get("tokens")!;
      const [, batch, length] = tokens.shape;
      const T = length - 1;
      const pick = (shift: number) =>
        tensor(
          Int32Array.from({ length: batch * T }, (_, n) => tokens.at(0, Math.floor(n / T), (n % T) + shift)),
          [batch, T],
        );
      const [input, target] = [pick(0), pick(1)];
      let loss = 0;
      // Mean cross-entropy: its gradient by the logits is (softmax − one-hot)/count.
      const { outputs, gradients } = gradientsOf(
        Object.fromEntries(model.parameters()),
        () => [model.forward(input)],
        (logits) => {
          const p = nn.softmax(logits).toFloat64();
          for (let n = 0; n < batch * T; n++) {
            const at = n * config.vocab + target.at(Math.floor(n / T), n % T);
            loss -= Math.log(p[at]) / (batch * T);
            p[at] -= 1;
          }
          return as(dtype)(
            tensor(
              p.map((x) => x / (batch * T)),
              logits.shape,
            ),
          );
        },
      );
      expect(off(outputs[0], file.get("first_logits")!, tolerance)).toBeUndefined();
      expect(Math.abs(loss - losses[0])).toBeLessThan(dtype === "float64" ? 1e-10 : 1e-5);
      for (const name of parameters)
        expect(off(gradients[name], file.get(`first_grad.${name}`)!, tolerance), name).toBeUndefined();
    });
});

interface OtherCase {
  name: string;
  file: string;
  kind: "additive" | "general" | "dot" | "performer" | "longformer";
  dq: number;
  dk: number;
  da: number;
  m: number;
  causal: boolean;
  keyLengths?: number[];
  w: number;
  globals: number[];
}

/** Output and weights of a case, given its tensors by name. */
function other(
  c: OtherCase,
  t: Record<string, nn.FloatTensor>,
  dtype: Dtype,
): { output: Tensor; weights?: Tensor } {
  const { q, k, v } = t;
  const options = { returnWeights: true, attnMask: c.keyLengths && keyLengths(c.keyLengths) };
  switch (c.kind) {
    case "additive": {
      const layer = new history.AdditiveAttention(c.dq, c.dk, c.da, { dtype });
      return Object.assign(layer, { wq: t["wq"], wk: t["wk"], w: t["w"] }).forward(q, k, v, options);
    }
    case "general":
    case "dot": {
      const layer = new history.LuongAttention(q.shape[2], k.shape[2], { score: c.kind, dtype });
      return Object.assign(layer, t["w"] && { w: t["w"] }).forward(q, k, v, options);
    }
    case "performer":
      return history.performerAttention(q, k, v, {
        features: t["features"],
        isCausal: c.causal,
        returnWeights: true,
      });
    case "longformer":
      return nn.attention(q, k, v, { attnMask: longformer(c.w, c.globals), returnWeights: true });
  }
}

describe("the other kinds of attention", () => {
  const { cases } = readGolden<{ cases: OtherCase[] }>("additive-and-linear/manifest.json");
  for (const c of cases)
    for (const [dtype, tolerance] of [
      ["float64", 1e-11],
      ["float32", 1e-5],
    ] as const)
      it(`${c.name}, ${dtype}`, () => {
        const file = readTensors(golden("additive-and-linear", c.file));
        const inputs = Object.fromEntries(
          [...file]
            .filter(([name]) => file.has(`d_${name}`) || name === "features")
            .map(([name, t]) => [name, as(dtype)(t)]),
        );
        let weights: Tensor | undefined;
        const { outputs, gradients } = gradientsOf(
          inputs,
          () => {
            const result = other(c, inputs, dtype);
            weights = result.weights;
            return [result.output];
          },
          () => as(dtype)(file.get("d_out")!),
        );
        expect(off(outputs[0], file.get("out")!, tolerance)).toBeUndefined();
        expect(off(weights, file.get("weights")!, tolerance)).toBeUndefined();
        for (const [name, want] of file)
          if (name.startsWith("d_") && name !== "d_out")
            expect(off(gradients[name.slice(2)], want, tolerance), name).toBeUndefined();
      });
});

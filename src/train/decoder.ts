/**
 * GPT-2's architecture (Radford et al. 2019), to be trained: h = token + position; in each block h += attention(norm(h))
 * and h += mlp(norm(h)), causal, GELU by its tanh approximation; logits from the norm of h by the token table itself.
 *
 * Weights start as GPT-2's: normal with deviation 0.02, those that write into h smaller by 1/√(2·layers). Matrices are
 * kept [out, in] here and saved [in, out], as GPT-2's files have them.
 */
import type { Tensor } from "../core/tensor.ts";
import { gelu } from "../nn/ops/activations.ts";
import { add } from "../nn/ops/arithmetic.ts";
import { attention } from "../nn/ops/attend.ts";
import { dropoutSeed, layerDropout } from "../nn/ops/dropout.ts";
import { embedding } from "../nn/ops/lookup.ts";
import { linear } from "../nn/ops/products.ts";
import { mergeHeads, slice, split, splitHeads } from "../nn/ops/shapes.ts";
import type { Batch } from "./data.ts";
import { checkSizes, type LanguageModel, type LanguageOptions } from "./language.ts";
import { crossEntropy } from "./loss.ts";
import { Parameters } from "./parameters.ts";

const EPS = 1e-5;
const STD = 0.02;

/** A decoder of GPT-2's architecture: predicts the next token. */
export class Decoder implements LanguageModel {
  readonly kind = "decoder";
  readonly options: Required<LanguageOptions>;
  readonly #p: Parameters;

  constructor(options: LanguageOptions) {
    this.options = checkSizes("Decoder", options);
    const { vocabulary, context, layers, width, inner, seed, dtype } = this.options;
    const p = new Parameters(seed, dtype);
    this.#p = p;
    const into = STD / Math.sqrt(2 * layers);
    p.make("transformer.wte.weight", [vocabulary, width], { std: STD });
    p.make("transformer.wpe.weight", [context, width], { std: STD });
    for (let i = 0; i < layers; i++) {
      const h = `transformer.h.${i}`;
      p.makeNorm(`${h}.ln_1`, width);
      p.makeLinear(`${h}.attn.c_attn`, width, 3 * width, STD);
      p.makeLinear(`${h}.attn.c_proj`, width, width, into);
      p.makeNorm(`${h}.ln_2`, width);
      p.makeLinear(`${h}.mlp.c_fc`, width, inner, STD);
      p.makeLinear(`${h}.mlp.c_proj`, inner, width, into);
    }
    p.makeNorm("transformer.ln_f", width);
  }

  parameters(): ReadonlyMap<string, Tensor> {
    return this.#p.all;
  }

  /** The last vectors of each position, [B, T, width]. */
  #forward(inputs: Tensor): Tensor {
    const p = this.#p;
    const { layers, heads, width, context, dropout } = this.options;
    const length = inputs.shape[1];
    const table = p.get("transformer.wpe.weight");
    const positions = length === context ? table : slice(table, 0, 0, length);
    let x: Tensor = layerDropout(add(embedding(inputs, p.get("transformer.wte.weight")), positions), dropout);
    for (let i = 0; i < layers; i++) {
      const h = `transformer.h.${i}`;
      const qkv = p.linear(p.norm(x, `${h}.ln_1`, EPS), `${h}.attn.c_attn`);
      const [q, k, v] = split(qkv, [width, width, width]).map((part) => splitHeads(part, heads));
      const seed = dropout > 0 ? dropoutSeed() : undefined;
      const { output } = attention(q, k, v, {
        isCausal: true,
        ...(seed !== undefined && { dropoutP: dropout, seed }),
      });
      x = add(x, layerDropout(p.linear(mergeHeads(output), `${h}.attn.c_proj`), dropout));
      const inner = gelu(p.linear(p.norm(x, `${h}.ln_2`, EPS), `${h}.mlp.c_fc`), { approximate: "tanh" });
      x = add(x, layerDropout(p.linear(inner, `${h}.mlp.c_proj`), dropout));
    }
    return p.norm(x, "transformer.ln_f", EPS);
  }

  logits(inputs: Tensor): Tensor {
    return linear(this.#forward(inputs), this.#p.get("transformer.wte.weight"));
  }

  loss({ inputs, targets }: Batch): Tensor {
    return crossEntropy(this.logits(inputs), targets);
  }

  config(ids: Readonly<Record<string, number>>): Record<string, unknown> {
    const { vocabulary, context, layers, heads, width, inner, dropout } = this.options;
    return {
      architectures: ["GPT2LMHeadModel"],
      model_type: "gpt2",
      activation_function: "gelu_new",
      n_embd: width,
      n_head: heads,
      n_inner: inner,
      n_layer: layers,
      n_positions: context,
      vocab_size: vocabulary,
      layer_norm_epsilon: EPS,
      initializer_range: STD,
      attn_pdrop: dropout,
      embd_pdrop: dropout,
      resid_pdrop: dropout,
      tie_word_embeddings: true,
      ...ids,
    };
  }

  tensors(): Map<string, Tensor> {
    const matrix = /\.(?:attn|mlp)\.c_\w+\.weight$/;
    return new Map(
      [...this.#p.all].map(([name, t]) => [name, matrix.test(name) ? t.transpose().contiguous() : t]),
    );
  }
}

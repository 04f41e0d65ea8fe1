/**
 * BERT's architecture (Devlin et al. 2018, arXiv 1810.04805) with its masked-token head, to be trained: h = norm(token +
 * position + type); in each layer h = norm(h + attention(h)) and h = norm(h + mlp(h)), GELU with erf; at the masked
 * positions norm(gelu(dense(h))) is compared with the token table itself. Of the two token types only type 0 is used.
 *
 * Scores are computed at the positions that count only: an eighth of the work of the head.
 */
import { Tensor } from "../core/tensor.ts";
import { gelu } from "../nn/ops/activations.ts";
import { add } from "../nn/ops/arithmetic.ts";
import { attention } from "../nn/ops/attend.ts";
import { dropoutSeed, layerDropout } from "../nn/ops/dropout.ts";
import { embedding } from "../nn/ops/lookup.ts";
import { linear } from "../nn/ops/products.ts";
import { mergeHeads, reshape, slice, splitHeads } from "../nn/ops/shapes.ts";
import type { Batch } from "./data.ts";
import { checkSizes, type LanguageModel, type LanguageOptions } from "./language.ts";
import { crossEntropy, IGNORE_INDEX } from "./loss.ts";
import { Parameters } from "./parameters.ts";

const EPS = 1e-12;
const STD = 0.02;

/** An encoder of BERT's architecture: predicts masked tokens. */
export class Encoder implements LanguageModel {
  readonly kind = "encoder";
  readonly options: Required<LanguageOptions>;
  readonly #p: Parameters;

  constructor(options: LanguageOptions) {
    this.options = checkSizes("Encoder", options);
    const { vocabulary, context, layers, width, inner, seed, dtype } = this.options;
    const p = new Parameters(seed, dtype);
    this.#p = p;
    p.make("bert.embeddings.word_embeddings.weight", [vocabulary, width], { std: STD });
    p.make("bert.embeddings.position_embeddings.weight", [context, width], { std: STD });
    p.make("bert.embeddings.token_type_embeddings.weight", [2, width], { std: STD });
    p.makeNorm("bert.embeddings.LayerNorm", width);
    for (let i = 0; i < layers; i++) {
      const layer = `bert.encoder.layer.${i}`;
      for (const name of ["query", "key", "value"])
        p.makeLinear(`${layer}.attention.self.${name}`, width, width, STD);
      p.makeLinear(`${layer}.attention.output.dense`, width, width, STD);
      p.makeNorm(`${layer}.attention.output.LayerNorm`, width);
      p.makeLinear(`${layer}.intermediate.dense`, width, inner, STD);
      p.makeLinear(`${layer}.output.dense`, inner, width, STD);
      p.makeNorm(`${layer}.output.LayerNorm`, width);
    }
    p.makeLinear("cls.predictions.transform.dense", width, width, STD);
    p.makeNorm("cls.predictions.transform.LayerNorm", width);
    p.make("cls.predictions.bias", [vocabulary], 0);
  }

  parameters(): ReadonlyMap<string, Tensor> {
    return this.#p.all;
  }

  /** The last vectors of each position, [B, T, width]. */
  #forward(inputs: Tensor): Tensor {
    const p = this.#p;
    const { layers, heads, context, dropout } = this.options;
    const length = inputs.shape[1];
    const table = p.get("bert.embeddings.position_embeddings.weight");
    const positions = length === context ? table : slice(table, 0, 0, length);
    const type = embedding([0], p.get("bert.embeddings.token_type_embeddings.weight"));
    const words = embedding(inputs, p.get("bert.embeddings.word_embeddings.weight"));
    let x = p.norm(add(words, add(positions, type)), "bert.embeddings.LayerNorm", EPS);
    x = layerDropout(x, dropout);
    for (let i = 0; i < layers; i++) {
      const layer = `bert.encoder.layer.${i}`;
      const [q, k, v] = ["query", "key", "value"].map((name) =>
        splitHeads(p.linear(x, `${layer}.attention.self.${name}`), heads),
      );
      const seed = dropout > 0 ? dropoutSeed() : undefined;
      const { output } = attention(q, k, v, seed === undefined ? {} : { dropoutP: dropout, seed });
      const attended = layerDropout(p.linear(mergeHeads(output), `${layer}.attention.output.dense`), dropout);
      x = p.norm(add(x, attended), `${layer}.attention.output.LayerNorm`, EPS);
      const inner = gelu(p.linear(x, `${layer}.intermediate.dense`));
      const moved = layerDropout(p.linear(inner, `${layer}.output.dense`), dropout);
      x = p.norm(add(x, moved), `${layer}.output.LayerNorm`, EPS);
    }
    return x;
  }

  /** Scores from vectors [..., width]. */
  #head(x: Tensor): Tensor {
    const p = this.#p;
    const inner = gelu(p.linear(x, "cls.predictions.transform.dense"));
    const normed = p.norm(inner, "cls.predictions.transform.LayerNorm", EPS);
    return linear(normed, p.get("bert.embeddings.word_embeddings.weight"), p.get("cls.predictions.bias"));
  }

  logits(inputs: Tensor): Tensor {
    return this.#head(this.#forward(inputs));
  }

  loss({ inputs, targets }: Batch): Tensor {
    const asked: number[] = [];
    const classes: number[] = [];
    for (let i = 0; i < targets.size; i++)
      if (targets.data[i] !== IGNORE_INDEX) {
        asked.push(i);
        classes.push(targets.data[i]);
      }
    const vectors = reshape(this.#forward(inputs), [-1, this.options.width]);
    const logits = this.#head(embedding(asked, vectors));
    return crossEntropy(logits, new Tensor(Int32Array.from(classes), [classes.length], "int32"));
  }

  config(ids: Readonly<Record<string, number>>): Record<string, unknown> {
    const { vocabulary, context, layers, heads, width, inner, dropout } = this.options;
    return {
      architectures: ["BertForMaskedLM"],
      model_type: "bert",
      hidden_act: "gelu",
      hidden_size: width,
      num_attention_heads: heads,
      num_hidden_layers: layers,
      intermediate_size: inner,
      max_position_embeddings: context,
      type_vocab_size: 2,
      vocab_size: vocabulary,
      layer_norm_eps: EPS,
      initializer_range: STD,
      attention_probs_dropout_prob: dropout,
      hidden_dropout_prob: dropout,
      position_embedding_type: "absolute",
      tie_word_embeddings: true,
      ...ids,
    };
  }

  tensors(): Map<string, Tensor> {
    return new Map(this.#p.all);
  }
}

/** Model families by their config type: how to plan and construct a model, and the names of its weights in files. */
import type { ModelConfig } from "../config/config.ts";
import { Bert, bertPlan } from "../families/bert.ts";
import { Decoder, decoderPlan } from "../families/decoder.ts";
import { Distilbert, distilbertPlan } from "../families/distilbert.ts";
import { Electra, electraPlan } from "../families/electra.ts";
import { Gpt2, gpt2Plan } from "../families/gpt2.ts";
import type { DecoderModel, TransformerModel } from "../families/model.ts";
import { Mpnet, mpnetPlan } from "../families/mpnet.ts";
import { Roberta, robertaPlan } from "../families/roberta.ts";
import type { Plan, StartOptions } from "./parameters.ts";

/** The tensor names in a family's files. */
export interface Naming {
  /** Prefix of every name of the base model; a base model saved alone omits it. */
  readonly prefix: string;
  /** Matches the names that then lack the prefix. */
  readonly bare: RegExp;
  /** Replacements for other spellings of the same names. */
  readonly renames?: readonly (readonly [RegExp, string])[];
  /** Tensors that do not affect attention or logits: buffers, poolers. */
  readonly passed: RegExp;
  /** Heads for other tasks: ignored, with a note. */
  readonly tasks: RegExp;
  /** A tensor that only files with the language-modeling head have; undefined if every file has the head. */
  readonly head?: string;
  /** The output matrix, the embedding that may replace it, and the bias under its two names. */
  readonly output: {
    readonly matrix: string;
    readonly table: string;
    readonly bias?: readonly [string, string];
  };
}

/** A family as the reader of files uses it. */
export interface Page {
  readonly naming: Naming;
  plan(config: ModelConfig["config"], hasHead: boolean): Plan;
  make(
    config: ModelConfig["config"],
    options: StartOptions & { readonly hasHead: boolean },
  ): TransformerModel | DecoderModel;
}

const TASKS = /^(classifier|qa_outputs|score|summary|sequence_summary|multiple_choice_head|pre_classifier)\b/;

/** Names of encoders that follow BERT's. */
const encoder = (prefix: string, more: Pick<Naming, "head" | "output"> & Partial<Naming>): Naming => ({
  prefix: `${prefix}.`,
  bare: /^(embeddings|embeddings_project|encoder|transformer|pooler)\./,
  passed: new RegExp(`^${prefix}\\.pooler\\.|\\.position_ids$`),
  tasks: TASKS,
  ...more,
});

/** All families. */
const PAGES = {
  bert: {
    naming: encoder("bert", {
      renames: [
        [/\.gamma$/, ".weight"],
        [/\.beta$/, ".bias"],
      ],
      passed: /^(bert\.pooler|cls\.seq_relationship)\.|\.position_ids$/,
      head: "cls.predictions.transform.dense.weight",
      output: {
        matrix: "cls.predictions.decoder.weight",
        table: "bert.embeddings.word_embeddings.weight",
        bias: ["cls.predictions.decoder.bias", "cls.predictions.bias"],
      },
    }),
    plan: bertPlan,
    make: (config, options) => new Bert(config, options),
  },
  roberta: {
    naming: encoder("roberta", {
      head: "lm_head.dense.weight",
      output: {
        matrix: "lm_head.decoder.weight",
        table: "roberta.embeddings.word_embeddings.weight",
        bias: ["lm_head.decoder.bias", "lm_head.bias"],
      },
    }),
    plan: robertaPlan,
    make: (config, options) => new Roberta(config, options),
  },
  distilbert: {
    naming: encoder("distilbert", {
      head: "vocab_transform.weight",
      output: { matrix: "vocab_projector.weight", table: "distilbert.embeddings.word_embeddings.weight" },
    }),
    plan: distilbertPlan,
    make: (config, options) => new Distilbert(config, options),
  },
  electra: {
    naming: encoder("electra", {
      tasks: new RegExp(`${TASKS.source}|^discriminator_predictions\\.`),
      head: "generator_predictions.dense.weight",
      output: { matrix: "generator_lm_head.weight", table: "electra.embeddings.word_embeddings.weight" },
    }),
    plan: electraPlan,
    make: (config, options) => new Electra(config, options),
  },
  mpnet: {
    naming: encoder("mpnet", {
      head: "lm_head.dense.weight",
      output: {
        matrix: "lm_head.decoder.weight",
        table: "mpnet.embeddings.word_embeddings.weight",
        bias: ["lm_head.decoder.bias", "lm_head.bias"],
      },
    }),
    plan: mpnetPlan,
    make: (config, options) => new Mpnet(config, options),
  },
  gpt2: {
    naming: {
      prefix: "transformer.",
      bare: /^(wte|wpe|ln_f|h)\./,
      // Causal masks that early versions stored.
      passed: /\.attn\.(bias|masked_bias)$/,
      tasks: TASKS,
      output: { matrix: "lm_head.weight", table: "transformer.wte.weight" },
    },
    plan: gpt2Plan,
    make: (config, options) => new Gpt2(config, options),
  },
  decoder: {
    naming: {
      prefix: "model.",
      bare: /^(embed_tokens|layers|norm)\./,
      // Gemma 3 next to its image encoder, in two spellings.
      renames: [
        [/^(language_model\.model|model\.language_model)\./, "model."],
        [/^language_model\.lm_head\./, "lm_head."],
      ],
      passed: /\.rotary_emb\.inv_freq$/,
      tasks: new RegExp(`${TASKS.source}|^(model\\.)?(vision_tower|multi_modal_projector)\\.`),
      output: { matrix: "lm_head.weight", table: "model.embed_tokens.weight" },
    },
    plan: decoderPlan,
    make: (config, options) => new Decoder(config, options),
  },
} satisfies {
  [T in ModelConfig["type"]]: {
    naming: Naming;
    plan(config: Extract<ModelConfig, { type: T }>["config"], hasHead: boolean): Plan;
    make(
      config: Extract<ModelConfig, { type: T }>["config"],
      options: StartOptions & { readonly hasHead: boolean },
    ): TransformerModel | DecoderModel;
  };
};

/** The family of a config type. */
export const pageOf = (type: ModelConfig["type"]): Page => PAGES[type] as unknown as Page;

/** Families of models; relatives of Llama are all `decoder`. */
export type ModelFamily = ModelConfig["type"];

/** The class of a family's models. */
export type ModelOf<F extends ModelFamily> = ReturnType<(typeof PAGES)[F]["make"]>;

/** The table of families. A family is added by one file and one line here (CONTRIBUTING.md, "A model family"). */
import type { ModelConfig } from "../config/types.ts";
import type { Decoder } from "../decoder/decoder.ts";
import type { Encoder } from "../encoder/encoder.ts";
import type { EncoderDecoder } from "../encoder-decoder/encoder-decoder.ts";
import { bart, marian } from "./encoder-decoders/bart.ts";
import { t5 } from "./encoder-decoders/t5.ts";
import { albert } from "./encoders/albert.ts";
import { type Bert, bert } from "./encoders/bert.ts";
import { bigBird } from "./encoders/big-bird.ts";
import { deberta } from "./encoders/deberta.ts";
import { type Distilbert, distilbert } from "./encoders/distilbert.ts";
import { type Electra, electra } from "./encoders/electra.ts";
import { eurobert } from "./encoders/eurobert.ts";
import { longformer } from "./encoders/longformer.ts";
import { modernbert } from "./encoders/modernbert.ts";
import { type Mpnet, mpnet } from "./encoders/mpnet.ts";
import { nomicBert } from "./encoders/nomic-bert.ts";
import { type Roberta, roberta } from "./encoders/roberta.ts";
import type { Family } from "./family.ts";
import { bloom, mpt } from "./gpt/bloom.ts";
import { clipText } from "./gpt/clip-text.ts";
import { falcon } from "./gpt/falcon.ts";
import { codegen, gptj, gptNeo } from "./gpt/gpt.ts";
import { gptNeox } from "./gpt/gpt-neox.ts";
import { type Gpt2, gpt2 } from "./gpt/gpt2.ts";
import { opt } from "./gpt/opt.ts";
import { apertus } from "./llama/apertus.ts";
import { cohere, cohere2 } from "./llama/cohere.ts";
import { exaone4 } from "./llama/exaone.ts";
import { gemma, gemma2, gemma3 } from "./llama/gemma.ts";
import { gemma4 } from "./llama/gemma4.ts";
import { ernie45, glm4 } from "./llama/glm.ts";
import { granite } from "./llama/granite.ts";
import { hunyuan } from "./llama/hunyuan.ts";
import { llama, smollm3 } from "./llama/llama.ts";
import { ministral3, mistral } from "./llama/mistral.ts";
import { nemotron } from "./llama/nemotron.ts";
import { olmo, olmo2, olmo3 } from "./llama/olmo.ts";
import { phi, phi3 } from "./llama/phi.ts";
import { qwen2, qwen3 } from "./llama/qwen.ts";
import { stablelm } from "./llama/stablelm.ts";
import { starcoder2 } from "./llama/starcoder.ts";

/** All families. */
export const FAMILIES = [
  bert, roberta, distilbert, electra, mpnet, albert, modernbert, eurobert, nomicBert, deberta, bigBird, longformer,
  gpt2, gptNeo, gptj, codegen, gptNeox, opt, bloom, mpt, falcon, clipText,
  llama, mistral, qwen2, qwen3, smollm3, gemma, gemma2, gemma3, gemma4, phi, phi3, stablelm, olmo, olmo2, olmo3, hunyuan, apertus,
  starcoder2, cohere, cohere2, granite, glm4, exaone4, nemotron, ministral3, ernie45,
  t5, bart, marian,
] as unknown as readonly Family[]; // biome-ignore format: one row a kind

/** Every `model_type` that heed reads. */
export const MODEL_TYPES: readonly string[] = FAMILIES.flatMap(({ modelTypes }) => modelTypes);

/** The family that reads a `model_type`; undefined if there is none. */
export const familyOf = (modelType: string): Family | undefined =>
  FAMILIES.find(({ modelTypes }) => modelTypes.includes(modelType));

/** The family of a config as `readConfig` returns it, or of a model. */
export function familyOfConfig({ type, config }: { readonly type: string; readonly config: object }): Family {
  const { model_type: modelType = type } = config as { readonly model_type?: string };
  return familyOf(modelType) as Family;
}

/** Families of models by the name of their class. */
interface ModelClasses {
  readonly bert: Bert;
  readonly roberta: Roberta;
  readonly distilbert: Distilbert;
  readonly electra: Electra;
  readonly mpnet: Mpnet;
  readonly gpt2: Gpt2;
  readonly encoder: Encoder;
  readonly decoder: Decoder;
  readonly "encoder-decoder": EncoderDecoder;
}

/** Classes of models; families without a class of their own are `encoder`, `decoder` or `encoder-decoder`. */
export type ModelFamily = ModelConfig["type"];

/** The class of a family's models. */
export type ModelOf<F extends ModelFamily> = ModelClasses[F];

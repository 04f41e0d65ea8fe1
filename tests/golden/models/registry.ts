/**
 * The share of the models that TransformerLens has verified whose architecture heed reads.
 *
 *     pip download --no-deps transformer-lens==4.0.0b1 && unzip -q transformer_lens-*.whl
 *     npx node tests/golden/models/registry.ts transformer_lens/tools/model_registry/data/supported_models.json
 */
import { readFileSync } from "node:fs";
import { MODEL_TYPES } from "../../../src/models/families/index.ts";

/** Classes of transformers by the `model_type` of their config.json. */
const CLASSES: Readonly<Record<string, string>> = {
  ApertusForCausalLM: "apertus",
  BertForMaskedLM: "bert", BartForConditionalGeneration: "bart", BloomForCausalLM: "bloom", CodeGenForCausalLM: "codegen",
  Cohere2ForCausalLM: "cohere2", CohereForCausalLM: "cohere", Exaone4ForCausalLM: "exaone4", FalconForCausalLM: "falcon",
  Gemma2ForCausalLM: "gemma2", Gemma3ForCausalLM: "gemma3_text", Gemma3ForConditionalGeneration: "gemma3", GemmaForCausalLM: "gemma",
  Gemma4ForCausalLM: "gemma4_text", Gemma4ForConditionalGeneration: "gemma4",
  Glm4ForCausalLM: "glm4", GPT2LMHeadModel: "gpt2", GPTJForCausalLM: "gptj", GPTNeoForCausalLM: "gpt_neo",
  GPTNeoXForCausalLM: "gpt_neox", GraniteForCausalLM: "granite", HunYuanDenseV1ForCausalLM: "hunyuan_v1_dense",
  LlamaForCausalLM: "llama", M2M100ForConditionalGeneration: "m2m_100", MarianMTModel: "marian", MBartForConditionalGeneration: "mbart",
  Ministral3ForCausalLM: "ministral3", MistralForCausalLM: "mistral", MPTForCausalLM: "mpt", MptForCausalLM: "mpt",
  MT5ForConditionalGeneration: "mt5", NemotronForCausalLM: "nemotron", Olmo2ForCausalLM: "olmo2", Olmo3ForCausalLM: "olmo3",
  OlmoForCausalLM: "olmo", OPTForCausalLM: "opt", PegasusForConditionalGeneration: "pegasus", Phi3ForCausalLM: "phi3",
  PhiForCausalLM: "phi", Qwen2ForCausalLM: "qwen2", Qwen3ForCausalLM: "qwen3", SmolLM3ForCausalLM: "smollm3",
  StableLmForCausalLM: "stablelm", Starcoder2ForCausalLM: "starcoder2", T5ForConditionalGeneration: "t5",
}; // biome-ignore format: one list

const { models } = JSON.parse(readFileSync(process.argv[2], "utf8")) as {
  readonly models: readonly {
    readonly architecture_id: string;
    readonly model_id: string;
    readonly status: number;
  }[];
};
// Status 1: verified.
const verified = [
  ...new Map(models.filter(({ status }) => status === 1).map((one) => [one.model_id, one])).values(),
];
const others = new Map<string, number>();
let read = 0;
for (const { architecture_id: name } of verified)
  if (MODEL_TYPES.includes(CLASSES[name])) read++;
  else others.set(name, (others.get(name) ?? 0) + 1);
console.log(
  `${read} of ${verified.length} verified models: ${((100 * read) / verified.length).toFixed(1)} %`,
);
console.log(
  [...others]
    .sort((a, b) => b[1] - a[1])
    .map(([name, count]) => `${name} ${count}`)
    .join(", "),
);

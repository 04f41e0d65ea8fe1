/** Quantized checkpoints, by `quantization_config` of config.json: what they are, and what a user can do. heed reads 32- and 16-bit floats. */
import { UnsupportedError } from "../../core/errors.ts";
import type { Fields } from "./fields.ts";

/** The name of a method, and how transformers writes the weights as floats; undefined where it has no such function. */
interface Method {
  readonly label: string;
  readonly python?: string;
}

const fromPretrained = (config: string) =>
  `AutoModelForCausalLM.from_pretrained(DIR, quantization_config=${config}(dequantize=True))`;

const METHODS: Readonly<Record<string, Method>> = {
  gptq: { label: "GPTQ" },
  awq: { label: "AWQ" },
  bitsandbytes: { label: "bitsandbytes", python: "AutoModelForCausalLM.from_pretrained(DIR).dequantize()" },
  fp8: { label: "fp8 in blocks", python: fromPretrained("FineGrainedFP8Config") },
  fbgemm_fp8: { label: "fp8" },
  mxfp4: { label: "MXFP4", python: fromPretrained("Mxfp4Config") },
  "compressed-tensors": { label: "compressed-tensors" },
  hqq: { label: "HQQ" },
  aqlm: { label: "AQLM" },
  quanto: { label: "quanto" },
  torchao: { label: "torchao" },
  eetq: { label: "EETQ" },
  bitnet: { label: "BitNet" },
};

/** Throws an UnsupportedError that names the method, where config.json has one. */
export function refuseQuantized(fields: Fields): void {
  const config = fields.object("quantization_config");
  if (config === undefined) return;
  const name = String(
    config.value("quant_method") ?? (config.value("load_in_4bit") !== undefined ? "bitsandbytes" : "unknown"),
  );
  const method = Object.hasOwn(METHODS, name) ? METHODS[name] : { label: name };
  const bits =
    config.value("bits") ??
    config.value("w_bit") ??
    (config.value("load_in_4bit") === true ? 4 : config.value("load_in_8bit") === true ? 8 : undefined);
  const size = typeof bits === "number" ? `, ${bits} bits` : "";
  const advice = method.python
    ? `or write them as floats in Python: ${method.python}.save_pretrained(NEW)`
    : "or a GGUF file of it";
  throw new UnsupportedError(
    "quantized",
    `config.json: the weights are ${method.label}${size}; heed reads float32, float16 and bfloat16 weights, and GGUF files: use the model that they were made from, ${advice}`,
    { field: "quantization_config", method: name },
  );
}

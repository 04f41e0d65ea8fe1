/** Activations by their names in Hugging Face's configs. */
import { UnsupportedError } from "../../core/errors.ts";
import { quote } from "../../io/refuse.ts";
import type { ActivationName } from "../../nn/index.ts";

const ACTIVATIONS: Readonly<Record<string, ActivationName>> = {
  gelu: "gelu",
  gelu_new: "gelu-tanh",
  gelu_fast: "gelu-tanh",
  gelu_pytorch_tanh: "gelu-tanh",
  relu: "relu",
  silu: "silu",
  swish: "silu",
};

/** The activation that a config names. */
export function activationNamed(name: string): ActivationName {
  if (Object.hasOwn(ACTIVATIONS, name)) return ACTIVATIONS[name];
  throw new UnsupportedError(
    "activation",
    `config: activation ${quote(name)} is not one heed has; it has ${Object.keys(ACTIVATIONS).join(", ")}`,
    { activation: name },
  );
}

/** Activations by their names in Hugging Face's configs. */
import { UnsupportedError } from "../../core/errors.ts";
import { quote } from "../../io/refuse.ts";
import { type ActivationName, activate, type FloatTensor, square } from "../../nn/index.ts";

const ACTIVATIONS: Readonly<Record<string, ActivationName | "relu2">> = {
  gelu: "gelu",
  gelu_new: "gelu-tanh",
  gelu_fast: "gelu-tanh",
  gelu_pytorch_tanh: "gelu-tanh",
  relu: "relu",
  relu2: "relu2",
  silu: "silu",
  swish: "silu",
};

/** The activation that a config names. Throws an UnsupportedError for one that heed does not have. */
export function activationNamed(name: string): ActivationName | "relu2" {
  if (Object.hasOwn(ACTIVATIONS, name)) return ACTIVATIONS[name];
  throw new UnsupportedError(
    "activation",
    `config: activation ${quote(name)} is not one heed has; it has ${Object.keys(ACTIVATIONS).join(", ")}`,
    { activation: name },
  );
}

/** The activation that a config names, of x; `relu2` is relu(x)². */
export function activateNamed(x: FloatTensor, name: string): FloatTensor {
  const activation = activationNamed(name);
  return activation === "relu2" ? square(activate(x, "relu")) : activate(x, activation);
}

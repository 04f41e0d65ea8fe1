/** Activations by their names in Hugging Face's configs. */
import { UnsupportedError } from "../../core/errors.ts";
import { quote } from "../../io/refuse.ts";
import { type ActivationName, activate, type FloatTensor, scale, square } from "../../nn/index.ts";

const ACTIVATIONS: Readonly<Record<string, ActivationName | "relu2" | "quick_gelu">> = {
  gelu: "gelu",
  gelu_new: "gelu-tanh",
  gelu_fast: "gelu-tanh",
  gelu_pytorch_tanh: "gelu-tanh",
  relu: "relu",
  relu2: "relu2",
  quick_gelu: "quick_gelu",
  silu: "silu",
  swish: "silu",
};

/** The activation that a config names. Throws an UnsupportedError for one that heed does not have. */
export function activationNamed(name: string): ActivationName | "relu2" | "quick_gelu" {
  if (Object.hasOwn(ACTIVATIONS, name)) return ACTIVATIONS[name];
  throw new UnsupportedError(
    "activation",
    `config: activation ${quote(name)} is not one heed has; it has ${Object.keys(ACTIVATIONS).join(", ")}`,
    { activation: name },
  );
}

/** The factor of CLIP's approximation of gelu. */
const QUICK = 1.702;

/** The activation that a config names, of x; `relu2` is relu(x)², `quick_gelu` is x·sigmoid(1.702·x). */
export function activateNamed(x: FloatTensor, name: string): FloatTensor {
  const activation = activationNamed(name);
  if (activation === "quick_gelu") return scale(activate(scale(x, QUICK), "silu"), 1 / QUICK);
  return activation === "relu2" ? square(activate(x, "relu")) : activate(x, activation);
}

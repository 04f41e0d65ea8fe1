/** Activations by their names in Hugging Face's configs. */
import { UnsupportedError } from "../../core/errors.ts";
import { quote } from "../../io/refuse.ts";
import {
  type ActivationName,
  activate,
  add,
  exp,
  type FloatTensor,
  log,
  multiply,
  scale,
  square,
  sub,
} from "../../nn/index.ts";

const ACTIVATIONS: Readonly<Record<string, ActivationName | "relu2" | "quick_gelu" | "xielu">> = {
  gelu: "gelu",
  gelu_new: "gelu-tanh",
  gelu_fast: "gelu-tanh",
  gelu_pytorch_tanh: "gelu-tanh",
  relu: "relu",
  relu2: "relu2",
  quick_gelu: "quick_gelu",
  xielu: "xielu",
  silu: "silu",
  swish: "silu",
};

/** The activation that a config names. Throws an UnsupportedError for one that heed does not have. */
export function activationNamed(name: string): ActivationName | "relu2" | "quick_gelu" | "xielu" {
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
  if (activation === "xielu")
    throw new UnsupportedError(
      "activation",
      "config: activation xielu has learned factors, which this model_type has not",
      { activation: name },
    );
  return activation === "relu2" ? square(activate(x, "relu")) : activate(x, activation);
}

/**
 * xIELU (Huang and Schlag 2024, arXiv 2411.13010) of x, with two learned factors [1] whose softplus counts:
 * αₚ·x² + x / 2 above 0, αₙ·(eˣ − 1 − x) + x / 2 below, αₙ = 1/2 + softplus.
 */
export function xielu(x: FloatTensor, positive: FloatTensor, negative: FloatTensor): FloatTensor {
  const softplus = (factor: FloatTensor) => log(add(exp(factor), 1));
  const above = activate(x, "relu");
  const below = sub(x, above);
  const curved = multiply(square(above), softplus(positive));
  const bent = multiply(sub(sub(exp(below), 1), below), add(softplus(negative), 0.5));
  return add(add(curved, bent), scale(x, 0.5));
}

/** Names of PyTorch's modules that a layer has not, and what to write. For its effect alone, as core/absent.ts. */
import { refuseNames } from "../core/absent.ts";
import { Module } from "./module.ts";

refuseNames(
  Module.prototype,
  "Module",
  {
    "dropout runs inside withDropout(seed, work) only, so no mode is switched": "train eval training",
    "a state is stateDict(), read by loadStateDict(state)": "state_dict load_state_dict",
    "parameters() is a Map of tensors by name": "named_parameters weights trainableWeights trainable_weights",
    "gradients are not stored in a layer: tape.gradients(loss, parameters) returns them":
      "zero_grad zeroGrad",
    "a layer is called by forward(x)": "call apply __call__ predict",
    "train({ model, data, steps }) of heed/train trains a model": "fit compile get_weights getWeights",
    "await layer.to(device) moves it, freeze() leaves its parameters as they are":
      "cuda cpu half requires_grad_",
  },
  true,
);

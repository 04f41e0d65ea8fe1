/** Names of PyTorch's optimizers that heed's have not, and what to write. For its effect alone, as core/absent.ts. */
import { refuseNames } from "../core/absent.ts";
import { Optimizer } from "./optimizer.ts";
import { Tape } from "./tape.ts";

refuseNames(Optimizer.prototype, "Optimizer", {
  "the rate of a step is an option: step(gradients, { lr })": "lr learningRate learning_rate param_groups",
  "gradients are not stored: tape.gradients(loss, parameters) returns those of its own tape":
    "zero_grad zeroGrad",
  "the state is moments() and steps, and writeCheckpoint saves it": "state_dict stateDict",
  "a step is optimizer.step(tape.gradients(loss, parameters))": "minimize apply_gradients applyGradients",
});
refuseNames(Tape.prototype, "Tape", {
  "gradients are what tape.gradients(loss, [x]) returns": "backward gradient grad watch",
});

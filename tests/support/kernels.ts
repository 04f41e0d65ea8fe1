/** The code of kernels, by their specs, for tests and benches that inspect it. */
import type { Spec } from "../../src/wasm/codegen/spec.ts";
import { backward } from "../../src/wasm/kernels/backward.ts";
import { decode } from "../../src/wasm/kernels/decode.ts";
import { forward } from "../../src/wasm/kernels/forward.ts";
import { pack } from "../../src/wasm/kernels/pack.ts";
import { weights } from "../../src/wasm/kernels/weights.ts";

/** The code of a kernel, as a module. */
export const codeOf = (spec: Spec): Uint8Array<ArrayBuffer> =>
  ({ backward, decode, forward, pack, weights })[spec.kind](spec);

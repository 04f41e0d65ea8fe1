/** The code of kernels, by their specs, for tests and benches that inspect it. */
import type { Spec } from "../../../src/wasm/codegen/spec.ts";
import { backward } from "../../../src/wasm/kernels/attention/backward.ts";
import { decode } from "../../../src/wasm/kernels/attention/decode.ts";
import { forward } from "../../../src/wasm/kernels/attention/forward.ts";
import { pack } from "../../../src/wasm/kernels/attention/pack.ts";
import { weights } from "../../../src/wasm/kernels/attention/weights.ts";

/** The code of a kernel, as a module. */
export const codeOf = (spec: Spec): Uint8Array<ArrayBuffer> =>
  ({ backward, decode, forward, pack, weights })[spec.kind](spec);

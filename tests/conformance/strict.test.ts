/** Level `strict`: plain SIMD, the same bits on every engine. */
import { conformance, WASM } from "./suite.ts";

conformance("strict", { skip: WASM });

/** Level `relaxed`: relaxed SIMD, the default. */
import { conformance, WASM } from "./suite.ts";

conformance("relaxed", { skip: WASM });

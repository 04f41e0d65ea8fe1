/** Level `strict`: plain SIMD, the same bits on every engine. */
import { conformance } from "./suite.ts";

conformance("strict");

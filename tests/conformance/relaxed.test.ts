/** Level `relaxed`: relaxed SIMD, the default. */
import { conformance } from "./suite.ts";

conformance("relaxed");

/** Level `reference`: plain TypeScript, without WebAssembly. */
import { conformance } from "./suite.ts";

conformance("reference");

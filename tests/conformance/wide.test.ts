/** Level `wide`: 256-bit registers by V8's revectorizer; skipped where the engine has none. */
import { conformance, WASM } from "./suite.ts";

conformance("wide", { skip: WASM });

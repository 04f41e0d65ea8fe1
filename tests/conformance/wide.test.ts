/** Level `wide`: 256-bit registers by V8's revectoriser; skipped where the engine has none. */
import { conformance } from "./suite.ts";

conformance("wide");

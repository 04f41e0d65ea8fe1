/** The Lab's worker. */
import type { Port } from "../../../src/store/compute/messages.ts";
import { setBase } from "./base.ts";
import { serveComputations } from "./serve.ts";

setBase(import.meta.url);
serveComputations(globalThis as unknown as Port);

/** The Lab's worker. */
import { setBase } from "./base.ts";
import { type Port, serveComputations } from "./serve.ts";

setBase(import.meta.url);
serveComputations(globalThis as unknown as Port);

/** The Lab's worker. */
import { type Port, serveComputations } from "./serve.ts";

serveComputations(globalThis as unknown as Port);

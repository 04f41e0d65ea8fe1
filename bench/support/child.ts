/** A session in a process of its own, because V8's flags and the peers' threads belong to a process. */
import { type Message, runSession } from "./session.ts";

const send = (message: Message) =>
  new Promise<void>((resolve) => process.send?.(message, undefined, undefined, () => resolve()));

await runSession(JSON.parse(process.argv[2]), `Node ${process.versions.node}`, send);
// Peers do not end their threads, which would keep the process alive.
process.exit(0);

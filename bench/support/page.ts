/** A session in a page: chromium.mjs opens it and receives its messages. */
import { type Message, runSession, type SessionOrder } from "./session.ts";

declare global {
  /** The binding that takes a message to the process that opened the page. */
  var sendMessage: (message: Message) => Promise<void>;
  var measureSession: (order: SessionOrder, runtime: string) => Promise<void>;
}

globalThis.measureSession = (order, runtime) => runSession(order, runtime, globalThis.sendMessage);

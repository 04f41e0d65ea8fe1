/**
 * The module of <attention-view>. In a page it defines the element; in a worker, which is made of this very module, it serves
 * the store: one file, whatever it is loaded as.
 */

import type { Port } from "../src/view/store/messages.ts";
import { serveStore } from "../src/view/store/serve.ts";
import { MARK } from "./open.ts";

const inPage = typeof document !== "undefined";
if (!inPage && typeof (globalThis as { importScripts?: unknown }).importScripts === "function")
  serveStore(globalThis as unknown as Port);

/** The element's class; undefined in a worker. */
export const AttentionView = inPage ? (await import("./element.ts")).AttentionView : undefined;
if (AttentionView && customElements.get("attention-view") === undefined)
  customElements.define("attention-view", AttentionView);

/** What this module is called. */
export const name: string = MARK;

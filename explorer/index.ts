/**
 * The module of <attention-view>. In a page it defines the element; in a worker, which is made of this very module, it
 * serves the store: one file, whatever it is loaded as. (Where there is no document, tools/element.mjs gives lit a stand-in
 * for the few it touches while it is loaded.)
 */
import type { Port } from "../src/view/store/messages.ts";
import { serveStore } from "../src/view/store/serve.ts";
import { AttentionView } from "./element.ts";
import { MARK } from "./open.ts";

if (typeof globalThis.document !== "undefined") {
  if (customElements.get(AttentionView.tag) === undefined)
    customElements.define(AttentionView.tag, AttentionView);
} else if (typeof (globalThis as { importScripts?: unknown }).importScripts === "function")
  serveStore(globalThis as unknown as Port);

export { AttentionView };
/** What this module is called: by it, a page that holds the module in a script of its own finds that script. */
export const name: string = MARK;

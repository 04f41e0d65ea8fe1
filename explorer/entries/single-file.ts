/**
 * The module of <attention-view> in one file. In a page it defines the elements; in a worker, which runs the same module, it
 * serves the store. (Without a document, tools/build/element.mjs provides the few globals that lit uses while it is loaded.) For pages
 * that copy one file, for one-file pages and, as its default export, for notebooks.
 */
import { FormatError } from "../../src/core/errors.ts";
import type { Port } from "../../src/store/compute/messages.ts";
import { serveStore } from "../../src/store/compute/serve.ts";
import { startWorker, startWorkerOf } from "../../ui/worker.ts";
import { provide } from "../app/workers.ts";

/** A marker in the text of this module: it identifies the inline script of a page that contains the module. */
export const name = "heed:attention-view";

if (
  typeof globalThis.document === "undefined" &&
  typeof (globalThis as { importScripts?: unknown }).importScripts === "function"
)
  serveStore(globalThis as unknown as Port);

provide({ worker, module: async () => inline() ?? (await fetch(import.meta.url)).text() });

function worker(): Port {
  const script = inline();
  const worker =
    script === undefined
      ? startWorker(import.meta.url, "attention-view")
      : startWorkerOf(script, "attention-view");
  return worker as unknown as Port;
}

/** The text of this module if the page contains it as an inline script. */
function inline(): string | undefined {
  if (import.meta.url.split("#")[0] !== location.href.split("#")[0]) return undefined;
  const scripts = [...document.querySelectorAll("script")];
  const text = scripts.find((script) => script.textContent?.includes(name))?.textContent;
  if (text == null)
    throw new FormatError(
      "module",
      "attention-view: the inline script with the module is no longer in the page",
    );
  return text;
}

export { default } from "./anywidget.ts";
export { AttentionRow, AttentionView } from "./define.ts";

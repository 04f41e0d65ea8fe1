/**
 * The module of <attention-view> in one file, whatever it is loaded as: in a page it defines the element; in a worker, which is
 * made of this very module, it serves the store. (Where there is no document, tools/element.mjs gives lit a stand-in for the
 * few it touches while it is loaded.) For pages that copy one file, one-file pages and, as its default export, notebooks.
 */
import { FormatError } from "../../src/core/errors.ts";
import type { Port } from "../../src/store/compute/messages.ts";
import { serveStore } from "../../src/store/compute/serve.ts";
import { provide } from "../app/workers.ts";

/** What this module is called: by it, a page that holds the module in a script of its own finds that script. */
export const name = "heed:attention-view";

if (
  typeof globalThis.document === "undefined" &&
  typeof (globalThis as { importScripts?: unknown }).importScripts === "function"
)
  serveStore(globalThis as unknown as Port);

provide({ worker, module: async () => inline() ?? (await fetch(import.meta.url)).text() });

function worker(): Port {
  const url = import.meta.url;
  const own = inline();
  if (own !== undefined) return workerOf([own]);
  if (new URL(url).origin === location.origin || !/^https?:/.test(url)) return started(url);
  return workerOf([`import ${JSON.stringify(url)}`]);
}

/** The text of this module where the page itself contains it: found by its name. */
function inline(): string | undefined {
  if (import.meta.url.split("#")[0] !== location.href.split("#")[0]) return undefined;
  const scripts = [...document.querySelectorAll("script")];
  const text = scripts.find((script) => script.textContent?.includes(name))?.textContent;
  if (text == null)
    throw new FormatError("module", "attention-view: the page's script with the module is gone");
  return text;
}

const started = (url: string): Port =>
  new Worker(url, { type: "module", name: "attention-view" }) as unknown as Port;

function workerOf(text: string[]): Port {
  const made = URL.createObjectURL(new Blob(text, { type: "text/javascript" }));
  try {
    return started(made);
  } finally {
    // The worker has begun to read; a minute is enough for the slowest.
    setTimeout(() => URL.revokeObjectURL(made), 60_000);
  }
}

export { default } from "./anywidget.ts";
export { AttentionRow, AttentionView } from "./define.ts";

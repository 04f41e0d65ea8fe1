/**
 * The explorer in notebooks: a front-end module as anywidget defines it (`export default { render }`, anywidget.dev), for
 * JupyterLab, Notebook 7, VS Code, Colab and marimo. It is the default export of the module in one file, dist/attention-view.js.
 *
 * Traits of the model, all optional:
 *   data     bytes: a bundle, npz, npy or JSON file           name     text: what it is called
 *   theme    "auto", "light", "dark"                          height   pixels, 640 by default
 *   view, mode, stage, block, layer, head                     as the element's attributes
 *   cursor   { block, layer, head, query, key }: written by the page, read and set from Python
 */
import type { AttentionViewElement, AttentionViewEvents } from "../../src/view/element.ts";
import { AttentionView } from "./define.ts";

/** The part of anywidget's model that is used. */
export interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  on(name: string, listener: () => void): void;
  off(name: string, listener: () => void): void;
}

const ATTRIBUTES = ["theme", "view", "mode", "stage", "block", "layer", "head"] as const;
const CURSOR = ["block", "layer", "head", "query", "key"] as const;

/** The bytes that a notebook sends: a view, a buffer, or nothing. */
function bytesOf(value: unknown): Uint8Array<ArrayBuffer> | undefined {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (!ArrayBuffer.isView(value) || value.byteLength === 0) return undefined;
  return new Uint8Array(value.buffer as ArrayBuffer, value.byteOffset, value.byteLength);
}

/** Renders the model into an element; returns a function that removes it. */
function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const view = document.createElement(AttentionView.tag) as AttentionViewElement;
  const ended: (() => void)[] = [];
  const follow = (name: string, act: (value: unknown) => void) => {
    const listener = () => act(model.get(name));
    listener();
    model.on(`change:${name}`, listener);
    ended.push(() => model.off(`change:${name}`, listener));
  };

  for (const name of ATTRIBUTES)
    follow(name, (value) => {
      if (typeof value === "string" || typeof value === "number") view.setAttribute(name, String(value));
    });
  follow("height", (value) => {
    view.style.setProperty("--heed-height", `${typeof value === "number" && value > 0 ? value : 640}px`);
  });
  // A key pressed in the element must not trigger the notebook's shortcuts, which are single letters too.
  const contain = (event: Event) => event.stopPropagation();
  view.addEventListener("keydown", contain);
  ended.push(() => view.removeEventListener("keydown", contain));

  let reported = "";
  const moved = (event: Event) => {
    const { detail } = event as AttentionViewEvents["cursorchange"];
    reported = JSON.stringify(detail);
    model.set("cursor", detail);
    model.save_changes();
  };
  view.addEventListener("cursorchange", moved);
  ended.push(() => view.removeEventListener("cursorchange", moved));

  el.append(view);
  follow("data", (value) => {
    const bytes = bytesOf(value);
    const name = model.get("name");
    // The element reports the error.
    if (bytes) view.open(bytes, typeof name === "string" && name !== "" ? name : "attention").catch(() => {});
  });
  follow("cursor", (value) => {
    if (value === null || typeof value !== "object" || JSON.stringify(value) === reported) return;
    const fields = value as Record<string, unknown>;
    const cell = CURSOR.filter((part) => typeof fields[part] === (part === "block" ? "string" : "number"));
    view.setCursor(Object.fromEntries(cell.map((part) => [part, fields[part]])));
  });
  return () => {
    for (const end of ended) end();
    view.remove();
  };
}

export default { render };

/**
 * The explorer's own pages as a map from path to bytes, read once when a server starts. Which files there are stands
 * here; nothing a request says has a part in it.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { UnsupportedError } from "../core/errors.ts";
import { shippedFolder } from "../io/shipped.ts";
import type { Page } from "./server.ts";

const HTML = "text/html; charset=utf-8";
const SCRIPT = "text/javascript; charset=utf-8";
const STYLE = "text/css; charset=utf-8";

/** Path on the server, file inside the built package, media type. */
const FILES: readonly (readonly [path: string, file: string, type: string])[] = [
  ["/", "page/index.html", HTML],
  ["/page.js", "page/page.js", SCRIPT],
  ["/page.css", "page/page.css", STYLE],
  ["/attention-view.js", "attention-view.js", SCRIPT],
];

/** A file of the built package as bytes. Throws an UnsupportedError where the package was not built. */
export function builtFile(name: string): Uint8Array {
  // The same folder from dist/server/ and, in a clone, from src/server/.
  const path = fileURLToPath(new URL(`../../dist/${name}`, import.meta.url));
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new UnsupportedError("explorer", `the explorer is not built (${path} is missing): npm run build`, {
      path,
      errno: (cause as NodeJS.ErrnoException).code,
    });
  }
}

/** The pages of the explorer. */
export function explorerPages(): Map<string, Page> {
  // Chromium asks for an icon by itself; none is said by an empty answer.
  const pages = new Map<string, Page>([["/favicon.ico", { type: "image/x-icon", body: new Uint8Array(0) }]]);
  for (const [path, file, type] of FILES) pages.set(path, { type, body: builtFile(file) });
  return pages;
}

const TYPES: Readonly<Record<string, string>> = { html: HTML, js: SCRIPT, css: STYLE };

/** Files of the encoder that reads a visitor's own sentence. */
const MODEL = ["config.json", "tokenizer.json", "model.safetensors"];

/** The pages of the Lab, with the explorer beside them at `/explorer/`. */
export function labPages(): Map<string, Page> {
  const pages = explorerPages();
  pages.set("/explorer/", pages.get("/")!);
  const folder = fileURLToPath(new URL("../../dist/lab/", import.meta.url));
  let names: string[];
  try {
    names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  } catch (cause) {
    throw new UnsupportedError("lab", `the Lab is not built (${folder} is missing): npm run build`, {
      path: folder,
      errno: (cause as NodeJS.ErrnoException).code,
    });
  }
  for (const name of names) {
    const type = TYPES[name.slice(name.lastIndexOf(".") + 1)];
    if (type !== undefined)
      pages.set(`/${name.replaceAll("\\", "/")}`, { type, body: builtFile(`lab/${name}`) });
  }
  pages.set("/", pages.get("/index.html")!);
  for (const name of MODEL)
    pages.set(`/model/${name}`, {
      type: name.endsWith(".json") ? "application/json" : "application/octet-stream",
      body: readFileSync(join(shippedFolder("encoder"), name)),
    });
  return pages;
}

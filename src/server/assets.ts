/**
 * The explorer's own pages as a map from path to bytes, read once when a server starts. Which files there are stands
 * here; nothing a request says has a part in it.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { UnsupportedError } from "../core/errors.ts";
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

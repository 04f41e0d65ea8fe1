/**
 * The explorer's own pages as a map from path to bytes, read once when a server starts. The list of files
 * is in this module; a request cannot change it.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { UnsupportedError } from "../core/errors.ts";
import { shippedFolder } from "../io/filesystem/shipped.ts";
import type { StaticFile } from "./content.ts";

const HTML = "text/html; charset=utf-8";
const SCRIPT = "text/javascript; charset=utf-8";
const STYLE = "text/css; charset=utf-8";

/** Path on the server, file inside the built package, media type. */
const FILES: readonly (readonly [path: string, file: string, type: string])[] = [
  ["/", "page/index.html", HTML],
  ["/page.js", "page/page.js", SCRIPT],
  ["/page.css", "page/page.css", STYLE],
  // The element as one file, for the HTML pages that the explorer writes.
  ["/attention-view.js", "attention-view.js", SCRIPT],
];

/** The folder of the element, split into parts that are loaded on demand. */
const ELEMENT = "attention-view";

/** The bytes of a file of the built package. Throws an UnsupportedError if the package was not built. */
export function builtFile(name: string): Uint8Array {
  // This path is right from dist/server/ and, in a clone, from src/server/.
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

/** The scripts in a folder of the built package, as `parts/NAME`. */
function partsOf(folder: string): string[] {
  const path = fileURLToPath(new URL(`../../dist/${folder}/`, import.meta.url));
  return readdirSync(path)
    .filter((name) => name.endsWith(".js"))
    .map((name) => `parts/${name}`);
}

/** The pages of the explorer. */
export function explorerPages(): Map<string, StaticFile> {
  // Chromium always requests an icon; an empty response means none.
  const pages = new Map<string, StaticFile>([
    ["/favicon.ico", { type: "image/x-icon", body: new Uint8Array(0) }],
  ]);
  for (const [path, file, type] of FILES) pages.set(path, { type, body: builtFile(file) });
  for (const name of ["element.js", "gpu.js", "worker.js", ...partsOf(`${ELEMENT}/parts`)])
    pages.set(`/${ELEMENT}/${name}`, { type: SCRIPT, body: builtFile(`${ELEMENT}/${name}`) });
  return pages;
}

const TYPES: Readonly<Record<string, string>> = { html: HTML, js: SCRIPT, css: STYLE };

/** Files of the encoder that runs on a visitor's sentence. */
const MODEL = ["config.json", "tokenizer.json", "model.safetensors"];

/** The captured sentence that the Lab's explorer shows first. */
const FIRST_CAPTURE = "tired-cat";

/** The pages of the Lab, and in `/explorer/` a page of the explorer for each captured sentence. */
export function labPages(): Map<string, StaticFile> {
  const pages = explorerPages();
  pages.delete("/page.js");
  for (const [name, body] of captures()) {
    pages.set(`/explorer/${name}.html`, { type: HTML, body: new TextEncoder().encode(capturePage(name)) });
    pages.set(`/explorer/${name}.safetensors`, { type: "application/octet-stream", body });
  }
  const opened = pages.get(`/explorer/${FIRST_CAPTURE}.html`);
  if (opened !== undefined) pages.set("/explorer/index.html", opened);
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
      pages.set(`/${name.replaceAll("\\", "/")}`, { type, body: builtFile(`lab/${name}`), wasm: true });
  }
  pages.set("/", pages.get("/index.html")!);
  for (const name of MODEL)
    pages.set(`/model/${name}`, {
      type: name.endsWith(".json") ? "application/json" : "application/octet-stream",
      body: readFileSync(join(shippedFolder("encoder"), name)),
    });
  return pages;
}

/** The captured sentences by name, as files. */
function captures(): [name: string, body: Uint8Array][] {
  let folder: string;
  try {
    folder = shippedFolder("captures");
  } catch {
    // The Lab works without captures; only its links to the explorer need them.
    return [];
  }
  return readdirSync(folder)
    .filter((name) => /^[a-z-]+\.safetensors$/.test(name))
    .map((name) => [name.slice(0, -12), readFileSync(join(folder, name))]);
}

/** The explorer on one captured sentence, with a link back to the Lab. */
function capturePage(name: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${name} · heed</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page.css">
<script type="module" src="/attention-view/element.js"></script>
</head>
<body>
<main>
<h1>heed: attention, explored</h1>
<p class="notice"><a href="/">Back to the Lab</a></p>
<attention-view address src="${name}.safetensors"></attention-view>
</main>
</body>
</html>
`;
}

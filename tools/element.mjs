/**
 * Bundles the web component, twice: in parts that are loaded when they are needed (dist/attention-view/, what packages and
 * bundlers get as `heed/attention-view`), and as the one module dist/attention-view.js with everything in it, lit and the
 * workers' code included (for pages that copy one file, one-file pages and notebooks). Part of `npm run build` (build.mjs);
 * alone it takes a second, for those who work on the explorer. The types of both are those of src/view/element.ts.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { at } from "./setup.mjs";

/** Templates and style sheets need no indentation. Nothing in explorer/ has a string whose indentation counts. */
const outdent = {
  name: "heed-outdent",
  /**
   * @param {string} code
   * @param {string} id
   */
  transform: (code, id) => (id.startsWith(at("explorer")) ? code.replace(/\n[ \t]+/g, "\n") : undefined),
};

/** What both bundles are made with. */
const HOW = {
  platform: /** @type {const} */ ("browser"),
  logLevel: /** @type {const} */ ("warn"),
  plugins: [outdent],
  transform: { target: "es2022" },
};

/** lit is the one package in the bundle; its licence asks to be kept with it. */
function notice() {
  const licence = readFileSync(at("node_modules/lit/LICENSE"), "utf8").trim();
  return `/*! heed, the attention explorer. Contains lit (BSD-3-Clause):\n${licence}\n*/`;
}

/** The same for the parts, in the words of lit's own files: the license's text is in the package's THIRD-PARTY.md. */
const SHORT_NOTICE =
  "/*! heed, the attention explorer. Contains lit: Copyright Google LLC, SPDX-License-Identifier: BSD-3-Clause, text in THIRD-PARTY.md */";

/**
 * In a worker the same module serves the store. lit touches the document while it is loaded, so there it finds these,
 * which are this module's own and no page's.
 */
const STAND_INS =
  "const document=globalThis.document??{createTreeWalker(){}},HTMLElement=globalThis.HTMLElement??class{};";

/**
 * A module of explorer/ that holds the element, as one bundle.
 * @param {string} input
 * @returns {Promise<string>}
 */
export async function bundleElement(input) {
  const bundle = await rolldown({
    input: at(input),
    ...HOW,
  });
  const { output } = await bundle.generate({
    format: "esm",
    minify: true,
    comments: { legal: false },
    banner: STAND_INS,
    codeSplitting: false,
  });
  await bundle.close();
  return `${notice()}\n${output[0].code}`;
}

/**
 * The element in parts: what a page loads first (element.js), what its workers run (worker.js), and the rest (parts/).
 * @returns {Promise<{ name: string, code: string }[]>}
 */
export async function bundleParts() {
  rmSync(at("dist/attention-view/parts"), { recursive: true, force: true });
  const bundle = await rolldown({
    input: { element: at("explorer/entries/index.ts"), worker: at("explorer/entries/worker.ts") },
    ...HOW,
  });
  const { output } = await bundle.generate({
    format: "esm",
    minify: true,
    comments: { legal: false },
    chunkFileNames: "parts/[name].js",
    // Small files that are always wanted together are one.
    codeSplitting: {
      groups: [
        // No lit here: workers load it too.
        {
          name: "words",
          test: /src\/core\/errors|src\/view\/color\.ts|src\/store\/(?:text\/(?:label|tokens|number)|measures\/(?:transfer|sentence)|types)\.ts/,
        },
        // What a worker computes with, and what opening a file reads of it.
        {
          name: "messages",
          test: /src\/(?:masks|core\/(?:tensor|nested|format|dtype|record|arena|device)|store\/(?:recipe|compute\/(?:work|head|compute|scheduler|visibility|messages|row-source)|measures\/(?:measures|claims|pool)))/,
        },
        {
          name: "base",
          test: /node_modules|explorer\/(?:app\/(?:session|workers|element|row-element)\.|entries\/define|state\/(?:history|select|state|url)|styles\/(?:theme|css)|canvas\/axis)/,
        },
      ],
    },
  });
  await bundle.close();
  return output.map((chunk) => ({
    name: chunk.fileName,
    code: chunk.type === "chunk" ? `${chunk.name === "element" ? `${SHORT_NOTICE}\n` : ""}${chunk.code}` : "",
  }));
}

/** The module's types: what src/view/element.ts says, and that the tag is that element. No package is named in them. */
const TYPES = `import type { AttentionRowElement, AttentionViewElement } from "./view/element.js";
export * from "./view/element.js";
/** The class of <attention-view>; importing this module defines it. */
export declare const AttentionView: { new (): AttentionViewElement; readonly tag: "attention-view" };
/** The class of <attention-row>, defined with it. */
export declare const AttentionRow: { new (): AttentionRowElement; readonly tag: "attention-row" };
declare global {
  interface HTMLElementTagNameMap {
    "attention-view": AttentionViewElement;
    "attention-row": AttentionRowElement;
  }
}
`;

export async function buildElement() {
  writeFileSync(at("dist/attention-view.js"), await bundleElement("explorer/entries/single-file.ts"));
  for (const { name, code } of await bundleParts()) {
    const file = at(`dist/attention-view/${name}`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, code);
  }
  writeFileSync(at("dist/attention-view.d.ts"), TYPES);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  await buildElement();

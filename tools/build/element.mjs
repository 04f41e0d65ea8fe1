/**
 * Bundles the web component, twice: in parts that are loaded when they are needed (dist/attention-view/, what packages and
 * bundlers get as `heed/attention-view`), and as the one module dist/attention-view.js with everything in it, lit and the
 * workers' code included (for pages that copy one file, one-file pages and notebooks). Part of `npm run build` (build.mjs);
 * `node tools/build/element.mjs` builds only these. The types of both are in src/view/element.ts.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { at } from "../setup.mjs";

/**
 * Removes indentation, which templates and style sheets do not need (no string in explorer/ and ui/ depends on it), and from style
 * sheets also comments and the spaces around their punctuation.
 */
const outdent = {
  name: "heed-outdent",
  /**
   * @param {string} code
   * @param {string} id
   */
  transform: (code, id) =>
    id.startsWith(at("explorer")) || id.startsWith(at("ui"))
      ? code.replace(/\n[ \t]+/g, "\n").replace(/(?<=\bcss`)[^`]*/g, withoutSpaces)
      : undefined,
};

/** @param {string} sheet */
export const withoutSpaces = (sheet) =>
  sheet
    .replace(/\/\*.*?\*\//gs, "")
    .replace(/\s*([{;,])\s*/g, "$1")
    .replace(/;?\s*}\s*/g, "}")
    .replace(/(?<=[\w\])*]) > (?=[\w.:#*[])/g, ">")
    .replace(/(?<=[{;][\w-]+:) /g, "");

/** Pages compute on one thread: their bundles have the pool of one, and bundlers find no script that it would start. */
export const oneThread = {
  name: "heed-one-thread",
  /** @param {string} id */
  resolveId: (id) => (/[\\/]worker-pool\.ts$/.test(id) ? at("tools/build/one-thread.mjs") : undefined),
};

/** One file has everything at once: it imports at its start what is else imported on use, with no function around each module. */
const atOnce = {
  name: "heed-at-once",
  /** @param {string} code */
  transform(code) {
    let imports = "";
    const text = code.replace(/(?<!typeof )\bimport\((".*?")\)/g, (_, path, at) => {
      imports += `import * as imported${at} from ${path};`;
      return `Promise.resolve(imported${at})`;
    });
    return imports === "" ? undefined : imports + text;
  },
};

/** Options of both bundles. */
const OPTIONS = {
  platform: /** @type {const} */ ("browser"),
  logLevel: /** @type {const} */ ("warn"),
  plugins: [outdent, oneThread],
  transform: { target: "es2022" },
};

/** lit is the only package in the bundle; its license must be included. */
const NOTICE = `/*! heed, the attention explorer. Contains lit (BSD-3-Clause):\n${readFileSync(at("node_modules/lit/LICENSE"), "utf8").trim()}\n*/`;

/** The notice of the parts, as in lit's own files: the text of the license is in the package's THIRD-PARTY.md. */
const SHORT_NOTICE =
  "/*! heed, the attention explorer. Contains lit: Copyright Google LLC, SPDX-License-Identifier: BSD-3-Clause, text in THIRD-PARTY.md */";

/**
 * lit reads `document` while it loads, and elements extend `HTMLElement`. A worker, which runs the same module, has neither, and no
 * server that renders pages has; so the files with them declare substitutes.
 */
const SUBSTITUTES =
  "const document=globalThis.document??{createTreeWalker(){}},HTMLElement=globalThis.HTMLElement??class{};";

/** The substitutes that a file of a bundle needs. @param {{ moduleIds: string[] }} chunk */
export const substitutesOf = ({ moduleIds }) =>
  moduleIds.some((id) => /node_modules[\\/]lit|runtime[\\/]element/.test(id)) ? SUBSTITUTES : "";

/** A module of explorer/ as one bundle. @param {string} input */
async function bundleOne(input, banner = "") {
  const bundle = await rolldown({ input: at(input), ...OPTIONS, plugins: [atOnce, ...OPTIONS.plugins] });
  const { output } = await bundle.generate({
    format: "esm",
    minify: true,
    comments: { legal: false },
    banner,
    codeSplitting: false,
  });
  await bundle.close();
  return output[0].code;
}

/**
 * The element in parts: what a page loads first (element.js), what its workers run (worker.js), and the rest (parts/).
 * @returns {Promise<{ name: string, code: string }[]>}
 */
async function bundleParts() {
  rmSync(at("dist/attention-view/parts"), { recursive: true, force: true });
  const bundle = await rolldown({
    input: { element: at("explorer/entries/index.ts"), worker: at("explorer/entries/worker.ts") },
    ...OPTIONS,
  });
  const { output } = await bundle.generate({
    format: "esm",
    minify: true,
    comments: { legal: false },
    banner: substitutesOf,
    chunkFileNames: "parts/[name].js",
    // Small modules that are always loaded together are one chunk.
    codeSplitting: {
      groups: [
        // No lit here: workers load it too.
        {
          name: "words",
          test: /src\/core\/errors|src\/view\/color\.ts|src\/store\/(?:text\/(?:label|tokens|number)|measures\/transfer|sentences\/sentence|block|head-store)\.ts/,
        },
        // Modules that workers compute with, and that opening a file needs too.
        {
          name: "messages",
          test: /src\/(?:masks(?!\/(?:index|expression\/(?:wgsl|derivative)))|rows(?!\/problem)|core\/(?:(?:tensor|nested|format|dtype|changes|strides|arena)\.|record|device\/device)|store\/(?:recipe|compute\/(?:work|head|compute|scheduler|request|messages|row-source)|measures\/(?:measures|claims|pool|tile)))/,
        },
        {
          name: "base",
          test: /node_modules|explorer\/(?:app\/(?:session|workers|attributes|element|row-element)\.|entries\/define|state\/(?:history|state|url)|styles\/theme|canvas\/axis)|ui\/(?:address|colors|css|markup|worker)/,
        },
      ],
    },
  });
  await bundle.close();
  // The GPU of a worker imports no part: bundlers copy the file as it is.
  const gpu = { name: "gpu.js", code: await bundleOne("explorer/entries/gpu.ts") };
  return [
    gpu,
    ...output.map((chunk) => ({
      name: chunk.fileName,
      code:
        chunk.type === "chunk" ? `${chunk.name === "element" ? `${SHORT_NOTICE}\n` : ""}${chunk.code}` : "",
    })),
  ];
}

/** The module's types: those of src/view/element.ts, and the tag names. They import no package. */
const TYPES = `import type { AttentionRowElement, AttentionViewElement } from "../view/element.js";
export * from "../view/element.js";
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

/** The types of the one module: also the default export for notebooks. */
const MODULE_TYPES = `export * from "./attention-view/element.js";
export { default, type Model } from "./attention-view/anywidget.js";
/** A marker in the text of the module. */
export declare const name: string;
`;

export async function buildElement() {
  const single = await bundleOne("explorer/entries/single-file.ts", SUBSTITUTES);
  writeFileSync(at("dist/attention-view.js"), `${NOTICE}\n${single}`);
  for (const { name, code } of await bundleParts()) {
    const file = at(`dist/attention-view/${name}`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, code);
  }
  writeFileSync(at("dist/attention-view/element.d.ts"), TYPES);
  writeFileSync(at("dist/attention-view.d.ts"), MODULE_TYPES);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  await buildElement();

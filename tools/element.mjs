/**
 * Bundles the web component: explorer/index.ts with all it needs, lit and the workers' code included, to the one
 * ES module dist/attention-view.js. Part of `npm run build` (build.mjs); alone it takes a second, for those who work on
 * the explorer. The module's types are those of src/view/element.ts.
 */
import { readFileSync, writeFileSync } from "node:fs";
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

/** lit is the one package in the bundle; its licence asks to be kept with it. */
function notice() {
  const licence = readFileSync(at("node_modules/lit/LICENSE"), "utf8").trim();
  return `/*! heed, the attention explorer. Contains lit (BSD-3-Clause):\n${licence}\n*/`;
}

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
    platform: "browser",
    logLevel: "warn",
    plugins: [outdent],
    transform: { target: "es2022" },
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

/** The module's types: what src/view/element.ts says, and that the tag is that element. No package is named in them. */
const TYPES = `import type { AttentionViewElement } from "./view/element.js";
export * from "./view/element.js";
/** The class of <attention-view>; importing this module defines it. */
export declare const AttentionView: { new (): AttentionViewElement; readonly tag: "attention-view" };
declare global {
  interface HTMLElementTagNameMap {
    "attention-view": AttentionViewElement;
  }
}
`;

export async function buildElement() {
  writeFileSync(at("dist/attention-view.js"), await bundleElement("explorer/index.ts"));
  writeFileSync(at("dist/attention-view.d.ts"), TYPES);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  await buildElement();

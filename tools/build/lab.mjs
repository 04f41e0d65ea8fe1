/**
 * Builds the Lab (dist/lab/): static pages whose first numbers heed computes during the build, their script, the element
 * <attention-lab>, one worker, and the chunks of all of them.
 * Part of `npm run build`; `node tools/build/lab.mjs [folder [catalog]]` writes the pages to another folder, translated by a
 * catalog (lab-strings.mjs).
 * Needs Node ≥ 22.18, because it imports TypeScript.
 */
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { PAGES } from "../../lab/pages.ts";
import { at } from "../setup.mjs";
import { oneThread, substitutesOf } from "./element.mjs";
import { translateImports, translation } from "./lab-strings.mjs";
import { UNUSED } from "./unused.mjs";

/** A package in two of the bundles, in the parts that they load together; its license is in THIRD-PARTY.md. */
const NOTICE = "/*! heed, the Lab. Contains lit (BSD-3-Clause, © Google LLC): text in THIRD-PARTY.md */\n";

/**
 * Modules that most pages load together are one chunk: one file compresses better than several small ones. The first chunk writes
 * markup, so the worker, which has no document, imports nothing of it.
 */
export const GROUPS = [
  {
    name: "page",
    test: /[\\/](?:node_modules[\\/]lit|ui[\\/](?:address|controls|css|markup|svg-text)|src[\\/]view[\\/](?:level|plot)|lab[\\/]pages\.|lab[\\/]frame[\\/](?:fields|page|render|marks|fit|throw|runtime[\\/](?:draw|input|mount|progress|request|sentence|state)))/,
  },
  {
    name: "attention",
    test: /[\\/](?:build[\\/](?:one-thread|unused)\.mjs|frame[\\/]softmax\.ts|src[\\/](?:api[\\/](?:attention|row-sums|dispatch[\\/](?:rule|forward))|rows[\\/][a-z-]+|reference[\\/](?:rows?|problem-forward)|core[\\/](?:arena|changes|strides|tensor|shape|create[\\/](?:nested|construct)|known-names|format|dtype|record(?:ing)?|random|device(?![\\/]tensor)|option-names|numbers)|masks[\\/](?:kind|causal|expression[\\/](?:expr|bounds|js|table))|backend[\\/](?!packed|plan[\\/]plan|gradients|array|index|map\.|register\.)[a-z]+|wasm[\\/](?:assembler|codegen|attention(?:[\\/](?:forward|weights))?|engine[\\/](?!arena|resident)[a-z-]+|kernels[\\/](?:lanes|memory|attention[\\/](?:dropout|softmax|row-tile|decode|products|pack|score-row|forward|weights))))(?:[\\/][a-z0-9]+)?\.(?:ts|js))$/,
  },
  {
    name: "operations",
    test: /[\\/]src[\\/](?:api[\\/](?:array|matmul|rowwise|dispatch[\\/](?:array|matmul|rowwise))|backend[\\/]array|reference[\\/](?:array|matmul|rowwise|erf)|nn[\\/]ops[\\/](?:arithmetic|products|operand|shapes|softmax)|core[\\/]device[\\/]tensor|wasm[\\/](?:ops[\\/]row[a-z-]+|kernels[\\/]rowwise[\\/](?:norm|elementwise|row-pipeline|cross-entropy|adamw|column-sums)))\.ts$/,
  },
  {
    name: "words",
    test: /[\\/](?:src[\\/]store[\\/]text[\\/](?:label|number)|lab[\\/](?:frame[\\/]words|variants[\\/]shown))\.ts$/,
  },
  {
    name: "layers",
    test: /[\\/]src[\\/]nn[\\/](?:embedding|history[\\/](?:scored|additive|additive-scores|gru|luong|encoder-decoder)|key-mask|linear|module|initialize|ops[\\/](?:attend|activations|lookup|select))\.ts$/,
  },
].map((group) => ({ ...group, includeDependenciesRecursively: false }));

/** The Lab's bundles have unused.mjs in place of some modules. */
export const withoutUnused = {
  name: "heed-unused",
  /** @param {string} id @param {string} [importer] */
  resolveId: (id, importer = "") =>
    UNUSED.test(join(dirname(importer), id)) ? at("tools/build/unused.mjs") : undefined,
};

/** An import of a page by its name, `../${page}/notes.ts`, as one import for each page, so that Rolldown makes its chunk. */
const importsByName = {
  name: "heed-lab-pages",
  /** @param {string} code */
  transform: (code) =>
    code.replaceAll(
      /import\(`([./]+)\$\{(\w+)\}(\/\w+\.ts)`\)/g,
      (_, up, name, file) =>
        `({${PAGES.map((page) => `"${page}":()=>import("${up}${page}${file}")`)}})[${name}]()`,
    ),
};

/** Scripts by name: what a page loads (lab.js), what its worker runs (lab-worker.js), and chunks for each page. @param {Readonly<Record<string, string>>} catalog */
async function scripts(catalog) {
  const bundle = await rolldown({
    input: {
      lab: at("lab/frame/runtime/start.ts"),
      "attention-lab": at("lab/frame/runtime/element.ts"),
      "lab-worker": at("lab/frame/runtime/worker.ts"),
      "own-view": at("lab/frame/runtime/own-view.ts"),
    },
    plugins: [oneThread, withoutUnused, importsByName, translation(catalog)],
    platform: "browser",
    logLevel: "warn",
    // A chunk of a group exports what other chunks import from it.
    preserveEntrySignatures: "allow-extension",
    transform: { target: "es2022" },
  });
  const { output } = await bundle.generate({
    format: "esm",
    minify: true,
    comments: { legal: false },
    banner: substitutesOf,
    codeSplitting: { groups: GROUPS },
    // The three chunks of a page are named after its folder: parts/saturation-page.js, -compute.js, -notes.js.
    chunkFileNames: ({ facadeModuleId }) =>
      `parts/${/[\\/]lab[\\/]([a-z-]+[\\/](?:page|compute|notes))\.ts$/.exec(facadeModuleId ?? "")?.[1].replace(/[\\/]/, "-") ?? "[name]"}.js`,
  });
  await bundle.close();
  return output.map((chunk) => ({
    name: chunk.fileName,
    code:
      chunk.type === "chunk"
        ? `${chunk.moduleIds.some((id) => id.includes("node_modules")) ? NOTICE : ""}${chunk.code}`
        : "",
  }));
}

/**
 * Writes the Lab to a folder, for any web server. With `model` it also writes the encoder, for sentences that a visitor types.
 * @param {string} folder
 * @param {{ explorer?: string, docs?: string, model?: boolean, catalog?: Readonly<Record<string, string>> }} [options] explorer: address of the explorer's pages, relative to a
 *   page of the Lab; docs: address of the documentation; model: whether the encoder is copied;
 *   catalog: translations of the visible strings (lab-strings.mjs)
 */
export async function buildLab(folder, { explorer = "../explorer/", docs, model = true, catalog = {} } = {}) {
  if (Object.keys(catalog).length > 0) translateImports(catalog);
  const { configure } = await import(pathToFileURL(at("src/index.ts")).href);
  const { renderSite } = await import(pathToFileURL(at("lab/frame/site.ts")).href);
  // The same setting as in the pages' worker, so that it computes the same bits later.
  configure({ threads: 1 });
  rmSync(folder, { recursive: true, force: true });
  for (const [name, text] of await renderSite({ explorer, docs })) write(join(folder, name), text);
  for (const { name, code } of await scripts(catalog)) write(join(folder, name), code);
  write(join(folder, "attention-lab.d.ts"), TYPES);
  if (model) {
    mkdirSync(join(folder, "model"), { recursive: true });
    for (const name of MODEL) copyFileSync(at(`models/encoder/${name}`), join(folder, "model", name));
    // heed's server has the element at the same place.
    copyFileSync(at("dist/attention-view.js"), join(folder, "attention-view.js"));
  }
}

/** The types of the script attention-lab.js: those of src/view/lab-element.ts, and the tag name. */
const TYPES = `import type { AttentionLabElement } from "../view/lab-element.js";
export type * from "../view/lab-element.js";
declare global {
  interface HTMLElementTagNameMap {
    "attention-lab": AttentionLabElement;
  }
}
`;

/** Files of the encoder, which reads the sentences that a visitor types. */
const MODEL = ["config.json", "tokenizer.json", "model.safetensors"];

/** @param {string} file @param {string} text */
function write(file, text) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  if (process.argv[2] === undefined) await buildLab(at("dist/lab"), { explorer: "explorer/", model: false });
  else {
    const catalog = process.argv[3] === undefined ? {} : JSON.parse(readFileSync(process.argv[3], "utf8"));
    await buildLab(resolve(process.argv[2]), { docs: "../index.html", catalog });
  }
  process.exit(0);
}

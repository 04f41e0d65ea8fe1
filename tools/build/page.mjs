/**
 * Builds the page that `heed view` serves (dist/page/), the React component, and the types of the notebook module
 * (dist/attention-view/). Part of `npm run build`. element.mjs builds the element.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { at } from "../setup.mjs";
import { withoutSpaces } from "./element.mjs";

/**
 * Bundles one file of explorer/ to an ES module.
 * @param {string} input
 * @param {string} output
 * @param {(string | RegExp)[]} [external] modules that are not bundled
 * @param {string} [banner] text before the code
 */
async function bundle(input, output, external = [], banner = "") {
  const bundle = await rolldown({
    input: at(input),
    platform: "browser",
    logLevel: "warn",
    external,
    transform: { target: "es2022" },
  });
  const { output: chunks } = await bundle.generate({ format: "esm", minify: true, codeSplitting: false });
  await bundle.close();
  writeFileSync(at(output), banner + chunks[0].code);
}

/** Next.js runs a module with this directive in the browser too, where hooks work. */
const USE_CLIENT = '"use client";\n';

export async function buildPage() {
  mkdirSync(at("dist/page"), { recursive: true });
  copyFileSync(at("explorer/page/index.html"), at("dist/page/index.html"));
  writeFileSync(at("dist/page/page.css"), withoutSpaces(readFileSync(at("explorer/page/page.css"), "utf8")));
  await bundle("explorer/page/page.ts", "dist/page/page.js");
  mkdirSync(at("dist/attention-view"), { recursive: true });
  await bundle(
    "explorer/entries/react.ts",
    "dist/attention-view/react.js",
    ["react", "heed/attention-view"],
    USE_CLIENT,
  );
  writeTypes();
}

/** The types of the wrappers, as the compiler writes them, with imports changed from explorer/ to dist/. */
function writeTypes() {
  const tsc = at("node_modules/typescript/bin/tsc");
  const done = spawnSync(process.execPath, [tsc, "-p", at("tsconfig.wrappers.json")], { stdio: "inherit" });
  if (done.status !== 0) throw new Error("the types of the wrappers could not be written (see above)");
  for (const name of ["react", "anywidget"]) {
    const text = readFileSync(at(`dist/wrappers/explorer/entries/${name}.d.ts`), "utf8");
    writeFileSync(at(`dist/attention-view/${name}.d.ts`), text.replaceAll('"../../src/view/', '"../view/'));
  }
  rmSync(at("dist/wrappers"), { recursive: true });
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  await buildPage();

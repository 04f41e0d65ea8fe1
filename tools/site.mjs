/**
 * `npm run site`: the documentation as static files in `site/`, for any web server and for reading from disk. TypeDoc
 * writes the chapters (docs/), the README and the API reference with its search. The site also has the explorer, one page for
 * each capture of a real model (`explorer/`), and the Lab (`lab/`).
 * `--check` writes nothing: it fails if an export has no doc comment, or a link in a doc comment is broken.
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { pathToFileURL } from "node:url";
import { at, build, install, pinned, run, say } from "./setup.mjs";
import { brokenLinks } from "./site/links.mjs";

/** The capture that the explorer's first page shows. */
const FIRST = "time-flies";

/** The captures of a real model's attention, one page of the explorer each. */
const captures = () =>
  readdirSync(at("models/captures"))
    .filter((name) => name.endsWith(".safetensors"))
    .sort();

/** @param {string} name */
const stem = (name) => name.replace(/\.safetensors$/, "");

/** @param {string[]} args */
function heed(args) {
  if (run(pinned(), [at("dist/cli/main.js"), ...args], { quiet: true }) !== 0)
    throw new Error(`heed ${args[0]} failed (see above)`);
}

/** TypeDoc needs another version of TypeScript, so it is installed separately from the other tools. */
function installTypeDoc() {
  const folder = at("tools/site");
  if (existsSync(at("tools/site/node_modules/typedoc/package.json"))) return;
  say("installing TypeDoc …");
  const status = run("npm", ["ci", "--no-audit", "--no-fund", "--ignore-scripts"], {
    cwd: folder,
    quiet: true,
  });
  if (status !== 0) throw new Error("tools/site: npm ci failed (see above)");
}

/** @param {string[]} args */
function typedoc(args) {
  const status = run(pinned(), [at("tools/site/node_modules/typedoc/bin/typedoc"), ...args], {
    cwd: at("tools/site"),
    quiet: true,
  });
  if (status !== 0) throw new Error("TypeDoc found the problems above");
}

/** Checks that every export has a doc comment and every link in one resolves; throws, after TypeDoc's list, if not. */
function checkReference() {
  installTypeDoc();
  // `tsc` finds errors of types; TypeDoc's own search for them takes two thirds of its time.
  typedoc(["--emit", "none", "--skipErrorChecking"]);
}

/** Adds links to the Lab and the documentation above the explorer of a page. @param {string} file */
export function linkToLab(file) {
  const text = readFileSync(file, "utf8");
  const element = "<attention-view address";
  if (!text.includes(element)) throw new Error(`${file} has no explorer`);
  // The first match is the element; the scripts after it may contain the same text.
  writeFileSync(
    file,
    text.replace(
      element,
      () =>
        `<p><a href="../lab/index.html">Learn it in the Lab</a> · <a href="../index.html">Documentation</a></p>\n${element}`,
    ),
  );
}

/** Writes the site. @param {string} out */
async function buildSite(out) {
  installTypeDoc();
  rmSync(out, { recursive: true, force: true });
  say("chapters and API reference …");
  typedoc(["--out", out]);

  say("the explorer …");
  mkdirSync(`${out}/explorer`, { recursive: true });
  for (const name of captures())
    heed(["html", at(`models/captures/${name}`), "-o", `${out}/explorer/${stem(name)}.html`]);
  for (const name of captures()) linkToLab(`${out}/explorer/${stem(name)}.html`);
  copyFileSync(`${out}/explorer/${FIRST}.html`, `${out}/explorer/index.html`);

  say("the Lab …");
  if (run(pinned(), [at("tools/build/lab.mjs"), `${out}/lab`], { quiet: true }) !== 0)
    throw new Error("the Lab was not built (see above)");
  const broken = brokenLinks(out);
  if (broken.length > 0) throw new Error(`links of the site that lead nowhere:\n${broken.join("\n")}`);
  say(`site/ is complete: open ${out}/index.html`);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  install();
  if (process.argv.includes("--check")) checkReference();
  else {
    build();
    await buildSite(at("site"));
  }
}

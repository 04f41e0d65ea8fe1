// @ts-check
/**
 * The built command line on the running Node: the main job, help, a wrong command, and the levels that `heed doctor` reports. On
 * Node 24 and later the commands run with the permission model: they may only read the repository and start threads.
 */
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Tally } from "../../tools/parts/tally.mjs";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const tally = new Tally((line) => process.stdout.write(`${line}\n`));
const major = Number(process.versions.node.split(".")[0]);
const permissions = major >= 24 ? ["--permission", `--allow-fs-read=${root}`, "--allow-worker"] : [];

/** @param {string[]} args */
function heed(...args) {
  const argv = [...permissions, join(root, "dist/cli/main.js"), ...args];
  // From outside of the repository, so that nothing depends on the current folder.
  const done = spawnSync(process.execPath, argv, { cwd: dirname(root), encoding: "utf8", timeout: 300_000 });
  return { ...done, reported: `status ${done.status}, ${done.stderr.trim().slice(-500)}` };
}

/** @param {string} text */
function json(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const help = heed("--help");
tally.check("heed --help", help.status === 0 && /Usage: heed/.test(help.stdout) ? "" : help.reported);

const show = heed("show", "time flies like an arrow", "fruit flies like a banana", "--json");
const texts = json(show.stdout)?.texts;
tally.check("heed show", show.status === 0 && texts?.length === 2 ? "" : show.reported);
for (const { text, heads } of texts ?? [])
  for (const { layer, head, weights } of heads) {
    const sums = weights.map((/** @type {number[]} */ row) => row.reduce((sum, p) => sum + p, 0));
    const off = sums.filter((/** @type {number} */ sum) => !(Math.abs(sum - 1) < 1e-5));
    tally.check(`rows of "${text}" L${layer} H${head} sum to 1`, off.join(", "));
  }

const wrong = heed("shw");
const meant = wrong.status === 2 && wrong.stdout === "" && /did you mean show/.test(wrong.stderr);
tally.check("heed shw", meant ? "" : wrong.reported);

const doctor = heed("doctor", "--json");
const report = json(doctor.stdout);
tally.check("heed doctor", doctor.status === 0 && report !== undefined ? "" : doctor.reported);
if (report !== undefined) {
  const runs = ["reference", "strict"];
  if (major >= 22) runs.push("relaxed");
  if (major === 24) runs.push("wide");
  for (const level of runs)
    tally.check(
      `level ${level} runs`,
      report.levels[level]?.runs === true ? "" : `${report.levels[level]?.why}`,
    );
  tally.check("threads start", report.threads === true ? "" : "they do not");
}

process.stdout.write(`${tally}\n`);
process.exitCode = tally.failed > 0 ? 1 : 0;

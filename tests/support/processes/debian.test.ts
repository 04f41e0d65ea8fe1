import { execFile, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";

const run = promisify(execFile);
let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "heed-debian-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const log = () => readFileSync(join(folder, "log"), "utf8");

/** Puts a script `apt-get` in the folder that appends its command to `log`. */
function fakeApt(more: string): void {
  writeFileSync(
    join(folder, "apt-get"),
    `#!/bin/sh\nfor word in "$@"; do case "$word" in update|install) name=$word ;; esac; done\necho "$name" >> ${folder}/log\n${more}\n`,
  );
  chmodSync(join(folder, "apt-get"), 0o755);
}

/** Calls `installLocked` in another process: prints the problem, and whether both files are there. */
async function install(): Promise<string> {
  const code = `
    import { existsSync } from "node:fs";
    import { installLocked } from ${JSON.stringify(new URL("./debian.mjs", import.meta.url).href)};
    const files = ["${folder}/first", "${folder}/second"];
    const options = { lock: "${folder}/lock", env: { PATH: "${folder}:" + process.env.PATH } };
    process.stdout.write(installLocked(["a", "b"], files, options) + "|" + files.every((file) => existsSync(file)));`;
  return (await run(process.execPath, ["--input-type=module", "-e", code])).stdout;
}

const hasFlock = spawnSync("flock", ["--version"]).status === 0;

it.skipIf(!hasFlock)(
  "of processes that need packages at the same time, one installs them and the others wait until all are complete",
  async () => {
    // The first file is there long before the second.
    fakeApt(`[ $name = install ] && touch ${folder}/first && sleep 1 && touch ${folder}/second; exit 0`);
    const first = install();
    while (!existsSync(join(folder, "first"))) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(await Promise.all([first, install(), install()])).toEqual(["|true", "|true", "|true"]);
    expect(log()).toBe("update\ninstall\n");
  },
);

it.skipIf(!hasFlock)(
  "a mirror that fails is asked once, and each process says what apt-get said",
  async () => {
    fakeApt('echo "E: Failed to fetch http://mirror/a.deb" >&2; exit 100');
    const problem = "E: Failed to fetch http://mirror/a.deb|false";
    expect(await Promise.all([install(), install()])).toEqual([problem, problem]);
    expect(log()).toBe("update\n");
  },
);

it("a test that is run by itself installs no packages", async () => {
  fakeApt("exit 0");
  const code = `
    import { installPackages } from ${JSON.stringify(new URL("./debian.mjs", import.meta.url).href)};
    installPackages(["a"], ["${folder}/first"]);`;
  const env: NodeJS.ProcessEnv = { ...process.env, PATH: `${folder}:${process.env.PATH}` };
  delete env.HEED_INSTALL;
  const { stderr } = await run(process.execPath, ["--input-type=module", "-e", code], { env });
  expect(stderr).toBe("");
  expect(existsSync(join(folder, "log"))).toBe(false);
});

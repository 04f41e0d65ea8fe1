/** What the scripts of the repository install, and where. */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, it } from "vitest";
import { at } from "../tools/setup.mjs";

const folder = mkdtempSync(join(tmpdir(), "heed-setup-"));
afterAll(() => rmSync(folder, { recursive: true }));

it("packages in a folder that node_modules links to are not removed", () => {
  const [copy, packages] = [join(folder, "copy"), join(folder, "packages")];
  for (const path of [join(copy, "tools"), join(packages, "one")]) mkdirSync(path, { recursive: true });
  cpSync(at("tools/setup.mjs"), join(copy, "tools/setup.mjs"));
  writeFileSync(join(packages, "one/index.js"), "");
  const manifest = { name: "copy", version: "1.0.0" };
  writeFileSync(join(copy, "package.json"), JSON.stringify(manifest));
  const lock = { ...manifest, lockfileVersion: 3, requires: true, packages: { "": manifest } };
  writeFileSync(join(copy, "package-lock.json"), JSON.stringify(lock));
  symlinkSync(packages, join(copy, "node_modules"));
  const program = `(await import(${JSON.stringify(pathToFileURL(join(copy, "tools/setup.mjs")).href)})).install()`;
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    encoding: "utf8",
  });
  expect(existsSync(join(packages, "one/index.js")), "the package is still there").toBe(true);
  expect([status, stderr]).toEqual([0, ""]);
});

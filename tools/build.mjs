/**
 * `npm run build`: src/ to dist/ with the TypeScript compiler, one file to one file, nothing bundled; then the explorer's
 * element (element.mjs) and its page and wrappers (page.mjs), each one bundle.
 * Leaves to others: deciding whether a build is due (setup.mjs).
 */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, rmSync, utimesSync } from "node:fs";
import { buildElement } from "./element.mjs";
import { buildLab } from "./lab.mjs";
import { buildPage } from "./page.mjs";
import { at } from "./setup.mjs";

const started = new Date();
rmSync(at("dist"), { recursive: true, force: true });
const tsc = spawnSync(
  process.execPath,
  [at("node_modules/typescript/bin/tsc"), "-p", at("tsconfig.build.json")],
  {
    stdio: "inherit",
  },
);
if (tsc.status !== 0) process.exit(tsc.status ?? 1);
await buildElement();
await buildPage();
await buildLab(at("dist/lab"), { explorer: "explorer/", model: false });

const main = at("dist/cli/main.js");
if (existsSync(main)) {
  chmodSync(main, 0o755);
  // A source saved while the compiler ran must count as newer than the build.
  utimesSync(main, started, started);
}

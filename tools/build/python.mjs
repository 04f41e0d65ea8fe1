/**
 * Makes the Python package complete in tmp/python: its sources in python/, the recorder that `heed capture --python` prints, and the widget's
 * module. `node tools/build/python.mjs` after `npm run build`.
 */
import { copyFileSync, cpSync, rmSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { at } from "../setup.mjs";

const { RECORDER } = await import(pathToFileURL(at("dist/cli/support/recorder.js")).href);

rmSync(at("tmp/python"), { recursive: true, force: true });
cpSync(at("python"), at("tmp/python"), { recursive: true });
writeFileSync(at("tmp/python/heed/recorder.py"), RECORDER);
copyFileSync(at("dist/attention-view.js"), at("tmp/python/heed/attention-view.js"));
console.log("the package is in tmp/python: pip install ./tmp/python");

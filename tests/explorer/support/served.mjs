// @ts-check
/** Runs `heed view` in a process of its own, and opens its page, for the tests of what the server does. Needs dist/ (npm run build). */
import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** @typedef {import("@playwright/test").Browser} Browser */

const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));
/** @type {import("node:child_process").ChildProcess[]} */
const children = [];
/** The command without arguments, which the tests of a file share. @type {ReturnType<typeof start> | undefined} */
let shared;
/** Ends every command that a test left running. */
export function endAll() {
  shared = undefined;
  for (const child of children.splice(0)) child.kill("SIGKILL");
}

/** Starts `heed view`, or takes the one that runs without arguments, and returns its address. @param {string[]} args */
export async function view(...args) {
  if (args.length > 0) return start(args);
  const { url } = await (shared ??= start([]));
  return { url, end: async () => {} };
}

/** @param {string[]} args */
async function start(args) {
  const child = spawn(process.execPath, [join(root, "dist/cli/main.js"), "view", "--no-open", ...args]);
  children.push(child);
  const closed = new Promise((resolve) => child.on("close", resolve));
  let [out, err] = ["", ""];
  child.stderr.on("data", (text) => (err += text));
  const url = await new Promise((resolve, reject) => {
    child.stdout.on("data", (text) => {
      out += text;
      const match = /http:\/\/\S+/.exec(out);
      if (match && out.endsWith("\n")) resolve(match[0]);
    });
    void closed.then(() => reject(new Error(`heed view ended: ${err}`)));
  });
  return {
    url: /** @type {string} */ (url),
    end: async () => {
      child.kill("SIGINT");
      await closed;
    },
  };
}

/** A page at an address, and its errors and warnings. @param {Browser} browser @param {string} url */
export async function pageAt(browser, url) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  /** @type {string[]} */
  const reported = [];
  page.on("console", (message) => message.type() !== "log" && reported.push(message.text()));
  page.on("pageerror", (error) => reported.push(`${error.stack}`));
  await page.goto(url);
  return { page, reported, close: () => context.close() };
}

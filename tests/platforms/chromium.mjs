// @ts-check
/**
 * A Chromium for the tests that need a browser: CHROME_PATH, or what the usual places hold; as root on Debian it is
 * installed where missing. Nothing is downloaded otherwise.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { relative } from "node:path";
import { chromium } from "playwright-core";

/** A Chromium's path, or undefined. */
function find() {
  const places = [
    process.env.CHROME_PATH,
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
  ];
  return places.find((path) => path !== undefined && path !== "" && existsSync(path));
}

/** Installs Debian's Chromium where this process may. */
function install() {
  if (process.getuid?.() !== 0 || !existsSync("/etc/debian_version")) return;
  process.stderr.write("installing chromium with apt-get …\n");
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  for (const argv of [["update"], ["install", "-y", "--no-install-recommends", "chromium"]]) {
    const done = spawnSync("apt-get", ["-qq", ...argv], { env, encoding: "utf8", timeout: 480_000 });
    if (done.status !== 0) {
      process.stderr.write(`apt-get ${argv[0]} failed: ${(done.stderr ?? "").trim().split("\n").at(-1)}\n`);
      return;
    }
  }
}

/**
 * Starts a headless Chromium, or gives undefined where none can be had.
 * @param {string[]} [args] further switches
 */
export async function launchChromium(args = []) {
  if (find() === undefined) install();
  const path = find();
  if (path === undefined) return undefined;
  const browser = await chromium.launch({
    executablePath: path,
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      ...args,
    ],
  });
  process.stderr.write(`Chromium ${browser.version()} (${relative(process.cwd(), path)})\n`);
  return browser;
}

/** What is said where there is none. */
export const NO_CHROMIUM = "no Chromium found; set CHROME_PATH to one";

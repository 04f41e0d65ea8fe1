// @ts-check
/**
 * The Chromium of the browser tests: CHROME_PATH, or an installed one. `npm test` installs it, and a font, as root on
 * Debian where they are missing; nothing is downloaded otherwise. Imports Node's own modules only, so that `npm test` can look for it before anything is
 * installed.
 *
 * Debian's headless shell comes first: it is the same engine without the browser's own window, whose renderer takes about
 * a third of the time (`npx playwright test keyboard print tests/lab/look`: 50 and 62 s with the shell, 83 and 98 s with
 * chromium, in turns on two shared cores).
 */
import { existsSync } from "node:fs";
import { relative } from "node:path";
import { installPackages } from "../support/processes/debian.mjs";

const SHELL = "chromium-headless-shell";
/** Arial's widths: without them pages fall back to DejaVu Sans, whose letters are a tenth wider, and tests measure texts. */
const FONT = "fonts-liberation";
const FONT_FILE = "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf";

/** The path of an installed Chromium, or undefined. */
function findChromium() {
  const places = [
    process.env.CHROME_PATH,
    `/usr/bin/${SHELL}`,
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
  ];
  return places.find((path) => path !== undefined && path !== "" && existsSync(path));
}

/** The path of a Chromium, which is installed first where that is possible; undefined where there is none. */
export function chromiumPath() {
  if (process.env.CHROME_PATH === undefined) installPackages([SHELL, FONT], [`/usr/bin/${SHELL}`, FONT_FILE]);
  return findChromium();
}

/** The error where there is none. */
export const NO_CHROMIUM = "no Chromium found; set CHROME_PATH to one, or HEED_INSTALL=1 to install it";

/** Switches of every Chromium that is started: no sandbox (root in a container), no traffic of its own. */
const SWITCHES = [
  "--no-sandbox",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/**
 * How Playwright launches it.
 * @param {string[]} [args] further switches
 */
export function chromiumOptions(args = []) {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error(NO_CHROMIUM);
  // Milliseconds until it must have started, 30 s by default: workers of a busy machine start several at a time.
  return { executablePath, headless: true, timeout: 120_000, args: [...SWITCHES, ...args] };
}

/**
 * Starts a headless Chromium, or gives undefined where none can be had.
 * @param {string[]} [args] further switches
 */
export async function launchChromium(args = []) {
  if (chromiumPath() === undefined) return undefined;
  const { chromium } = await import("@playwright/test");
  const options = chromiumOptions(args);
  const browser = await chromium.launch(options);
  process.stderr.write(
    `Chromium ${browser.version()} (${relative(process.cwd(), options.executablePath)})\n`,
  );
  return browser;
}

/** Whether a browser is opened, and how: a script with the name of the opener replaces it. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import { hasBrowser, openBrowser } from "./explore.ts";

const path = process.env.PATH;
const folder = mkdtempSync(join(tmpdir(), "heed-browser-"));
afterEach(() => {
  process.env.PATH = path;
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a browser is opened only where a user can see it", () => {
  const env = { DISPLAY: ":0" };
  expect(hasBrowser({ env, isTTY: true }, "linux")).toBe(true);
  expect(hasBrowser({ env: { WAYLAND_DISPLAY: "wayland-0" }, isTTY: true }, "linux")).toBe(true);
  expect(hasBrowser({ env: {}, isTTY: true }, "darwin")).toBe(true);
  expect(hasBrowser({ env: {}, isTTY: true }, "win32")).toBe(true);
  expect(hasBrowser({ env, isTTY: false }, "linux")).toBe(false);
  expect(hasBrowser({ env: {}, isTTY: true }, "linux")).toBe(false);
  for (const no of ["CI", "SSH_CONNECTION", "SSH_TTY"])
    expect(hasBrowser({ env: { ...env, [no]: "1" }, isTTY: true }, "linux"), no).toBe(false);
});

test.skipIf(process.platform === "win32")(
  "the address reaches the opener as it is, without a shell",
  async () => {
    const log = join(folder, "arguments.txt");
    const opener = join(folder, "xdg-open");
    writeFileSync(opener, `#!/bin/sh\nprintf '%s' "$*" > '${log}.part'\nmv '${log}.part' '${log}'\n`);
    chmodSync(opener, 0o755);
    process.env.PATH = `${folder}:${path}`;
    const url = "http://127.0.0.1:1/?token=a-b_c#v1/head?b=$(touch%20x)&l=0";
    expect(await openBrowser(url, "linux")).toBe(true);
    for (let n = 0; n < 2400 && !existsSync(log); n++)
      await new Promise((resolve) => setTimeout(resolve, 25));
    expect(readFileSync(log, "utf8")).toBe(url);
  },
);

test("where there is no opener, nothing is thrown", async () => {
  process.env.PATH = "";
  expect(await openBrowser("http://127.0.0.1:1/", "linux")).toBe(false);
});

/**
 * Runs the Python package in a real marimo: `heed.view` of a capture in an app, its picture in Chromium, and the cursor in both directions.
 * Needs `marimo` on the PATH and the package installed. `node python/marimo.mjs [FOLDER]`: the folder gets marimo.png.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { chromiumOptions } from "../tests/platforms/chromium.mjs";

const capture = fileURLToPath(new URL("../models/captures/time-flies.safetensors", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "heed-marimo-"));
writeFileSync(
  join(folder, "app.py"),
  `import marimo
app = marimo.App()
@app.cell
def _():
    import heed, marimo as mo
    widget = mo.ui.anywidget(heed.view(${JSON.stringify(capture)}, layer=0, head=4, height=480))
    widget
    return mo, widget
@app.cell
def _(mo, widget):
    cursor = widget.value["cursor"]
    mo.md(f"cursor {cursor.get('query')} {cursor.get('key')}")
`,
);
const server = spawn("marimo", ["run", "app.py", "--headless", "--no-token"], {
  cwd: folder,
  stdio: ["ignore", "pipe", "inherit"],
});
const browser = await chromium.launch(chromiumOptions());
try {
  const url = await new Promise((resolve, reject) => {
    server.stdout.on("data", (text) => {
      const match = /http:\/\/\S+/.exec(text);
      if (match) resolve(match[0]);
    });
    server.on("close", (code) => reject(new Error(`marimo ended with ${code}`)));
  });
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.goto(url);
  const view = page.locator("attention-view").first();
  const weight = await view.evaluate(async (view) => {
    const ref = { block: 0, layer: 0, head: 4 };
    while (!view.store?.ready(ref)) await new Promise((resolve) => setTimeout(resolve, 50));
    view.setCursor({ layer: 0, head: 4, query: 2, key: 1 });
    return view.store.cell(ref, 2, 1, "weights");
  });
  if (!(Math.abs(weight - 0.8016) < 1e-4)) throw new Error(`flies → time is ${weight}, 0.8016 in PyTorch`);
  await page.getByText("cursor 2 1").first().waitFor();
  if (process.argv[2]) await page.screenshot({ path: join(process.argv[2], "marimo.png") });
  console.log(`heed.view in marimo: flies → time ${weight}, cursor 2, 1`);
} finally {
  await browser.close();
  server.kill("SIGINT");
  await new Promise((resolve) => server.on("close", resolve));
  rmSync(folder, { recursive: true, force: true });
}

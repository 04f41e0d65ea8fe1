/**
 * Runs the Python package in a real JupyterLab: `heed.show` of a small model in memory in a notebook, its picture in Chromium, a weight
 * compared with PyTorch's, the cursor in both directions. Needs `jupyter lab`, torch and transformers on the PATH's Python, and the package
 * installed. `node python/check.mjs [FOLDER]`: the folder gets notebook.png.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { chromiumOptions } from "../tests/platforms/chromium.mjs";

const CODE = `import heed, torch
from transformers import BertConfig, BertModel

torch.manual_seed(0)
model = BertModel(BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, initializer_range=0.4, attn_implementation="sdpa")).eval()

class Tokenizer:
    def __call__(self, text, return_tensors):
        return {"input_ids": torch.tensor([[len(word) + 3 * n for n, word in enumerate(text.split())]])}
    def convert_ids_to_tokens(self, ids):
        return [f"t{i}" for i in ids]

widget = heed.show(model, "time flies like an arrow", Tokenizer(), layer=1, head=2, height=480)
widget`;

const COMPARE = `model.set_attn_implementation("eager")
weights = model(**Tokenizer()("time flies like an arrow", "pt"), output_attentions=True).attentions
print("weight", float(weights[1][0, 2, 3, 1]), widget.cursor.get("query"), widget.cursor.get("key"))`;

/** Runs a cell. A notebook that is still loading ignores keys, so they are pressed until the cell has its number or its star. */
async function runCell(page, one) {
  for (let n = 0; n < 20; n++) {
    await one.locator(".cm-content").click();
    await page.keyboard.press("Shift+Enter");
    await page.waitForTimeout(2000);
    if ((await one.locator(".jp-InputPrompt").textContent())?.trim() !== "[ ]:") return;
  }
  throw new Error("the notebook does not run its cells");
}

const folder = mkdtempSync(join(tmpdir(), "heed-notebook-"));
const cell = (source) => ({
  cell_type: "code",
  execution_count: null,
  metadata: {},
  outputs: [],
  source,
  id: `c${source.length}`,
});
writeFileSync(
  join(folder, "check.ipynb"),
  JSON.stringify({
    nbformat: 4,
    nbformat_minor: 5,
    metadata: { kernelspec: { name: "python3", display_name: "Python 3", language: "python" } },
    cells: [cell(CODE), cell(COMPARE)],
  }),
);
const server = spawn(
  "jupyter",
  [
    "lab",
    "--no-browser",
    "--allow-root",
    "--port=0",
    "--ServerApp.port_retries=20",
    "--IdentityProvider.token=check",
    `--ServerApp.root_dir=${folder}`,
  ],
  { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, JUPYTER_CONFIG_DIR: join(folder, "config") } },
);
const browser = await chromium.launch(chromiumOptions());
try {
  const base = await new Promise((resolve, reject) => {
    let output = "";
    server.stderr.on("data", (text) => {
      output += text;
      const match = /(http:\/\/(?:localhost|127\.0\.0\.1):\d+)\/lab/.exec(output);
      if (match) resolve(match[1]);
    });
    server.on("close", () => reject(new Error(output)));
  });
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.goto(`${base}/lab/tree/check.ipynb?token=check`);
  const first = page.locator(".jp-CodeCell").first();
  await first.waitFor({ timeout: 120_000 });
  await page.locator(".jp-NotebookPanel-toolbar").waitFor();
  // The kernel is ready when its name is in the toolbar and its light is idle.
  await page.locator("[data-status='idle']").first().waitFor({ timeout: 120_000 });
  await runCell(page, first);
  const element = page.locator("attention-view").first();
  await element.waitFor({ timeout: 60_000 }).catch(async (error) => {
    if (process.argv[2]) await page.screenshot({ path: join(process.argv[2], "notebook.png") });
    throw new Error(`no widget: ${await first.textContent()}\n${error.message}`);
  });
  await page.waitForFunction(() => {
    const view = document.querySelector("attention-view");
    return view?.store?.ready({ block: 0, layer: 1, head: 2 }) === true;
  });
  const shown = await page.evaluate(() => {
    const view = document.querySelector("attention-view");
    view.setCursor({ query: 3, key: 1 });
    const { layer, head } = view.state;
    return {
      layer,
      head,
      weight: view.store.cell({ block: 0, layer, head }, 3, 1, "weights"),
      tokens: view.store.blocks[0].queryTokens,
    };
  });
  if (process.argv[2]) await page.screenshot({ path: join(process.argv[2], "notebook.png") });
  await page.waitForTimeout(1000);
  await runCell(page, page.locator(".jp-CodeCell").nth(1));
  const printed = page.locator(".jp-CodeCell").nth(1).locator(".jp-OutputArea-output");
  await printed.first().waitFor({ timeout: 60_000 });
  const text = await printed.first().textContent();
  const [, weight, query, key] = /weight ([\d.e-]+) (\d+) (\d+)/.exec(text ?? "") ?? [];
  const difference = Math.abs(Number(weight) - shown.weight);
  if (!(shown.layer === 1 && shown.head === 2))
    throw new Error(`the traits were not followed: ${JSON.stringify(shown)}`);
  if (!(difference < 1e-5)) throw new Error(`the weight is ${shown.weight} here and ${text} in PyTorch`);
  if (query !== "3" || key !== "1") throw new Error(`the cursor did not reach Python: ${text}`);
  console.log(
    `heed.show in JupyterLab: weight ${shown.weight}, PyTorch ${weight}; cursor ${query}, ${key}; tokens ${shown.tokens.join(" ")}`,
  );
} finally {
  await browser.close();
  server.kill("SIGINT");
  await new Promise((resolve) => server.on("close", resolve));
  rmSync(folder, { recursive: true, force: true });
}

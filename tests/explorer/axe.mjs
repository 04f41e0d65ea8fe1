// @ts-check
/** axe in a page of the element's tests. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { files } from "./site.mjs";

const require = createRequire(import.meta.url);
files.set("/axe.js", ["text/javascript", readFileSync(require.resolve("axe-core/axe.min.js"))]);

/** What axe finds, one line each. @param {import("@playwright/test").Page} page @returns {Promise<string[]>} */
export async function violations(page) {
  await page.addScriptTag({ url: "/axe.js" });
  return page.evaluate(async () => {
    const { axe } = /** @type {any} */ (globalThis);
    const found = await axe.run(document, {
      resultTypes: ["violations"],
      rules: { region: { enabled: false }, "target-size": { enabled: true } },
    });
    return found.violations.flatMap((/** @type {any} */ one) =>
      one.nodes
        .slice(0, 3)
        .map(
          (/** @type {any} */ node) =>
            `${one.id}: ${node.target.flat().join(" ")} ${node.failureSummary?.split("\n").slice(1).join("; ")}`,
        ),
    );
  });
}

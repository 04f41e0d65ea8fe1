// @ts-check
/** What axe finds in a page, for the browser tests. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** For an element on a page of a test: no landmarks around it, and targets of 24 pixels. */
export const ELEMENT = { rules: { region: { enabled: false }, "target-size": { enabled: true } } };

/** Another color scheme changes contrast alone, and axe is slow: for a page that was already read in one scheme. */
export const CONTRAST = { only: ["color-contrast"] };

/**
 * What axe finds, one line each.
 * @param {import("@playwright/test").Page} page
 * @param {{ only?: readonly string[], rules?: Record<string, { enabled: boolean }> }} [options] only: run these rules and no
 *   others
 * @returns {Promise<string[]>}
 */
export async function violations(page, { only, rules } = {}) {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(source);
  return page.evaluate(
    async (options) => {
      const found = await /** @type {any} */ (globalThis).axe.run(document, options);
      return found.violations.flatMap((/** @type {any} */ one) =>
        one.nodes
          .slice(0, 3)
          .map(
            (/** @type {any} */ node) =>
              `${one.id}: ${node.target.flat().join(" ")} ${node.failureSummary?.split("\n").slice(1).join("; ")}`,
          ),
      );
    },
    {
      resultTypes: ["violations"],
      ...(only && { runOnly: { type: "rule", values: [...only] } }),
      ...(rules && { rules }),
    },
  );
}

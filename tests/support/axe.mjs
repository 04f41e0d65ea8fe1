// @ts-check
/** The violations that axe finds in a page, for the browser tests. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Rules for an element on a test page: no landmarks around it, and targets of at least 24 pixels. */
export const ELEMENT = { rules: { region: { enabled: false }, "target-size": { enabled: true } } };

/** Rules for a page that was already checked in one color scheme: another scheme changes only the contrast, and axe is slow. */
export const CONTRAST = { only: ["color-contrast"] };

/**
 * The violations, one line each.
 * @param {import("@playwright/test").Page} page
 * @param {{ only?: readonly string[], rules?: Record<string, { enabled: boolean }> }} [options] only: run only these rules
 * @returns {Promise<string[]>}
 */
export async function violations(page, { only, rules } = {}) {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(source);
  return page.evaluate(
    async (options) => {
      const report = await /** @type {any} */ (globalThis).axe.run(document, options);
      return report.violations.flatMap((/** @type {any} */ one) =>
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

/**
 * What every test of the element gets: `visit`, which opens a page with heads, hands it over and fails for anything the page
 * reported that it should not have (an error, a warning, a violation of the policy, a request to another place).
 */
import { type BrowserContext, test as base, expect, type Page } from "@playwright/test";
import { type Asked, newPage, opened, serve } from "./site.mjs";

/** Opens a page, waits for its picture and drives it. */
export type Visit = (asked: Asked, drive: (page: Page) => Promise<void>) => Promise<void>;

export const test = base.extend<{ visit: Visit }, { site: string }>({
  // The address of the pages, one server a worker.
  site: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of a fixture's dependencies here.
    async ({}, use) => {
      const { base: address, close } = await serve();
      await use(address);
      close();
    },
    { scope: "worker" },
  ],
  visit: async ({ browser, site }, use) => {
    const contexts: BrowserContext[] = [];
    await use(async (asked, drive) => {
      const { context, page, reported } = await newPage(browser, site, asked);
      // A page that fails stays open for its screenshot.
      contexts.push(context);
      try {
        await opened(page, site, asked);
        await drive(page);
      } finally {
        expect.soft(reported, "errors, warnings and requests elsewhere that the page reported").toEqual([]);
      }
      await context.close();
    });
    for (const context of contexts) await context.close();
  },
});

/** Compares by value. */
export function same(got: unknown, want: unknown, what: string): void {
  expect(got, what).toEqual(want);
}

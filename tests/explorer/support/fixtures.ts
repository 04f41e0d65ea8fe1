/**
 * The fixture of the element's tests: `visit` opens a page with heads, runs the test with it, and fails if the page reported an
 * error, a warning, a violation of the policy or a request to another origin.
 */
import { type BrowserContext, test as base, expect, type Page } from "@playwright/test";
import { newPage, opened, type PageOptions, serve } from "./site.mjs";

/** Opens a page, waits for its picture and runs the test. */
export type Visit = (options: PageOptions, drive: (page: Page) => Promise<void>) => Promise<void>;

export const test = base.extend<{ visit: Visit }, { site: string }>({
  // The address of the pages, one server per worker.
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
    await use(async (options, drive) => {
      const { context, page, reported } = await newPage(browser, site, options);
      // A page that fails stays open for its screenshot.
      contexts.push(context);
      try {
        await opened(page, site, options);
        await drive(page);
      } finally {
        expect.soft(reported, "errors, warnings and requests elsewhere that the page reported").toEqual([]);
      }
      await context.close();
    });
    for (const context of contexts) await context.close();
  },
});

/** Waits until `read` returns `want`. */
export async function becomes(read: () => Promise<unknown>, want: unknown, what: string): Promise<void> {
  await expect.poll(read, { message: what }).toEqual(want);
}

/** Compares by value. */
export function same(got: unknown, want: unknown, what: string): void {
  expect(got, what).toEqual(want);
}

import { expect, test } from "vitest";
import { viewOf } from "../../tests/golden/lab/listings.ts";
import type { Page } from "../frame/page.ts";
import { page } from "./page.ts";

test("the caption has the bytes that the first task asks for, on a phone as well", async () => {
  const view = await viewOf(page as unknown as Page, { n: 512, power: 8 });
  expect(page.caption({ ...view, wide: false } as never).text).toContain(
    "At n = 512 additive’s hidden layer would take 256 MiB.",
  );
});

import { expect, test } from "vitest";
import { viewOf } from "../../tests/golden/lab/listings.ts";
import type { Page } from "../frame/page.ts";
import { renderPicture } from "../frame/render.ts";
import { page } from "./page.ts";

test("a phone shows the loss and the state that asks, too", async () => {
  const view = await viewOf(page as unknown as Page, { row: 2 });
  const narrow = renderPicture(page as unknown as Page, { ...view, wide: false }).text;
  for (const name of ["weights", "loss", "states"]) expect(narrow).toContain(`data-name="${name}"`);
  expect(narrow).toContain("the query: the state before letter 3");
});

import { expect, test } from "vitest";
import { viewOf } from "../../tests/golden/lab/listings.ts";
import { pictureOf } from "../frame/render.ts";
import { page } from "./page.ts";

test("a phone shows the loss and the state that asks, too", async () => {
  const view = await viewOf("before", { row: 2 });
  const narrow = pictureOf(page as never, { ...view, wide: false });
  for (const name of ["weights", "loss", "states"]) expect(narrow).toContain(`data-name="${name}"`);
  expect(narrow).toContain("the query: the state before letter 3");
});

import { expect, test } from "vitest";
import { viewOf } from "../../tests/golden/lab/listings.ts";
import { textOf } from "../../ui/text-of.ts";
import { page } from "./page.ts";

test("the caption has the bytes that the first task asks for, on a phone as well", async () => {
  const view = await viewOf("scorers", { n: 512, power: 8 });
  expect(textOf(page.caption({ ...view, wide: false } as never))).toContain(
    "At n = 512 additive’s hidden layer would take 256 MiB.",
  );
});

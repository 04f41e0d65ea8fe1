import { expect, test } from "vitest";
import { and, causal, not, or } from "../index.ts";

test("and, or and not say that a mask comes from another copy of heed", () => {
  const foreign = { ...causal() } as unknown as ReturnType<typeof causal>;
  for (const [name, combine] of Object.entries({ and, or, not }))
    expect(() => combine(foreign)).toThrow(`${name}: a mask comes from another copy of heed`);
  expect(() => and({} as never)).toThrow("and: expected masks such as causal(), got Object");
});

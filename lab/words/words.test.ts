import { expect, test } from "vitest";
import { initial, page } from "./page.ts";

test("each stop about “it” shows it and its sentence, and the last shows the reader's own sentence", () => {
  const own = page.check({ ...initial, ...page.sentence?.("old kings love young queens") });
  const at = (stop: number) => page.check({ ...initial, ...page.carry?.(own), ...page.steps[stop].state });
  expect(at(1)).toMatchObject({ line: "warm", query: initial.query, hide: true });
  expect(at(4)).toMatchObject({ line: "tired", query: initial.query });
  // The stops between them have sentences of their own.
  expect(page.check({ ...initial, ...page.carry?.(at(4)), ...page.steps[5].state })).toMatchObject({
    line: "own",
    own: own.own,
  });
  expect(page.check({ ...initial, ...page.carry?.(initial), ...page.steps[5].state })).toEqual(initial);
});

import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeTask, encodeTask, taskLink } from "./task-link.ts";

test("a task and its answer come back from the address, whatever their letters, and are not readable in it", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme", maxLength: 200 }),
      fc.string({ unit: "grapheme", maxLength: 200 }),
      (task, answer) => {
        fc.pre(task.trim() !== "");
        const text = encodeTask([task, answer]);
        expect(text).toMatch(/^[\w-]+$/);
        expect(decodeTask(text)).toEqual([task.trim(), answer.trim()].map((one) => one.slice(0, 1000)));
      },
    ),
  );
  const link = taskLink("https://example.org/lab/steps.html", "#v1?own=old+kings", ["Find “it”.", "cat"]);
  expect(link).toMatch(/^https:\/\/example\.org\/lab\/steps\.html\?class=[\w-]+#v1\?own=old\+kings$/);
  expect(link).not.toContain("cat");
});

test("a parameter that is no task gives none", () => {
  for (const text of [
    "",
    "%",
    "abc",
    btoa("[]"),
    btoa('["",""]'),
    btoa('["a"]'),
    btoa("[1,2]"),
    btoa('{"a":1}'),
    "é",
  ])
    expect(decodeTask(text), text).toBeUndefined();
});

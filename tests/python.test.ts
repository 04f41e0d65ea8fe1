/** The Python package (python/) against what it stands on: the traits that the widget's module reads, and its recorder. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { RECORDER } from "../src/cli/support/recorder.ts";

const python = readFileSync("python/heed/__init__.py", "utf8");
const entry = readFileSync("explorer/entries/anywidget.ts", "utf8");

test("each trait of the widget is one that the module in JavaScript follows", () => {
  const traits = [...python.matchAll(/^ {4}(\w+) = traitlets\.\w+\(.*\)\.tag\(sync=True\)$/gm)].map(
    ([, name]) => name,
  );
  expect(traits.length).toBeGreaterThan(8);
  const attributes = /const ATTRIBUTES = \[([^\]]*)\]/.exec(entry)?.[1] ?? "";
  for (const name of traits)
    expect(
      attributes.includes(`"${name}"`) ||
        entry.includes(`follow("${name}"`) ||
        entry.includes(`get("${name}")`),
      name,
    ).toBe(true);
});

test("show calls the recorder as it is defined", () => {
  expect(RECORDER).toContain('def record(run, tokens, path, model=""):');
  expect(python).toContain("record(lambda: model(**inputs), tokens, path, model=");
});

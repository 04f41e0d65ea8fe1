/** The table of docs/runtimes.md and the projects of fixtures.mjs, which run.mjs builds and runs. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { at } from "../../tools/setup.mjs";
import { FIXTURES } from "./fixtures.mjs";

test("the table of runtimes has a row for each project, with what its user configures", () => {
  const [, table] =
    /<!-- table -->([\s\S]*)<!-- \/table -->/.exec(readFileSync(at("docs/runtimes.md"), "utf8")) ?? [];
  const rows = [...(table ?? "").matchAll(/^\| ([^|]+) \| yes \| \d \| ([^|]*) ?\|$/gm)];
  expect(rows.map(([, name, setup]) => [name, setup.trim()])).toEqual(
    FIXTURES.map(({ name, setup }) => [name, setup ?? ""]),
  );
});

test("each project pins its packages to one version", () => {
  const versions = FIXTURES.flatMap(({ packages }) => Object.values(packages));
  expect(versions.filter((version) => !/^\d+\.\d+\.\d+$|^MODELS$/.test(version))).toEqual([]);
});

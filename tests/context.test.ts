/** docs/context.md lists every file of src/ with state between calls, and no other. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { at } from "../tools/setup.mjs";

/** A binding that changes, or a container that starts empty and is filled. */
const STATE =
  /^(?:export )?(?:let |const \w+(?:: [^=\n]+)? = (?:\/\* @__PURE__ \*\/ )?(?:new (?:Map|WeakMap|Set|WeakSet|PlanCache|Interrupts)(?:<.*>)?\(\)|\[\]|\{\});?$)/m;

it("docs/context.md lists all module-level state", () => {
  const sources = readdirSync(at("src"), { recursive: true, encoding: "utf8" })
    .map((name) => `src/${name.replaceAll("\\", "/")}`)
    .filter((name) => /\.(ts|js)$/.test(name) && !name.includes(".test."));
  const stateful = sources.filter((name) => STATE.test(readFileSync(at(name), "utf8")));
  const page = readFileSync(at("docs/context.md"), "utf8");
  const listed = [...page.matchAll(/`(src\/[^`]+\.(?:ts|js))`/g)].map(([, name]) => name);
  expect(stateful.length).toBeGreaterThan(20);
  expect(listed.toSorted()).toEqual(stateful.toSorted());
});

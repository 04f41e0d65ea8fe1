/** The public surface is the one that was reviewed: tests/golden/api.txt, which `npm run api` writes. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { at } from "../tools/setup.mjs";
import { SURFACE, surface } from "../tools/site/api.mjs";

it("exports, arguments, options and defaults are those of tests/golden/api.txt; npm run api writes it for a review", () => {
  expect(surface().split("\n")).toEqual(readFileSync(at(SURFACE), "utf8").split("\n"));
});

it("an export that only beta modules have is marked beta in its own comment, and no other is", () => {
  // Names by whether their module is beta.
  const names = { beta: new Set<string>(), stable: new Set<string>() };
  for (const module of surface().split("\n\n")) {
    const set = module.trimStart().split("\n")[0].endsWith("(beta)") ? names.beta : names.stable;
    for (const [, name] of module.matchAll(
      /^ {2}(?:abstract )?(?:interface|type|class|function|const) (\w+)/gm,
    ))
      set.add(name);
  }
  const marked = readdirSync(at("src"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
    .flatMap((name) => [
      ...readFileSync(at(`src/${name}`), "utf8").matchAll(
        /\/\*\*(?:(?!\*\/)[\s\S])*@beta\b(?:(?!\*\/)[\s\S])*\*\/\s*export (?:abstract |async )?(?:interface|type|class|function\*?|const) (\w+)/g,
      ),
    ])
    .map(([, name]) => name);
  expect([...new Set(marked)].sort()).toEqual(
    [...names.beta].filter((name) => !names.stable.has(name)).sort(),
  );
});

/** Functions that `@deprecated` marks and whose first line does not warn with their name. */
const silent = (code: string) =>
  [
    ...code.matchAll(
      /(?<!`)@deprecated\b(?:(?!\*\/)[\s\S])*\*\/\s*export (?:async )?function\*? (\w+)([\s\S]*?)^}/gm,
    ),
  ]
    .filter(([, name, body]) => !body.includes(`warnOfDeprecated("${name}", `))
    .map(([, name]) => name);

it("a deprecated function warns, with what to write instead", () => {
  const old = (line: string) => `/** Old. @deprecated Use b. */\nexport function a(): void {\n  ${line}\n}\n`;
  expect(silent(old("b();"))).toEqual(["a"]);
  expect(silent(old('warnOfDeprecated("a", "b(x)");'))).toEqual([]);
  const files = readdirSync(at("src"), { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".ts"),
  );
  expect(files.flatMap((name) => silent(readFileSync(at(`src/${name}`), "utf8")))).toEqual([]);
});

it("the surface has every kind of declaration, without bodies, comments and internal members", () => {
  const text = surface();
  expect(text).toContain("\nheed/nn\n");
  expect(text).toContain("\nheed/cluster (beta)\n");
  expect(text).toMatch(/\n {2}function scaledDotProductAttention<Q extends TensorLike>\(/);
  expect(text).toMatch(
    /\n {2}interface BackwardOptions extends AttentionOptions\n {4}wanted\?: readonly Extra\[\]\n/,
  );
  expect(text).toMatch(/\n {4}transpose\(a\?: number, b\?: number\): Tensor<D>\n/);
  expect(text).not.toMatch(/\[VIEW\]|\/\*\*|return /);
});

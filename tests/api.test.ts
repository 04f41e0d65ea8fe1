/** The public surface is the one that was reviewed: tests/golden/api.txt, which `npm run api` writes. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { at } from "../tools/setup.mjs";
import { SURFACE, surface } from "../tools/site/api.mjs";

it("exports, arguments, options and defaults are those of tests/golden/api.txt; npm run api writes it for a review", () => {
  expect(surface().split("\n")).toEqual(readFileSync(at(SURFACE), "utf8").split("\n"));
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

/**
 * Every function and class that the package exports, called with a wrong first argument, and with one in each place: nothing, a text, a
 * class, a WeakMap … (tests/support/wrong-arguments.ts). Each call returns, or throws a HeedError; a TypeError from inside is a defect.
 * argument-count.test.ts does the same with every method.
 */
import { readFileSync } from "node:fs";
import { configure, HeedError } from "heed";
import { afterAll, expect, it } from "vitest";
import { formatValue } from "../src/core/errors.ts";
import { thrownBy, WRONG_ARGUMENTS } from "./support/wrong-arguments.ts";

const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
/** All modules but the web component and the pages, which need a browser, and the file of kernels. */
const MODULES = Object.keys(manifest.exports)
  .filter((name) => !/^\.\/(attention-|worker|package|kernels\/)/.test(name))
  .map((name) => `heed${name.slice(1)}`);

afterAll(() => configure({ backend: "auto", simd: undefined, threads: undefined }));

/** A valid name for a function that asks a server for it. */
const ASKS_A_SERVER = "pullModel";

it.each(MODULES)(
  "%s: a wrong first argument gives a result or a HeedError, never another error",
  async (name) => {
    const exported = Object.entries(await import(name)).filter(([, value]) => typeof value === "function");
    expect(exported.length).toBeGreaterThan(0);
    const untyped: string[] = [];
    for (const [id, value] of exported)
      for (const list of WRONG_ARGUMENTS) {
        if (id === ASKS_A_SERVER && list[0] === "x") continue;
        const isClass = /^class\b/.test(Function.prototype.toString.call(value));
        const call = value as ((...list: readonly unknown[]) => unknown) &
          (new (
            ...list: readonly unknown[]
          ) => unknown);
        const error = await thrownBy(() => (isClass ? new call(...list) : call(...list)));
        if (error !== undefined && !(error instanceof HeedError))
          untyped.push(`${isClass ? "new " : ""}${id}(${list.map(formatValue).join()}): ${error}`);
      }
    expect(untyped).toEqual([]);
  },
  120_000,
);

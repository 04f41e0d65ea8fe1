/**
 * Every public function refuses arguments beyond those in its signature, before any other check: JavaScript would ignore them.
 * The maximum is read from the public surface, so that a new function without the check fails here.
 */
import * as heed from "heed";
import * as cluster from "heed/cluster";
import * as io from "heed/io";
import * as models from "heed/models";
import * as nn from "heed/nn";
import * as history from "heed/nn/history";
import * as reference from "heed/reference";
import * as train from "heed/train";
import * as view from "heed/view";
import * as webgpu from "heed/webgpu";
import { describe, expect, it } from "vitest";
import { surface } from "../tools/site/api.mjs";

const MODULES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  heed,
  "heed/cluster": cluster,
  "heed/io": io,
  "heed/models": models,
  "heed/nn": nn,
  "heed/nn/history": history,
  "heed/reference": reference,
  "heed/train": train,
  "heed/view": view,
  "heed/webgpu": webgpu,
};
/** The same functions under a second name, and the name in the surface. */
const ALIASES: Readonly<Record<string, string>> = {
  attention: "scaledDotProductAttention",
  div: "divide",
  mul: "multiply",
  take: "takePositions",
  withWeights: "materializeWeights",
};

/** The numbers of parameters of the signatures of a function in the surface; Infinity for a rest parameter. */
function countsOf(lines: readonly string[], name: string): number[] {
  const start = new RegExp(`^  (?:async )?(?:function\\*?|const) ${name}(?= =|[<(])(?: = (?:async )?)?`);
  return lines.flatMap((line) => {
    const head = start.exec(line)?.[0];
    return head === undefined ? [] : [parametersIn(line.slice(head.length).replaceAll("=>", "→"))];
  });
}

/** The number of parameters of `<T>(a, b: [C, D])`. */
function parametersIn(text: string): number {
  let depth = 0;
  let commas = 0;
  let begin = -1;
  for (let i = 0; i < text.length; i++) {
    if (depth === 0 && text[i] === "(") begin = i;
    if ("([{<".includes(text[i])) depth++;
    if (")]}>".includes(text[i])) depth--;
    if (begin >= 0 && depth === 1 && text[i] === ",") commas++;
    if (begin >= 0 && depth === 0) {
      const parameters = text.slice(begin + 1, i);
      return parameters.includes("...") ? Infinity : parameters === "" ? 0 : commas + 1;
    }
  }
  throw new Error(`no parameters in ${text}`);
}

/** What a call throws, also a promise or the first step of a generator. */
async function thrownBy(call: (...args: unknown[]) => unknown, count: number): Promise<unknown> {
  try {
    const result = await call(...new Array(count).fill("x"));
    (result as Partial<Iterator<unknown>> | undefined)?.next?.();
  } catch (error) {
    return error;
  }
  return undefined;
}

const sections = surface().split(/\n(?=heed)/);
describe.each(Object.entries(MODULES))("%s", (name, module) => {
  const lines = sections.find((section) => section.split(/[ \n]/, 1)[0] === name)?.split("\n") ?? [];
  const functions = Object.entries(module).filter(
    (entry): entry is [string, (...args: unknown[]) => unknown] =>
      typeof entry[1] === "function" && !/^class\b/.test(Function.prototype.toString.call(entry[1])),
  );
  it.each(functions)("%s refuses one argument more than it has", async (id, call) => {
    const declaredName = ALIASES[id] ?? id;
    const counts = countsOf(lines, declaredName).concat(countsOf(sections[0].split("\n"), declaredName));
    expect(counts.length, `signatures of ${id}`).toBeGreaterThan(0);
    const maximum = Math.max(...counts);
    // Outside of a recording `record` does nothing, so that a program without a tape bundles no derivative.
    if (maximum === Infinity || id === "record") return;
    const error = await thrownBy(call, maximum + 1);
    expect(error).toMatchObject({ name: "OptionError", code: "argument-count" });
    expect(error).toMatchObject({ fields: { maximum, got: maximum + 1 } });
    const exact = await thrownBy(call, maximum);
    expect(exact).not.toMatchObject({ code: "argument-count" });
  });
});

it("list.map(f) calls a function of one argument, though Array.map adds the index and the list", () => {
  const list = [heed.ones([2]), heed.zeros([2])];
  expect(list.map(nn.exp).map((y) => y.shape)).toEqual([[2], [2]]);
  // The index would be the axis.
  expect(() => list.map(nn.softmax as never)).toThrow(/softmax: expected at most 2 arguments, got 3/);
});

it("undefined in a place that a function does not have is no argument", () => {
  expect((nn.exp as (...args: unknown[]) => heed.Tensor)(heed.zeros([1]), undefined).toArray()).toEqual([1]);
});

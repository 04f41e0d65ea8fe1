import { describe, expect, it } from "vitest";
import { parseCommandLine } from "./arguments.ts";
import { type Command, UsageError } from "./command.ts";
import { indices, integer, isNumberList, number, shape } from "./values.ts";

const command: Command = {
  name: "test",
  summary: "",
  usage: "",
  help: {
    output: "FILE  where to",
    causal: "ALIGN  how",
    window: "VALUE  how far",
    only: "VALUE  which",
    verbose: "more",
    links: "VALUE  how many",
  },
  optional: ["causal"],
  multiple: ["only"],
  defaults: { links: "3" },
  examples: [],
  run: async () => 0,
};
const parse = (...args: string[]) => parseCommandLine(command, args);

describe("parseCommandLine", () => {
  it("takes values after a space or an equals sign, short options and clusters", () => {
    expect({ ...parse("a", "-o", "x", "--window=1,2", "b").values }).toEqual({
      output: "x",
      window: "1,2",
      links: "3",
    });
    expect(parse("a", "-o", "x", "b").positionals).toEqual(["a", "b"]);
    expect({ ...parse("-vo", "x").values }).toMatchObject({ verbose: true, output: "x" });
  });

  it("an option with an optional value takes one only with an equals sign", () => {
    expect(parse("--causal", "x").values.causal).toBe(true);
    expect(parse("--causal", "x").positionals).toEqual(["x"]);
    expect(parse("--causal=lower-right").values.causal).toBe("lower-right");
  });

  it("negative numbers are values, options are not", () => {
    expect(parse("--window", "-1,0").values.window).toBe("-1,0");
    expect(() => parse("--output", "--causal")).toThrow(
      new UsageError("--output needs a value: --output=FILE"),
    );
    expect(() => parse("-o")).toThrow("-o needs a value: -o FILE");
    expect(parse("--output=--causal").values.output).toBe("--causal");
  });

  it("an unknown option is refused with the nearest known one", () => {
    expect(() => parse("--casual")).toThrow(
      new UsageError("unknown option --casual; did you mean --causal?"),
    );
    expect(() => parse("--frobnicate")).toThrow(new UsageError("unknown option --frobnicate"));
    expect(() => parse("-x")).toThrow("unknown option -x");
  });

  it("a flag with a value and an option given twice are refused", () => {
    expect(() => parse("--verbose=yes")).toThrow('--verbose takes no value, got "yes"');
    expect(() => parse("-o", "a", "-o", "b")).toThrow("--output was given twice");
    expect(parse("--only", "a", "--only", "b").values.only).toEqual(["a", "b"]);
  });

  it("after -- everything is an argument", () => {
    expect(parse("--", "--causal", "-h").positionals).toEqual(["--causal", "-h"]);
    expect(parse("--", "-h").help).toBe(false);
    expect(parse("-h").help).toBe(true);
  });

  it("names of Object.prototype are not options", () => {
    expect(() => parse("--constructor")).toThrow("unknown option --constructor");
    expect(() => parse("--__proto__")).toThrow("unknown option --__proto__");
  });
});

describe("values", () => {
  it("refuses values that are not a number, an integer in range, or a shape", () => {
    expect(number("scale", "1e-3")).toBe(1e-3);
    expect(() => number("scale", "")).toThrow("--scale must be a number");
    expect(() => number("scale", "inf")).toThrow("--scale must be a number");
    expect(() => integer("n", "1.5")).toThrow("--n must be an integer");
    expect(() => integer("threads", "65", 1, 64)).toThrow("--threads must be an integer from 1 to 64");
    expect(shape("shape", "1,12,64,8")).toEqual([1, 12, 64, 8]);
    expect(shape("shape", "2x0x4")).toEqual([2, 0, 4]);
    expect(() => shape("shape", "1,-2")).toThrow("--shape must be");
    expect(() => shape("shape", "12")).toThrow("--shape must be");
  });

  it("reads indices with ranges", () => {
    expect(indices("rows", "0,4-6,-1")).toEqual([0, 4, 5, 6, -1]);
    expect(() => indices("rows", "6-4")).toThrow("no range");
    expect(() => indices("rows", "a")).toThrow("--rows must be an integer");
  });

  it("distinguishes lists of numbers from files", () => {
    for (const list of ["1", "-1,0", "0.5,1e-3", ".5"]) expect(isNumberList(list)).toBe(true);
    for (const file of ["a.npy", "0001.npy", "x/1", ""]) expect(isNumberList(file)).toBe(false);
  });
});

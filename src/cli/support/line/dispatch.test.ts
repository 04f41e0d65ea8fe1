import { describe, expect, it } from "vitest";
import { FormatError, OptionError } from "../../../core/errors.ts";
import { COMMANDS } from "../../commands/index.ts";
import { colorDepth } from "../output/terminal.ts";
import { Interrupted, type Io, UsageError } from "./command.ts";
import { completedCommand } from "./completions.ts";
import { commandPage, dispatch, tell } from "./dispatch.ts";

/** An environment that collects the output. */
function world(env: Io["env"] = {}, signal = new AbortController().signal) {
  const text = { out: "", err: "" };
  const io: Io = {
    stdout: { write: (x) => (text.out += x) },
    stderr: { write: (x) => (text.err += x) },
    env,
    isTTY: false,
    columns: undefined,
    color: 0,
    progress: false,
    signal,
  };
  return { io, text };
}

describe("the command table", () => {
  for (const entry of COMMANDS)
    it(`${entry.name}: its summary is the command's, options have their form, examples begin with heed`, async () => {
      const command = await entry.load();
      expect(command.name).toBe(entry.name);
      expect(command.summary).toBe(entry.summary);
      const listed = [command.optional, command.multiple, command.blank, Object.keys(command.defaults ?? {})];
      expect(Object.keys(command.help)).toEqual(expect.arrayContaining(listed.flatMap((list) => list ?? [])));
      // Two spaces end the name of a value, and nothing else: they make an option take one.
      for (const text of Object.values(command.help))
        expect(text).toMatch(/^(?:[A-Z][^ ]*(?: [A-Z]+)? {2}(?=\S))?(?!.* {2}.*)/);
      expect(command.examples.length).toBeGreaterThan(1);
      for (const example of command.examples) expect(example).toMatch(/(^|\s|\()heed /);
      expect(Object.keys(command.help)).toContain("json");
      const page = commandPage(command, { color: 0, columns: 80 });
      for (const name of Object.keys(command.help)) expect(page).toContain(`--${name}`);
      for (const example of command.examples) expect(page).toContain(example);
    });
});

describe("completedCommand", () => {
  it.each([
    ["convert", "dtype", ["float32", "float64", "float16", "bfloat16"]],
    ["explain", "dtype", ["float32", "float64", "float16", "bfloat16"]],
    ["figure", "hide", ["special", "first"]],
    ["figure", "transfer", ["sqrt", "linear", "log"]],
    ["explain", "via", ["gather", "ring", "resident", "auto"]],
    ["train", "decay", ["cosine", "linear", "constant"]],
  ])("%s --%s completes its values and no other word of its help", async (command, option, words) => {
    const { options } = completedCommand(await COMMANDS.find(({ name }) => name === command)!.load());
    const entry = options.find(({ name }) => name === option);
    expect(entry?.value).toEqual({ kind: "words", words });
    expect(entry?.says).toBe(words.join(", "));
  });
});

describe("dispatch", () => {
  const say = async (...args: string[]) => {
    const { io, text } = world();
    const code = await dispatch(args, io);
    return { code, ...text };
  };

  it("prints the overview with every command, without arguments and for help", async () => {
    const overview = await say();
    expect(overview.code).toBe(0);
    for (const { name, summary } of COMMANDS) expect(overview.out).toMatch(new RegExp(`${name} +${summary}`));
    for (const args of [["--help"], ["-h"], ["help"]]) expect(await say(...args)).toEqual(overview);
  });

  it("prints a command's page by help NAME and NAME --help", async () => {
    const page = await say("help", "run");
    expect(page.out).toContain("Usage:");
    expect(await say("run", "--help")).toEqual(page);
    expect(await say("run", "x", "-h")).toEqual(page);
  });

  it("an unknown command ends with 2 and the nearest one", async () => {
    expect(await say("insepct")).toEqual({
      code: 2,
      out: "",
      err: 'heed: unknown command "insepct"; did you mean inspect? (see heed --help)\n',
    });
    expect((await say("help", "nope")).code).toBe(2);
    expect((await say("--verson")).err).toContain("did you mean --version?");
  });

  it("an unknown option ends with 2, names the command and the nearest option", async () => {
    expect(await say("explain", "--shpae", "1,1,8,8")).toEqual({
      code: 2,
      out: "",
      err: "heed explain: unknown option --shpae; did you mean --shape? (see heed explain --help)\n",
    });
  });

  it("a list of threads or levels where one is expected ends with 2: only bench compares several", async () => {
    for (const [name, value, what] of [
      ["threads", "1,2", "an integer"],
      ["simd", "relaxed,strict", "wide, relaxed, strict"],
    ]) {
      const { code, err } = await say("explain", "--shape", "1,1,8,8", `--${name}`, value);
      expect(code).toBe(2);
      expect(err).toContain(`--${name} must be ${what}`);
    }
  });
});

describe("tell", () => {
  const reported = (error: unknown, json = false, env: Io["env"] = {}) => {
    const { io, text } = world(env);
    return { code: tell(error, "heed run", json, io), err: text.err };
  };

  it("is one line, with the command in front once", () => {
    expect(reported(new OptionError("x", "bad thing\nmore"))).toEqual({
      code: 1,
      err: "heed run: bad thing\n",
    });
    expect(reported(new OptionError("x", "heed run: bad")).err).toBe("heed run: bad\n");
    expect(reported(new UsageError("wrong"))).toEqual({
      code: 2,
      err: "heed run: wrong (see heed run --help)\n",
    });
    expect(reported(new Interrupted())).toEqual({ code: 130, err: "heed run: interrupted\n" });
    expect(reported("text")).toEqual({ code: 1, err: "heed run: text\n" });
  });

  it("has no control characters, which the terminal would interpret", () => {
    expect(reported(new OptionError("file", "cannot open \u001b[2Ja\rb")).err).toBe(
      "heed run: cannot open \\u001b[2Ja\\u000db\n",
    );
  });

  it("is an object with kind, code and fields with --json", () => {
    const { code, err } = reported(new FormatError("npy-magic", "bad", { offset: 3, tensor: "q" }), true);
    expect(code).toBe(1);
    expect(JSON.parse(err)).toEqual({
      error: {
        kind: "FormatError",
        code: "npy-magic",
        message: "bad",
        fields: { offset: 3, tensor: "q" },
        exit: 1,
      },
    });
  });

  it("shows the stack only with HEED_DEBUG", () => {
    expect(reported(new Error("boom")).err).toBe("heed run: boom\n");
    expect(reported(new Error("boom"), false, { HEED_DEBUG: "1" }).err).toContain("dispatch.test.ts");
  });
});

describe("colorDepth", () => {
  const terminal = { isTTY: true as const, getColorDepth: () => 24 };
  const pipe = { isTTY: false as unknown as true };

  it("is that of the terminal, and 0 for other streams", () => {
    expect(colorDepth(terminal, {})).toBe(24);
    expect(colorDepth(pipe, {})).toBe(0);
    expect(colorDepth(terminal, { TERM: "dumb" })).toBe(0);
  });

  it("NO_COLOR switches it off, FORCE_COLOR on, and the latter wins", () => {
    expect(colorDepth(terminal, { NO_COLOR: "1" })).toBe(0);
    expect(colorDepth(terminal, { NO_COLOR: "" })).toBe(24);
    expect(colorDepth(pipe, { FORCE_COLOR: "3" })).toBe(24);
    expect(colorDepth(pipe, { FORCE_COLOR: "1", NO_COLOR: "1" })).toBe(4);
    expect(colorDepth(terminal, { FORCE_COLOR: "0" })).toBe(0);
  });
});

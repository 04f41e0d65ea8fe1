/** The parts of `npm test` run side by side; their output is read one part after the other, and no failure is lost. */
import { describe, expect, it } from "vitest";
import { type Part, Parts } from "../../tools/parts/parts.mjs";
import { playwrightCounts, vitestCounts } from "../../tools/parts/reports.mjs";
import { at } from "../../tools/setup.mjs";

const node = process.execPath;

/** Parts whose output is collected. */
function collect() {
  const shown: string[] = [];
  const parts = new Parts(process.cwd(), (text) => shown.push(text));
  return { parts, text: () => shown.join("") };
}

/** A part that ends when the test says so. */
function releasedPart(parts: Parts, title: string, first: string) {
  let release!: () => void;
  const until = new Promise<void>((resolve) => {
    release = resolve;
  });
  const begin = parts.add(title, async (part) => {
    part.write(first);
    await until;
    part.write(`${title} ends\n`);
  });
  return { begin, release };
}

describe("output", () => {
  it("of the first part that has not ended is shown as it is written, of later ones when their turn comes", async () => {
    const { parts, text } = collect();
    const [first, second, third] = ["one", "two", "three"].map((title) =>
      releasedPart(parts, title, `${title} begins\n`),
    );
    const all = [third, second, first].map(({ begin }) => begin());
    expect(text()).toMatch(/^\n── one \(from \d+ s\)\none begins\n$/);
    second.release();
    await all[1];
    expect(text()).not.toContain("two");
    first.release();
    await all[2];
    expect(text()).toMatch(
      /one ends\n── 0 passed.*\n\n── two .*\ntwo begins\ntwo ends\n.*\n\n── three .*\nthree begins\n$/,
    );
    third.release();
    await all[0];
    expect(text()).toMatch(/three begins\nthree ends\n── 0 passed, 0 failed, 0 skipped in \d+ s\n$/);
  });

  it("of a program has both of its streams", async () => {
    const { parts, text } = collect();
    await parts.add("one", async (part) => {
      await part.run(node, ["-e", "console.log('to stdout'); console.error('to stderr')"]);
    })();
    expect(text()).toContain("to stdout\n");
    expect(text()).toContain("to stderr\n");
  });

  it("of a program with a title is one piece", async () => {
    const { parts, text } = collect();
    await parts.add("one", async (part) => {
      const counting = (word: string) => `for (let n = 0; n < 3; n++) console.log('${word}', n)`;
      await Promise.all(
        ["a", "b"].map((title) => part.run(node, ["-e", counting(title)], { title: `program ${title}` })),
      );
    })();
    for (const word of ["a", "b"])
      expect(text()).toMatch(new RegExp(`· program ${word} \\(\\d+ s\\)\n${word} 0\n${word} 1\n${word} 2\n`));
  });
});

describe("a failure is counted", () => {
  const counts = async (work: (part: Part) => Promise<unknown>) => {
    const { parts, text } = collect();
    await parts.add("one", async (part) => void (await work(part)))();
    return { counts: `${parts.tally()}`, text: text() };
  };
  const script = (code: string, timeout = 60) =>
    counts((part) => part.script("it", node, ["-e", code], { timeout }));

  it.each([
    ["a check whose program ends with 1", "process.exit(1)", /it ended with status 1/],
    ["a check whose program is killed", "process.kill(process.pid)", /it ended with status null/],
  ])("%s", async (_, code, problem) => {
    const totals = await counts((part) => part.check("it", node, ["-e", code]));
    expect(totals.counts).toBe("0 passed, 1 failed, 0 skipped");
    expect(totals.text).toMatch(problem);
  });

  it("a program that cannot be started", async () => {
    const totals = await counts((part) => part.check("it", "/nowhere/program", []));
    expect(totals.counts).toBe("0 passed, 1 failed, 0 skipped");
    expect(totals.text).toContain("ENOENT");
  });

  it("a script with failures in its closing line, once", async () => {
    const totals = await script("console.log('4 passed, 2 failed, 1 skipped'); process.exitCode = 1");
    expect(totals.counts).toBe("4 passed, 2 failed, 1 skipped");
  });

  it("a script that ends with 1 although its closing line has no failure", async () => {
    const totals = await script("console.log('4 passed, 0 failed, 0 skipped'); process.exitCode = 1");
    expect(totals.counts).toBe("4 passed, 1 failed, 0 skipped");
  });

  it("a script without a closing line, and one that hangs", async () => {
    expect((await script("")).text).toContain("ended with status 0 and no closing line");
    const late = await script("setInterval(() => {}, 1000)", 0.1);
    expect(late.counts).toBe("0 passed, 1 failed, 0 skipped");
    expect(late.text).toContain("had not ended by itself after 0.1 s");
  });

  it("a part whose work throws", async () => {
    const totals = await counts(() => Promise.reject(new Error("a mistake")));
    expect(totals.counts).toBe("0 passed, 1 failed, 0 skipped");
    expect(totals.text).toContain("a mistake");
  });

  it("of one part does not end the others, whose counts are added", async () => {
    const { parts } = collect();
    const begin = [
      parts.add("one", async (part) => void (await part.check("it", node, ["-e", "process.exit(3)"]))),
      parts.add("two", async (part) => void (await part.check("it", node, ["-e", ""]))),
    ];
    await Promise.all(begin.map((start) => start()));
    expect(`${parts.tally()}`).toBe("1 passed, 1 failed, 0 skipped");
  });

  it("a test, or a file, without a result", () => {
    const one = (fullName: string, status: string, ...failureMessages: string[]) => ({
      fullName,
      status,
      failureMessages,
    });
    const file = (name: string, status: string, ...assertionResults: ReturnType<typeof one>[]) => ({
      name: at(name),
      status,
      assertionResults,
    });
    const counts = vitestCounts({
      numPassedTests: 2,
      numFailedTests: 1,
      numPendingTests: 2,
      testResults: [
        file("a.test.ts", "passed", one("x", "passed"), one("y", "skipped")),
        file("b.test.ts", "passed", one("x", "passed"), one("y", "pending")),
        file("c.test.ts", "passed"),
        { ...file("d.test.ts", "failed"), message: "no such\n  file" },
        file("e.test.ts", "failed", one("x", "failed", "Error: a\u001b[31m\n  at b")),
      ],
    });
    expect(counts.unfinished).toEqual(["b.test.ts: y", "c.test.ts"]);
    expect(counts.failures).toEqual(["d.test.ts: no such | file", "e.test.ts: x: Error: a | at b"]);
  });

  const spec = (title: string, ...errors: (string | undefined)[]) => {
    const status = errors.at(-1) !== undefined ? "unexpected" : errors.length === 1 ? "expected" : "flaky";
    const results = errors.map((message) => (message === undefined ? {} : { error: { message } }));
    return { title, tests: [{ status, results }] };
  };

  it("of a browser test, with the names of those that passed in the second run", () => {
    const counts = playwrightCounts({
      stats: { expected: 1, unexpected: 1, flaky: 1, skipped: 0 },
      suites: [
        {
          file: "a.spec.mjs",
          specs: [spec("x", undefined), spec("y", "wrong", undefined)],
          suites: [{ file: "a.spec.mjs", specs: [spec("z", "late", "later")] }],
        },
      ],
    });
    expect([counts.passed, counts.failed]).toEqual([2, 1]);
    expect(counts.failures).toEqual(["a.spec.mjs: z: late"]);
    expect(counts.repeated).toEqual(["a.spec.mjs: y: wrong"]);
  });

  it("of browser tests, three of which passed only in the second run: failures", () => {
    const specs = ["x", "y", "z"].map((title) => spec(title, "wrong", undefined));
    const counts = playwrightCounts({
      stats: { expected: 4, unexpected: 0, flaky: 3, skipped: 0 },
      suites: [{ file: "a.spec.mjs", specs }],
    });
    expect([counts.passed, counts.failed]).toEqual([4, 3]);
    expect(counts.failures).toHaveLength(3);
    expect(counts.repeated).toEqual([]);
  });

  it("of a script, by the lines that it prints", async () => {
    const { parts } = collect();
    const begin = parts.add("one", (part) =>
      part.script("it", node, ["-e", "console.log('  FAILED x: y\\n1 passed, 1 failed, 0 skipped')"], {
        timeout: 60,
      }),
    );
    await begin();
    expect(parts.tally().failures).toEqual(["x: y"]);
  });
});

import { describe, expect, it } from "vitest";
import { storeFrom } from "../../../src/store/layout/from.ts";
import type { Span } from "../../../src/store/measures/aggregate.ts";
import { visible } from "../../../src/store/text/tokens.ts";
import { colorTable, type Ramp } from "../../../src/view/color.ts";
import { madeInput } from "../../../tests/explorer/support/stores.ts";
import { Session } from "../../app/session.ts";
import { Slices } from "../../app/time-slicer.ts";
import { directionOf, flow, lineOf, unitOf, unitsOf } from "./flow.ts";
import { contrast, inkOn } from "./ink.ts";
import { MARK, type Question, TextValues } from "./values.ts";

const space = visible(" ");
const texts = (tokens: string[], words = false) => unitsOf(tokens, words).map(({ text }) => text);

describe("a token in running text", () => {
  it("loses the space that separates it from the previous word, and no other", () => {
    const tokens = ["The", " cat", "  sat", " ", "\n", " on", "\t"];
    expect(texts(tokens)).toEqual(["The", "cat", `${space}sat`, space, "⏎", "on", "⇥"]);
    expect(unitsOf(tokens, false).map(({ breaks }) => breaks)).toEqual([
      false,
      false,
      false,
      false,
      true,
      false,
      false,
    ]);
  });

  it("is joined to the word it continues", () => {
    const apart = (tokens: string[]) => unitsOf(tokens, false).map((unit) => unit.apart);
    expect(apart(["[CLS]", "un", "##like", "##ly", "[SEP]"])).toEqual([true, true, false, false, true]);
    expect(apart(["<s>", "▁un", "like", "▁it"])).toEqual([true, true, false, true]);
    expect(apart(["a", "b"])).toEqual([true, true]);
  });

  it("forms one unit with the other pieces of its word", () => {
    expect(texts(["[CLS]", "un", "##like", "##ly", "so", "[SEP]"], true)).toEqual([
      "[CLS]",
      "unlikely",
      "so",
      "[SEP]",
    ]);
    const [, word] = unitsOf(["[CLS]", "un", "##like", "##ly"], true);
    expect([word.start, word.end]).toEqual([1, 4]);
  });

  it("shows control characters, and at most 48 characters", () => {
    const [bidi, long] = texts(["a\u202eb", "x".repeat(10_000)]);
    expect(bidi).toBe("a⟨U+202E⟩b");
    expect([...long].length).toBe(48);
  });

  it("is read from right to left if most letters are", () => {
    expect(directionOf(["[CLS]", "שלום", "עולם", "[SEP]"])).toBe("rtl");
    expect(directionOf(["hello", "עולם", "and", "more"])).toBe("ltr");
    expect(directionOf([])).toBe("ltr");
  });
});

describe("lines of text", () => {
  const measure = (text: string) => 10 * text.length;

  it("contain every unit once, in order, none wider than the text", () => {
    const units = unitsOf("the quick brown fox jumps over the lazy dog again and again".split(" "), false);
    const lines = flow(units, 200, measure);
    expect(lines[0].first).toBe(0);
    expect(lines.at(-1)?.end).toBe(units.length);
    for (const [n, { first, end }] of lines.entries()) {
      if (n > 0) expect(first).toBe(lines[n - 1].end);
      const width = units.slice(first, end).reduce((sum, { text }) => sum + measure(text) + 6 + 4, -4);
      expect(width).toBeLessThanOrEqual(200);
      for (let unit = first; unit < end; unit++) expect(lineOf(lines, unit)).toBe(n);
    }
  });

  it("keep the pieces of a word together, and end at a line break", () => {
    const units = unitsOf(["aaaa", "bb", "##bbbb", "c", "\n", "d"], false);
    const lines = flow(units, 100, measure);
    expect(lines).toEqual([
      { first: 0, end: 1 },
      { first: 1, end: 4 },
      { first: 4, end: 5 },
      { first: 5, end: 6 },
    ]);
  });

  it("break a word that is longer than a line", () => {
    const lines = flow(unitsOf(["un", ...new Array(30).fill("##like")], false), 120, measure);
    expect(lines.length).toBeGreaterThan(10);
    expect(lines.at(-1)?.end).toBe(31);
  });

  it("find the unit of a token", () => {
    const units = unitsOf(["[CLS]", "un", "##like", "so"], true);
    expect([0, 1, 2, 3].map((token) => unitOf(units, token))).toEqual([0, 1, 1, 2]);
  });
});

describe("ink on a tint", () => {
  const ramps: Ramp[] = ["plum", "plum-dark", "grey", "grey-dark", "cividis", "signed", "signed-dark"];
  it.each(ramps)("is legible on every color of %s", (ramp) => {
    for (const color of colorTable(ramp)) expect(contrast(inkOn(color), color)).toBeGreaterThanOrEqual(4.5);
  });
});

describe("the numbers of a tinted text", () => {
  const tokens = ["[CLS]", "un", "##like", "##ly", "so", "it", "is"];
  const setup = () => {
    const session = new Session();
    session.open(
      storeFrom({ blocks: [{ ...madeInput({ tokens, Nq: 7 }).blocks[0], recipe: { mask: "causal" } }] }),
    );
    const values = new TextValues(session, new Slices(), () => {});
    return { session, store: session.store!, values, block: session.block! };
  };
  const one = (index: number): Span => ({ start: index, end: index + 1 });
  const pieces = tokens.map((_, index) => one(index));
  const words = unitsOf(tokens, true);
  const question = (some: Partial<Question>): Question => ({
    direction: "from",
    stage: "weights",
    chosen: [one(5)],
    over: pieces,
    aggregate: "mean",
    ...some,
  });
  /** Asks until the columns have arrived. */
  const computed = async (values: TextValues, block: ReturnType<typeof setup>["block"], what: Question) => {
    for (let n = 0; n < 200; n++) {
      const answer = values.ask(block, what);
      if (answer) return answer;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    throw new Error("no columns appeared");
  };

  it("from one query are its row, masked keys marked", () => {
    const { store, values, block, session } = setup();
    const answer = values.ask(block, question({}))!;
    expect([...answer.values]).toEqual([...store.row(session.ref, 5, "weights")]);
    expect([...answer.marks]).toEqual([0, 0, 0, 0, 0, 0, MARK.masked]);
  });

  it("to one key are its column, with queries that cannot see it marked", async () => {
    const { store, values, block, session } = setup();
    const answer = await computed(values, block, question({ direction: "to", chosen: [one(2)] }));
    const want = tokens.map((_, i) => store.cell(session.ref, i, 2, "weights"));
    for (const [i, value] of want.entries()) expect(answer.values[i]).toBeCloseTo(value, 6);
    expect([...answer.marks]).toEqual([MARK.masked, MARK.masked, 0, 0, 0, 0, 0]);
  });

  it("from several queries are their mean, sum or largest", () => {
    const { store, values, block, session } = setup();
    const rows = [4, 6].map((i) => store.row(session.ref, i, "weights"));
    const get = (aggregate: "mean" | "sum" | "max") =>
      values.ask(block, question({ chosen: [one(4), one(6)], aggregate }))!.values[1];
    expect(get("mean")).toBeCloseTo((rows[0][1] + rows[1][1]) / 2, 12);
    expect(get("sum")).toBeCloseTo(rows[0][1] + rows[1][1], 12);
    expect(get("max")).toBe(Math.max(rows[0][1], rows[1][1]));
  });

  it("over words are sums over keys and means over queries in both directions", async () => {
    const { store, values, block, session } = setup();
    const rows = [1, 2, 3].map((i) => store.row(session.ref, i, "weights"));
    // The word "unlikely" is tokens 1 to 3.
    const want = rows.reduce((sum, row) => sum + row[1] + row[2] + row[3], 0) / 3;
    const from = values.ask(block, question({ chosen: [words[1]], over: words }))!;
    expect(from.values[1]).toBeCloseTo(want, 12);
    const to = await computed(values, block, question({ direction: "to", chosen: [words[1]], over: words }));
    expect(to.values[1]).toBeCloseTo(want, 6);
    expect(from.values.reduce((a, b) => a + b)).toBeCloseTo(1, 12);
  });

  it("leave hidden keys out, with a gap or renormalized", async () => {
    const { store, values, block, session } = setup();
    const row = store.row(session.ref, 5, "weights");
    session.set({ hide: "first" });
    const gap = values.ask(block, question({}))!;
    expect(gap.marks[0]).toBe(MARK.hidden);
    expect(gap.values[1]).toBe(row[1]);
    expect(gap.missing).toBeCloseTo(row[0], 12);
    session.set({ renormalize: true });
    const shared = values.ask(block, question({}))!;
    expect(shared.values[1]).toBeCloseTo(row[1] / (1 - row[0]), 12);
    const to = await computed(values, block, question({ direction: "to", chosen: [one(1)] }));
    expect(to.values[5]).toBeCloseTo(row[1] / (1 - row[0]), 6);
  });

  it("at score stages are the scores, means over words", () => {
    const { store, values, block, session } = setup();
    const row = store.row(session.ref, 5, "scores");
    const answer = values.ask(block, question({ stage: "scores", over: words }))!;
    expect(answer.values[1]).toBeCloseTo((row[1] + row[2] + row[3]) / 3, 12);
    expect([...answer.marks]).toEqual(words.map(() => MARK.value));
    const masked = values.ask(block, question({ stage: "masked" }))!;
    expect(masked.marks[6]).toBe(MARK.masked);
    expect([...masked.values].every(Number.isFinite)).toBe(true);
  });
});

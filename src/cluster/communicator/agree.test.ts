import { expect, test } from "vitest";
import { causal } from "../../index.ts";
import { agree, isAgreed, type Terms, termOf, termOfNumbers, together } from "./agree.ts";
import type { Communicator } from "./communicator.ts";
import { localCluster } from "./local.ts";

/** What each of three ranks throws. */
const errorsOf = (call: (comm: Communicator) => Promise<unknown>) =>
  localCluster(3, (comm) =>
    call(comm).then(
      () => undefined,
      (error: unknown) => error,
    ),
  );

test("ranks that make other calls are told which", async () => {
  const errors = await errorsOf((comm) => {
    const what = comm.rank === 2 ? "train" : "contextAttention";
    return agree(comm, what, () => ({ terms: { steps: 1 }, value: 1 }));
  });
  for (const error of errors) {
    expect((error as Error).message).toMatch(
      /^(?:train|contextAttention): ranks disagree: the call is contextAttention on rank 0, but train on rank 2/,
    );
    expect([isAgreed(error), isAgreed(error, "elsewhere")]).toEqual([true, true]);
  }
});

test("a term that one rank alone has, and one longer than a message, are errors on all", async () => {
  const termsOf = (rank: number): Terms => (rank === 1 ? { more: 1 } : {});
  const named = await errorsOf((comm) =>
    agree(comm, "call", () => ({ terms: termsOf(comm.rank), value: 0 })),
  );
  for (const error of named)
    expect((error as Error).message).toContain("more is undefined on rank 0, but 1 on rank 1");
  const long = await errorsOf((comm) =>
    agree(comm, "call", () => ({ terms: { text: "x".repeat(9000) + comm.rank }, value: 0 })),
  );
  for (const error of long)
    expect((error as Error).message).toMatch(/^call: ranks disagree in their options; every rank must/);
});

test.each([
  ["an error", new Error("full"), "full"],
  ["a text", "full", "full"],
  ["nothing", undefined, "undefined"],
])("%s that one rank throws is its own there, and names the rank elsewhere", async (_, thrown, text) => {
  for (const run of [
    (comm: Communicator) =>
      agree(comm, "call", () => {
        if (comm.rank === 1) throw thrown;
        return { terms: {}, value: 0 };
      }),
    (comm: Communicator) =>
      together(comm, "call", {}, async () => {
        if (comm.rank === 1) throw thrown;
      }),
  ]) {
    const caught: unknown[] = [];
    await localCluster(3, async (comm) => {
      await run(comm).catch((error) => {
        caught[comm.rank] = error;
      });
    });
    expect(caught[1]).toBe(thrown);
    for (const rank of [0, 2]) {
      expect((caught[rank] as Error).message).toBe(`call: rank 1 of 3 cannot: ${text}`);
      expect(isAgreed(caught[rank], "elsewhere")).toBe(true);
    }
  }
});

test("one rank alone returns its value or throws its error", async () => {
  await localCluster(1, async (comm) => {
    expect(await agree(comm, "call", () => ({ terms: {}, value: 7 }))).toBe(7);
    const failed = together(comm, "call", {}, () => Promise.reject(new Error("full")));
    await expect(failed).rejects.toThrow("full");
    for (const value of [undefined, null, 3, new Error("x")]) expect(isAgreed(value)).toBe(false);
  });
});

test("terms of expressions and numbers differ where they do", () => {
  const chain = (count: number) =>
    Array.from({ length: count }, () => causal()).reduce((mask, other) => mask.or(other.not()));
  const texts = [undefined, causal(), causal().not(), chain(40), chain(41)].map(termOf);
  expect(new Set(texts).size).toBe(5);
  expect(termOf(chain(40))).toBe(texts[3]);
  const numbers = [undefined, [1], [1, 2, 3, 4], [1, 2, 3, 4, 5], [1, 2, 3, 4, 6]].map(termOfNumbers);
  expect(new Set(numbers).size).toBe(5);
});

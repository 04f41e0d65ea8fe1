/** What a server holds: texts run one after the other, and the oldest files that they made are closed. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { describeModel, ServedContent } from "./content.ts";
import { respondWithFile } from "./responses.ts";

const pages = new Map();
const going = new AbortController().signal;

it("a run that fails gives its error, and later runs still run, those of closed connections not", async () => {
  const content = new ServedContent({ pages });
  const failed = content.enqueue(() => Promise.reject(new Error("no memory")), going);
  const after = content.enqueue(async () => ({ name: "b" }), going);
  const closed = content.enqueue(async () => ({ name: "c" }), AbortSignal.abort());
  expect(await failed).toEqual({ error: "no memory" });
  expect([await after, await closed]).toEqual([{ name: "b" }, {}]);
});

it("a model that answers questions has a path for them", () => {
  const model = { name: "m", predicts: "none", text: "a", ablate: async () => ({}) } as const;
  const described = { name: "m", predicts: "none", text: "a", path: "/ablate/x/text" };
  expect(describeModel(model as never, "x/text")).toEqual(described);
  expect(describeModel({ ...model, answer: async () => ({}) } as never, "x/text")).toEqual({
    ...described,
    ask: "/ask/x/text",
  });
});

it("a file is read no further when its client has gone", async () => {
  let reads = 0;
  const response = { destroyed: false, writeHead: () => response, write: () => true, end: () => {} };
  const source = {
    size: 2 ** 24,
    read: async (_: number, length: number) => {
      response.destroyed = ++reads === 2;
      return new Uint8Array(length);
    },
    close: async () => {},
  };
  await respondWithFile(response as never, source, false, undefined);
  expect(reads).toBe(2);
});

it("of the files of texts the last 64 are kept, the others are closed with their models", async () => {
  const folder = await mkdtemp(join(tmpdir(), "heed-content-"));
  const path = join(folder, "a.heed");
  await writeFile(path, "bytes");
  const model = {
    name: "m",
    predicts: "none",
    ablate: async () => ({}),
    attention: async () => file,
  } as const;
  const file = { name: "a", source: path, model };
  const content = new ServedContent({ pages, text: async () => file });
  const run = async () => {
    const { path } = (await content.textRun("a", 0)!()) as { path: string };
    return path.replace("/data/", "");
  };
  try {
    const oldest = await run();
    const source = content.file(oldest)!;
    const second = await run();
    for (let n = 0; n < 62; n++) await run();
    expect(content.file(oldest)).toBe(source);
    await run();
    expect(content.file(oldest)).toBeUndefined();
    expect(content.ablationRun(oldest, [], { position: null, attention: false })).toBeUndefined();
    await expect(source.read(0, 1)).rejects.toThrow();
    expect(new TextDecoder().decode(await content.file(second)!.read(0, 5))).toBe("bytes");
    await content.close();
    await expect(content.file(second)!.read(0, 1)).rejects.toThrow();
  } finally {
    await rm(folder, { recursive: true });
  }
});

it("a text that is read once is closed by the next one; others stay", async () => {
  const text = async () => ({ name: "a", source: new Uint8Array(4) });
  const content = new ServedContent({ pages, text });
  const read = async (once: boolean) => {
    const { path } = (await content.textRun("a", 0, once)!()) as { path: string };
    return path.replace("/data/", "");
  };
  const [user, first, second] = [await read(false), await read(true), await read(true)];
  expect([user, first, second].map((id) => content.file(id) !== undefined)).toEqual([true, false, true]);
});

it("a file of an answer is added, and the one that it replaces is closed; the user's files stay", async () => {
  const folder = await mkdtemp(join(tmpdir(), "heed-content-"));
  const path = join(folder, "a.heed");
  await writeFile(path, "bytes");
  const answer = async () => ({ token: "a", file: { name: "a", source: path } });
  const model = {
    name: "m",
    predicts: "next",
    ablate: async () => ({}),
    attention: async () => file,
    answer,
  } as const;
  const file = { name: "a", source: path, model };
  const content = new ServedContent({
    pages,
    data: new Map([["own", path]]),
    models: new Map([["own", model]]),
  });
  await content.open();
  try {
    const ask = async (question: object) =>
      (await content.questionRun("own", question)!()) as { token: string; file: { path: string } };
    const first = await ask({ of: "next" });
    expect(first.token).toBe("a");
    const id = first.file.path.replace("/data/", "");
    expect(content.file(id)).toBeDefined();
    await ask({ of: "next", replaces: "/data/own" });
    expect(content.file("own")).toBeDefined();
    await ask({ of: "next", replaces: first.file.path });
    expect(content.file(id)).toBeUndefined();
  } finally {
    await content.close();
    await rm(folder, { recursive: true });
  }
});

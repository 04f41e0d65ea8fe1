/** Metadata of files, valid and invalid: each invalid entry is one problem with the entry's name, and the rest of the file is shown. */
import { cast, FormatError, ones, randn } from "heed";
import { readSafetensors, writeNpz, writeSafetensors } from "heed/io";
import { describe, expect, it } from "vitest";
import { writeBundle } from "./bundle.ts";
import { openStore } from "./open.ts";

const [q, k] = [randn([2, 3, 4], { seed: 1 }), randn([2, 3, 4], { seed: 2 })];
const bundle = await writeBundle({
  blocks: [{ tokens: ["a", "b", "c"], recipe: { mask: "causal" }, layers: [{ query: q, key: k }] }],
});

/** The store of a bundle whose metadata is changed. */
async function opened(change: Record<string, string>) {
  const { tensors, metadata } = readSafetensors(bundle);
  return openStore(writeSafetensors(tensors, { metadata: { ...Object.fromEntries(metadata), ...change } }));
}
const json = (value: unknown) =>
  openStore(new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value)));

describe("metadata of a bundle", () => {
  it.each([
    [{ kind: "both" }, '`blocks.self`: kind: expected "self" or "cross", got "both"'],
    [{ queryTokens: 3 }, "queryTokens: expected the name of a token list, got 3"],
    [{ queryOffset: 0.5 }, "queryOffset: expected an integer, got 0.5"],
    [{ segments: [{ name: 1 }] }, "segments: name: expected a text, got 1"],
    [
      { segments: [{ name: "A", query: [2, 1] }] },
      "segments: query: expected [from, to) with 0 ≤ from ≤ to, got [2, 1]",
    ],
    [{ segments: [{ name: "A", key: "all" }] }, 'segments: key: expected a list, got "all"'],
    [{ segments: [{ name: "A", key: [0, 9] }, 5] }, "segments: expected an object, got 5"],
    [{ segments: ["A"] }, 'segments: expected an object, got "A"'],
    [{ pictures: [{ tensor: 1 }] }, "pictures: tensor: expected the name of a tensor, got 1"],
    [
      { pictures: [{ tensor: "self.picture.0", first: 0, rows: 0, columns: 2 }] },
      "pictures: rows: expected an integer ≥ 1, got 0",
    ],
    [{ special: { query: [-1] } }, "special: expected positions, got [-1]"],
    [{ special: [0] }, "special: expected an object, got [0]"],
    [
      { color: "red" },
      'expected one of the fields kind, queryTokens, keyTokens, queryOffset, segments, pictures, headNames, special, got "color"',
    ],
    [7, "`blocks.self`: expected an object, got 7"],
  ] as [unknown, string][])("that is invalid is left out and reported: %#", async (about, words) => {
    const store = await opened({ blocks: JSON.stringify({ self: about }) });
    const texts = store.report.problems.map(({ text }) => text);
    expect(
      texts.some((text) => text.includes(words) && text.endsWith("; it is left out")),
      texts.join("\n"),
    ).toBe(true);
    expect(store.blocks[0]).toMatchObject({ heads: 2, Nq: 3, Nk: 3 });
    store.dispose();
  });

  it("of segments, warnings and a language is read; long and invalid warnings are cut and reported", async () => {
    const store = await opened({
      blocks: JSON.stringify({ self: { segments: [{ name: "A", key: [1, 3] }] } }),
      warnings: JSON.stringify(["the numbers are rounded", "x".repeat(2000)]),
    });
    expect(store.blocks[0].segments).toEqual([{ name: "A", key: [1, 3] }]);
    const texts = store.report.problems.map(({ text }) => text);
    expect(texts[0]).toBe("the numbers are rounded");
    expect(texts[1]).toMatch(/^x+…$/);
    expect(texts[1].length).toBeLessThan(1000);
    const invalid = await opened({ warnings: "5" });
    expect(invalid.report.problems.map(({ text }) => text)).toEqual([expect.stringContaining("`warnings`")]);
    for (const one of [store, invalid]) one.dispose();
  });

  it("of a newer version is refused before anything is read", async () => {
    await expect(opened({ heed: "2" })).rejects.toThrow(
      'openStore: a bundle of version "2"; this reader knows version "1", so open it with a newer heed',
    );
  });
});

describe("JSON of attention", () => {
  const weights = [
    [
      [
        [1, 0],
        [0.5, 0.5],
      ],
    ],
  ];

  it("with a byte order mark, spaces and an empty object inside is read", async () => {
    const store = await json(
      `\ufeff { "attention" : ${JSON.stringify(weights)} , "tokens": ["a", "b"], "more": {} }`,
    );
    expect(store.blocks[0]).toMatchObject({ heads: 1, Nq: 2, Nk: 2 });
    store.dispose();
  });

  it("of packed layers, a list or one for all heads, is read", async () => {
    const values = btoa(String.fromCharCode(...new Uint8Array(Float32Array.of(1, 0, 0.5, 0.5).buffer)));
    const one = { values, shape: [1, 2, 2] };
    for (const views of [[one, one], { attention: [one, one], tokens: ["a", "b"] }]) {
      const store = await json(views);
      expect(store.blocks[0].layers).toEqual([0, 1]);
      store.dispose();
    }
    await expect(json([one, { values, shape: [2, 1, 2] }])).rejects.toThrow(
      "entry 1 is [2, 1, 2], the first [1, 2, 2]; all must have the same shape",
    );
    await expect(json([{ values, shape: [1, -2, 2] }])).rejects.toThrow("a shape [1, -2, 2]");
    await expect(json([{ values: "%%", shape: [1, 2, 2] }])).rejects.toThrow("values that are not base64");
  });

  it("whose sentence B begins outside the tokens has no segments, and a problem reports it", async () => {
    const store = await json({ attention: weights, tokens: ["a", "b"], sentence_b_start: 3 });
    expect(store.report.problems.map(({ text }) => text)).toContain(
      "sentence_b_start must be an integer from 0 to 2, got 3; there are no segments",
    );
    expect(store.blocks[0].segments).toEqual([]);
    store.dispose();
  });

  it.each([
    ["[]", "got a list of 0"],
    ["{}", "got an object with"],
    ['"text"', "not a safetensors, npz, npy or JSON file"],
    ['{"scores": [1], "more": 2}', 'got an object with "scores", "more"'],
    ["[[1], 2]", "a number where a list should be"],
    ["[[1], [[2]]]", "a list where a number should be"],
    ["[01]", "not a JSON number"],
    ["[1.]", "not a JSON number"],
    ["[1e]", "not a JSON number"],
    [`[${"1".repeat(401)}]`, "a number of more than 400 characters"],
    ['{"a": 1, "a": 2}', 'the key "a" appears twice'],
    ["[1] 2", "expected the end of the file"],
  ] as const)("that is invalid is refused (%.30s), and the error says why", async (text, words) => {
    await expect(json(text)).rejects.toThrow(FormatError);
    await expect(json(text)).rejects.toThrow(words);
  });

  it("reads Infinity and NaN as Python writes them, and long numbers to the last bit", async () => {
    const store = await json("[[[[Infinity, -Infinity], [NaN, 0.1000000000000000055511151231257827]]]]");
    const row = async (n: number) => {
      await store.load({ block: 0, layer: 0, head: 0 });
      return [...store.row({ block: 0, layer: 0, head: 0 }, n, "weights")];
    };
    expect(await row(0)).toEqual([Infinity, -Infinity]);
    expect(await row(1)).toEqual([Number.NaN, expect.closeTo(0.1, 7)]);
    store.dispose();
  });
});

describe("arrays with common names", () => {
  it("of the sums of rows and the norms of values have an axis fewer", async () => {
    const [lse, vnorm] = [randn([2, 3], { seed: 4 }), cast(ones([2, 3]), "float32")];
    const store = await openStore(await writeNpz({ q, k, lse, vnorm }));
    expect(store.blocks[0].has).toMatchObject({ lse: true });
    await expect(
      openStore(await writeNpz({ q, k, lse: randn([1], { seed: 1 }).reshape([]) })),
    ).rejects.toThrow(
      "openStore: `lse` is []; expected [layers, heads, keys], with or without its first axes",
    );
    store.dispose();
  });

  it("may have the names of a bundle, and take tokens, a recipe and a language from the call", async () => {
    const options = { tokens: ["x", "y", "z"], recipe: { mask: "causal" as const }, lang: "de" };
    const store = await openStore(await writeNpz({ "self.q.0": q, "self.k.0": k }), options);
    expect(store.blocks[0]).toMatchObject({
      queryTokens: options.tokens,
      queryLang: "de",
      recipe: { mask: "causal" },
    });
    await expect(openStore(bundle, { recipe: 5 as never })).rejects.toThrow(
      "openStore: recipe must be an object, got 5",
    );
    store.dispose();
    const { tensors } = readSafetensors(bundle);
    const bare = await openStore(writeSafetensors(tensors, { metadata: { heed: "1" } }), options);
    expect(bare.blocks[0].queryTokens).toEqual(options.tokens);
    bare.dispose();
  });

  it("are opened; arrays with unknown names are reported", async () => {
    const store = await openStore(await writeNpz({ q, k, speed: randn([3], { seed: 3 }) }));
    expect(store.report.problems.map(({ text }) => text).join()).toMatch(
      /`speed` is not recognized and is left out; expected q and k, or attn/,
    );
    store.dispose();
    await expect(openStore(await writeNpz({ speed: q }))).rejects.toThrow(
      /nothing in it can be shown: `speed` is not recognized/,
    );
    await expect(openStore(await writeNpz({ q: randn([3], { seed: 1 }), k }))).rejects.toThrow(
      "openStore: `q` is [3]; expected [layers, heads, queries, keys or numbers], with or without its first axes",
    );
  });
});

describe("results in a bundle", () => {
  const share = { value: 1, difference: 0.5 };
  const component = { component: { kind: "word" }, ...share };
  const score = {
    kind: "score",
    command: "heed why",
    layer: 0,
    head: 0,
    query: 2,
    key: 0,
    weight: 0.5,
    score: share,
    terms: [{ query: { kind: "head", layer: 0, head: 1 }, key: { kind: "word" }, ...share }],
    rest: share,
    queryComponents: [component],
    keyComponents: [component],
  };
  const mlp = { part: "mlp", layer: 0, change: 0.1, value: 1 };
  const effect = { part: "head", layer: 0, head: 1, change: 0.1, value: 1 };
  const effects = { kind: "effects", command: "heed ablate", value: 0.9, effects: [effect, mlp] };

  it("that are valid are returned as they are", async () => {
    const { value, ...rest } = effect;
    const prediction = { ...effects, kind: "prediction", effects: [{ ...rest, probability: value }] };
    const store = await opened({ "evidence.self": JSON.stringify([score, effects, prediction]) });
    expect(store.blocks[0].evidence).toEqual([score, effects, prediction]);
    expect(store.report.problems).toEqual([]);
  });

  it.each([
    [{}, "expected a list, got Object"],
    [Array(65).fill(score), "expected at most 64 results, got 65"],
    [[7], "result 0: expected an object, got 7"],
    [[{ ...score, command: undefined }], "command: expected the command that made it, got undefined"],
    [[{ ...score, kind: "guess" }], 'kind: expected "score", "effects" or "prediction", got "guess"'],
    [[score, { ...score, query: 3 }], "result 1: query: expected an integer from 0 to 2, got 3"],
    [[{ ...score, key: 3 }], "result 0: key: expected an integer from 0 to 2, got 3"],
    [[{ ...score, layer: -1 }], "layer: expected an integer"],
    [[{ ...score, weight: "a lot" }], 'weight: expected a number, got "a lot"'],
    [[{ ...score, rest: { value: 1 } }], "rest: difference: expected a number, got undefined"],
    [[{ ...score, terms: [share] }], "terms: expected an object, got undefined"],
    [[{ ...score, keyComponents: [{ component: { kind: 1 }, ...share }] }], "kind: expected a text, got 1"],
    [[{ ...score, keyComponents: [share] }], "keyComponents: expected an object, got undefined"],
    [[{ ...score, queryComponents: undefined }], "queryComponents: expected a list, got undefined"],
    [[{ ...effects, value: null }], "value: expected a number, got null"],
    [[{ ...effects, effects: [{ ...effect, part: 1 }] }], "part: expected a text, got 1"],
    [[{ ...effects, effects: [{ ...effect, head: 0.5 }] }], "head: expected an integer"],
    [[{ ...effects, kind: "prediction" }], "probability: expected a number, got undefined"],
  ] as [unknown, string][])("that are invalid are left out and reported: %#", async (list, words) => {
    const store = await opened({ "evidence.self": JSON.stringify(list) });
    expect(store.blocks[0].evidence).toEqual([]);
    expect(store.report.problems).toHaveLength(1);
    expect(store.report.problems[0].text).toContain(words);
  });

  it("states of another shape are left out and reported", async () => {
    const { tensors, metadata } = readSafetensors(bundle);
    const state = randn([2, 8], { seed: 3 });
    const bytes = writeSafetensors({ ...Object.fromEntries(tensors), "self.state.0": state } as never, {
      metadata: Object.fromEntries(metadata),
    });
    const store = await openStore(bytes);
    expect(store.blocks[0].states).toEqual([]);
    expect(store.report.problems[0].text).toContain(
      "`self.state.0` is [2, 8] float32, expected [3, width] floats",
    );
  });
});

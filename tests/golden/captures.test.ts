/** The captures in models/captures: whole words, and the weights that PyTorch computes in float64 from the same model. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { contrastOf, openStore, type StoredEffects, type StoredScore } from "heed/view";
import { describe, expect, test } from "vitest";

const folder = join(import.meta.dirname, "../../models/captures");

/** [file, text, links [from, to, layer, head, weight, others, offset: transformers eager in float64]] */
const CAPTURES = [
  ["time-flies", "time flies like an arrow", [["flies", "time", 0, 4, 0.8016218079, 0.0433587356, 0.1541543553], ["flies", "arrow", 5, 11, 0.5807270434, 0.6062500862, 0.035604081], ["flies", "time", 2, 11, 0.7480150411, 0.0084375958, 0.5678609197]]],
  ["fruit-flies", "fruit flies like a banana", [["flies", "fruit", 0, 4, 0.8109969497, 0.020641998, 0.1167193982], ["flies", "banana", 5, 11, 0.2977260435, 0.2251165952, 0.0437106006]]],
  ["river-bank", "they walked along the river bank", [["bank", "river", 0, 4, 0.8522737528, 0.1553331938, 0.1621390896], ["bank", "river", 2, 11, 0.6599205446, 0.0066176866, 0.4385480337]]],
  ["bank-of-the-river", "they walked along the bank of the river", [["bank", "river", 0, 4, 0.7059880262, 0.0733104083, 0.1021930402]]],
  ["savings-bank", "they walked to the savings bank", [["bank", "savings", 0, 4, 0.6284657945, 0.050009379, 0.1437216368], ["bank", "savings", 5, 4, 0.7740769387, 0.3647105244, 0.1078286096]]],
  ["bank-of-the-table", "they sat by the bank of the table", [["bank", "table", 0, 4, 0.045063034, 0.0198110886, 0.1240786764]]],
  ["tired-cat", "The cat sat on the mat because it was tired", [["it", "cat", 3, 1, 0.4873356465, 0.1080378203, 0.2848120686], ["it", "cat", 5, 11, 0.6826292513, 0.640579854, 0.0454415568]]],
  ["soft-cat", "The cat sat on the mat because it was soft", [["it", "cat", 3, 1, 0.1690963133, 0.1133706319, 0.2757617556], ["it", "mat", 3, 1, 0.2037015665, 0.1176590736, 0.1479604595]]],
] as const; // biome-ignore format: one capture a line

describe.each(CAPTURES)("%s", (name, text, links) => {
  const path = join(folder, `${name}.safetensors`);

  test("holds every word of its text as one token, in at most 260 kB", async () => {
    const store = await openStore(readFileSync(path), { name });
    expect(store.blocks).toHaveLength(1);
    const [{ queryTokens, layers, heads }] = store.blocks;
    expect(queryTokens).toEqual(["[CLS]", ...text.toLowerCase().split(" "), "[SEP]"]);
    expect([layers.length, heads]).toEqual([6, 12]);
    expect(statSync(path).size).toBeLessThan(260_000);
    expect(store.report.problems).toEqual([]);
    expect(store.blocks[0].states).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(store.blocks[0].evidence.every(({ command }) => command.startsWith("heed "))).toBe(true);
    // Queries and keys in float16 against the model's own log-sum-exp.
    expect(store.report.verified?.maxDelta).toBeLessThan(0.01);
    store.dispose();
  });

  test("its links have PyTorch's weights and baselines, to what float16 keeps", async () => {
    const store = await openStore(readFileSync(path), { name });
    const [{ queryTokens }] = store.blocks;
    for (const [from, to, layer, head, ...want] of links) {
      const [query, key] = [queryTokens.lastIndexOf(from), queryTokens.indexOf(to)];
      const { weight, others, offset } = await contrastOf(store, { block: 0, layer, head }, query, key);
      [weight, others, offset].forEach((got, n) => {
        expect(Math.abs(got - want[n]), `${from} → ${to}, number ${n}`).toBeLessThan(5e-4);
      });
    }
    store.dispose();
  });
});

describe("evidence.json", () => {
  const evidence = JSON.parse(readFileSync(join(folder, "evidence.json"), "utf8"));
  const { minilm } = JSON.parse(readFileSync(join(import.meta.dirname, "evidence/evidence.json"), "utf8"));
  const isClose = (got: number, want: number) => void expect(Math.abs(got - want)).toBeLessThan(1e-3);

  test("its reasons, effects and cosines are PyTorch's", () => {
    for (const [n, { score, words, positions, rest }] of evidence.why.entries()) {
      const want = minilm.why[n];
      isClose(score, want.score[1]);
      isClose(words, want.terms["word × word"][1]);
      isClose(positions, want.terms["position × position"][1]);
      isClose(words + positions + rest, score);
    }
    evidence.cause.cosines.forEach((cosine: number, layer: number) => isClose(cosine, minilm.cosines[layer]));
    evidence.cause.off
      .flat()
      .forEach((change: number, n: number) => isClose(change, minilm.off[Math.floor(n / 12)][n % 12]));
    for (const { word, cosines } of evidence.becomes.words)
      cosines.forEach((cosine: number, n: number) =>
        isClose(cosine, minilm.becomes[word === "soars" ? "##ars" : word][n]),
      );
  });

  test("its reasons and effects are those that the captures carry: one source", async () => {
    const carried = async <T>(text: string, kind: string) => {
      const name = CAPTURES.find(([, of]) => of === text)![0];
      const store = await openStore(readFileSync(join(folder, `${name}.safetensors`)), { name });
      const result = store.blocks[0].evidence.find((it) => it.kind === kind);
      store.dispose();
      return result as T;
    };
    // Four digits are written.
    const isSame = (got: number, want: number) => void expect(Math.abs(got - want)).toBeLessThan(6e-5);
    for (const { text, score, words, positions } of evidence.why) {
      const split = await carried<StoredScore>(text, "score");
      const term = (kind: string) =>
        split.terms.find(({ query, key }) => query.kind === kind && key.kind === kind)!.difference;
      isSame(score, split.score.difference);
      isSame(words, term("word"));
      isSame(positions, term("position"));
    }
    const { effects } = await carried<StoredEffects>("time flies like an arrow", "effects");
    expect(effects).toHaveLength(evidence.cause.off.flat().length);
    for (const { layer, head, change } of effects) isSame(evidence.cause.off[layer][head!], change);
  });

  test("its links are those of the captures", async () => {
    for (const link of evidence.links) {
      const name = CAPTURES.find(([, text]) => text === link.text)![0];
      const store = await openStore(readFileSync(join(folder, `${name}.safetensors`)), { name });
      const { layer, head, query, key } = link;
      const { weight, others, offset } = await contrastOf(store, { block: 0, layer, head }, query, key);
      isClose(link.weight, weight);
      isClose(link.others, others);
      isClose(link.offset, offset);
      store.dispose();
    }
  });
});

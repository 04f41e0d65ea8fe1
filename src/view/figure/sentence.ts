/** One sentence about a head, from its measures: where most of its mass goes, what else stands out, how many keys it reads. */
import { formatNumber } from "../number.ts";
import type { Block, HeadMeasures } from "../store/types.ts";

/** A share this large is worth a word; one this large says "mostly". */
const NOTABLE = 0.1;
const MOSTLY = 0.5;

/** "Mostly the previous token (61 %); 14 % on special tokens; effective keys 2.3." */
export function describeHead(block: Pick<Block, "keyTokens">, measures: HeadMeasures): string {
  if (measures.rows === 0) return "No query sees any key.";
  const shares: [name: string, share: number | undefined][] = [
    ["the previous token", measures.previous],
    ["the token itself", measures.diagonal],
    ["the next token", measures.next],
    ["the first token", measures.first],
    ["special tokens", measures.special],
    ["other copies of the token", measures.sameToken],
    ["what followed an earlier copy", measures.induction],
  ];
  const percent = (share: number) => formatNumber(share, { style: "percent" });
  const found = shares
    .filter((one): one is [string, number] => (one[1] ?? 0) >= NOTABLE)
    .sort((a, b) => b[1] - a[1]);
  // A first token that is special would be counted twice.
  const kept = found.filter(
    ([name], n) => !(name === "the first token" && found[n - 1]?.[0] === "special tokens"),
  );
  const effective = `effective keys ${formatNumber(measures.effectiveKeys, { digits: 2 })}`;
  const said = kept
    .slice(0, 3)
    .map(([name, share], n) =>
      n === 0 && share >= MOSTLY ? `mostly ${name} (${percent(share)})` : `${percent(share)} on ${name}`,
    );
  if (said.length === 0)
    said.push(`spread over ${block.keyTokens.length === 1 ? "one key" : `${block.keyTokens.length} keys`}`);
  const sentence = [...said, effective].join("; ");
  return `${sentence[0].toUpperCase()}${sentence.slice(1)}.`;
}

/** The arrays of texts in an npz file: what `numpy.savez(file, tokens=numpy.array(["the", "cat"]))` writes beside numbers. */
import { listMembers } from "../archive/zip.ts";
import { checkSize, type SizeLimit, sizeLimit } from "../limit.ts";
import { refuser } from "../refuse.ts";
import { readNpyTextAt, readNpyTextHeader, type TextArray } from "./npy-text.ts";
import { beginning, unpack } from "./npz.ts";

/** Reads them by name; arrays of numbers are not inflated further than their headers. */
export async function readNpzTexts(
  file: Uint8Array,
  options: SizeLimit = {},
): Promise<Map<string, TextArray>> {
  const maxBytes = sizeLimit("readNpz", options);
  const refuse = refuser("readNpz");
  const arrays = new Map<string, TextArray>();
  for (const member of listMembers(file, refuse)) {
    const name = member.name.replace(/\.npy$/, "");
    const { start, end, deflated, size } = member;
    const packed = file.subarray(start, end);
    const inside = refuser("readNpz", start, name);
    const head = deflated ? await beginning(packed, name, start, refuse) : packed;
    const header = readNpyTextHeader(head, inside);
    if (header === undefined) continue;
    checkSize("readNpz", JSON.stringify(name), size, maxBytes);
    const data = await unpack(packed, member, name, refuse, () => header);
    const texts = readNpyTextAt("readNpz", data, start, name, maxBytes);
    if (texts) arrays.set(name, texts);
  }
  return arrays;
}

/** Base64 (RFC 4648 §4) of bytes, in Node and in pages. */

/** Bytes at a time: a multiple of 3, so that pieces join without padding, and few enough for one call's arguments. */
const PIECE = 24_573;

/** The bytes as base64, padded. */
export function base64(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += PIECE)
    parts.push(btoa(String.fromCharCode(...bytes.subarray(at, at + PIECE))));
  return parts.join("");
}

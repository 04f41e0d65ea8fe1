/**
 * SHA-256 (FIPS 180-4) of bytes, synchronously: by Node's crypto module, elsewhere in plain TypeScript (the Web Crypto API is
 * asynchronous).
 */
import { builtin } from "./filesystem/node.ts";

/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes, and of the square roots of the first 8. */
const [K, H] = (() => {
  const primes: number[] = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p !== 0)) primes.push(n);
  const fraction = (x: number) => ((x - Math.floor(x)) * 2 ** 32) | 0;
  return [primes.map((p) => fraction(Math.cbrt(p))), primes.slice(0, 8).map((p) => fraction(Math.sqrt(p)))];
})();

/** The hash of bytes as 64 hexadecimal digits. */
export function sha256(bytes: Uint8Array): string {
  const crypto = builtin<typeof import("node:crypto")>("node:crypto");
  return crypto ? crypto.createHash("sha256").update(bytes).digest("hex") : portableSha256(bytes);
}

/** `sha256` without Node. */
export function portableSha256(bytes: Uint8Array): string {
  const state = Int32Array.from(H);
  const full = bytes.length - (bytes.length % 64);
  for (let at = 0; at < full; at += 64)
    compress(state, new DataView(bytes.buffer, bytes.byteOffset + at, 64));
  // The rest, a bit of 1, zeros, and the length in bits.
  const rest = new Uint8Array(bytes.length - full < 56 ? 64 : 128);
  rest.set(bytes.subarray(full));
  rest[bytes.length - full] = 0x80;
  new DataView(rest.buffer).setBigUint64(rest.length - 8, BigInt(bytes.length) * 8n);
  for (let at = 0; at < rest.length; at += 64) compress(state, new DataView(rest.buffer, at, 64));
  return Array.from(state, (x) => (x >>> 0).toString(16).padStart(8, "0")).join("");
}

const rotate = (x: number, n: number) => (x >>> n) | (x << (32 - n));

/** Adds a block of 64 bytes to the state (section 6.2.2). */
function compress(state: Int32Array, block: DataView): void {
  const w = new Int32Array(64);
  for (let t = 0; t < 16; t++) w[t] = block.getInt32(4 * t);
  for (let t = 16; t < 64; t++) {
    const [x, y] = [w[t - 15], w[t - 2]];
    const s0 = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3);
    const s1 = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10);
    w[t] = (w[t - 16] + s0 + w[t - 7] + s1) | 0;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let t = 0; t < 64; t++) {
    const choice = (e & f) ^ (~e & g);
    const t1 = (h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice + K[t] + w[t]) | 0;
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const t2 = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0];
  }
  for (const [n, x] of [a, b, c, d, e, f, g, h].entries()) state[n] = (state[n] + x) | 0;
}

/**
 * Other packages that compute attention, under one interface, for benches that run them beside heed (index.d.mts has
 * the types). A package that does not load is left out and named in `missing` with the reason.
 */

const FILES = ["onnxruntime-node", "onnxruntime-web", "tfjs", "jax-js", "torch", "loops"];

/** @type {import("./index.mjs").Peer[]} */
export const peers = [];
/** @type {Record<string, string>} */
export const missing = {};

for (const file of FILES)
  try {
    peers.push(...(await import(`./${file}.mjs`)).peers);
  } catch (error) {
    missing[file] = String(/** @type {any} */ (error)?.message ?? error).split("\n")[0];
  }

/** Faults for tools/faults.mjs: a text that a file contains exactly once, its replacement, and the tests that should detect it. */

/**
 * @typedef {object} Fault
 * @property {string} name what goes wrong
 * @property {string} file
 * @property {string} find
 * @property {string} put
 * @property {readonly string[]} tests
 */

const ATTENTION = "src/api/attention.test.ts";
const FAMILIES = "tests/golden/families.test.ts";
const SCORE = ["src/masks/masks.test.ts", "src/masks/scores.test.ts"];
const BOUNDS = "src/masks/expression/bounds.test.ts";
const RANDOM = "tests/properties/random.test.ts";
const LAWS = "tests/properties/laws.test.ts";
const SWEEPS = "tests/properties/sweeps.test.ts";
const MASKED = "tests/properties/masked.test.ts";
const STRICT = "tests/conformance/strict.test.ts";
const RELAXED = "tests/conformance/relaxed.test.ts";

/** @type {readonly Fault[]} */
export const FAULTS = [
  // core
  { name: "axes of length 1 are walked, not repeated", file: "src/core/shape.ts", find: "if (axes[axis] > 1) at +=", put: "if (axes[axis] > 0) at +=", tests: [ATTENTION] },
  { name: "a merged part is weighted by exp(lse), not by its share", file: "src/reference/array.ts", find: "Math.exp(part - rowLse)", put: "Math.exp(part)", tests: ["src/api/merge.test.ts"] },
  { name: "an empty part is read", file: "src/reference/array.ts", find: "if (part === -Infinity) continue;", put: "", tests: ["src/api/merge.test.ts"] },
  { name: "halfway numbers round to odd", file: "src/core/dtype.ts", find: "(rest === 0.5 && down % 2 === 1)", put: "(rest === 0.5 && down % 2 === 0)", tests: ["src/core/dtype.test.ts"] },
  { name: "pairs of keys share their dropout bits", file: "src/core/random/random.ts", find: "Math.imul(k, SPREAD.k)) | 0) >>> 0", put: "Math.imul(k & ~1, SPREAD.k)) | 0) >>> 0", tests: ["src/core/random/random.test.ts"] },
  { name: "a view may reach one element past its array", file: "src/core/tensor.ts", find: "high >= length", put: "high > length", tests: ["src/core/tensor.test.ts"] },
  // score
  { name: "causal without the own position", file: "src/masks/causal.ts", find: "k.le(q)", put: "k.lt(q)", tests: SCORE },
  { name: "a window one key short on the right", file: "src/masks/window.ts", find: "k.sub(q).le(right)", put: "k.sub(q).lt(right)", tests: SCORE },
  { name: "query ids read by position, not by row", file: "src/masks/document.ts", find: "queryIdAt(i)", put: "queryIdAt(VARS.q)", tests: SCORE },
  { name: "ALiBi's distance has a sign", file: "src/masks/alibi.ts", find: "q.sub(k).abs()", put: "q.sub(k)", tests: SCORE },
  { name: "the soft cap does not divide first", file: "src/masks/softcap.ts", find: "score.div(c).tanh()", put: "score.tanh()", tests: SCORE },
  { name: "a bucket of T5 rounds up", file: "src/masks/relative.ts", find: "Math.trunc(log)", put: "Math.ceil(log)", tests: SCORE },
  { name: "a lookup past the end of a table wraps to its start", file: "src/masks/expression/js.ts", find: "Math.max(0, Math.min(n - 1, index[axis](cell)))", put: "Math.abs(index[axis](cell)) % n", tests: SCORE },
  { name: "bounds of < treat equal ends as true", file: "src/masks/expression/bounds.ts", find: "l = ha < lb ? 1 : 0;", put: "l = ha <= lb ? 1 : 0;", tests: [BOUNDS] },
  { name: "bounds of a remainder leave out 0", file: "src/masks/expression/bounds.ts", find: "l = one ? la - turn * lb : 0;", put: "l = one ? la - turn * lb : 1;", tests: [BOUNDS] },
  { name: "bounds forget that a float may be NaN", file: "src/masks/expression/bounds.ts", find: "if (!from(2)) return;", put: "return;", tests: [BOUNDS] },
  { name: "bounds of a table leave out its last run", file: "src/masks/expression/bounds.ts", find: "for (let run = 0; run < count; run++) {", put: "for (let run = 0; run < count - 1; run++) {", tests: [BOUNDS] },
  // plan
  { name: "lower-right is aligned in the wrong direction", file: "src/backend/positions.ts", find: '"lower-right" ? at + Nk - Nq : at', put: '"lower-right" ? at + Nq - Nk : at', tests: [ATTENTION, SWEEPS] },
  { name: "mask axes of length 1 are walked", file: "src/core/shape.ts", find: "axes[rank - fromEnd] !== 1 ?", put: "axes[rank - fromEnd] !== 0 ?", tests: [ATTENTION] },
  { name: "a second score mod forgets the first", file: "src/backend/problem.ts", find: "withScore(change.expr, score ?? VARS.score)", put: "withScore(change.expr, VARS.score)", tests: [ATTENTION] },
  { name: "partial panels at the low end are dropped", file: "src/backend/plan/tiles.ts", find: 'this.at(low, low + step) === "skip") low += step', put: 'this.at(low, low + step) !== "full") low += step', tests: ["src/backend/plan/tiles.test.ts"] },
  { name: "the last part of split keys is lost", file: "src/backend/plan/tiling.ts", find: "splits: Math.ceil(Nk / splitKeys)", put: "splits: Math.floor(Nk / splitKeys)", tests: ["src/backend/plan/tiling.test.ts", SWEEPS] },
  { name: "heads that differ decode as one", file: "src/backend/plan/tiling.ts", find: ' || uses(problem.mask, "h")', put: "", tests: [ATTENTION] },
  // reference
  { name: "the sum is not rescaled", file: "src/reference/online.ts", find: "l[i] *= rescale[i];", put: "", tests: ["src/reference/online.test.ts"] },
  { name: "the reference reads masked values", file: "src/reference/forward.ts", find: "if (s[j] === -Infinity) continue;", put: "", tests: ["src/reference/forward.test.ts"] },
  { name: "the sink is left out of the sum", file: "src/rows/softmax.ts", find: "const sunk = weightOf(sink, m);", put: "const sunk = 0;", tests: ["tests/conformance/reference.test.ts"] },
  { name: "keys that a mask tensor masks are read", file: "src/rows/head-rows.ts", find: "if (this.isOpen(i, j)) addRun(open, j, j + 1);", put: "addRun(open, j, j + 1);", tests: ["src/rows/head-rows.test.ts"] },
  // kernels
  { name: "a rescale is lost", file: "src/wasm/kernels/attention/softmax.ts", find: "f32x4.extract_lane(exp2(f, m, step), 0), 2 * stride);", put: "1, 2 * stride);", tests: [STRICT] },
  { name: "exp2 with one coefficient off by 1e-5", file: "src/wasm/codegen/math.ts", find: "0.240226522", put: "0.240236522", tests: [STRICT] },
  { name: "tanh with its limit at 4", file: "src/wasm/codegen/math.ts", find: "const TANH_LIMIT = 7.905311107635498", put: "const TANH_LIMIT = 4", tests: [STRICT] },
  { name: "values of a masked tile are read, NaN and all", file: "src/wasm/kernels/attention/forward.ts", find: "f.when(masked, () => f.set(slow,", put: "f.when(i32.and(masked, 0), () => f.set(slow,", tests: [MASKED] },
  { name: "−∞ in a float mask does not mask", file: "src/wasm/kernels/attention/row-tile.ts", find: 'spec.tensors.includes("float") ? 0 : 1', put: "1", tests: [RANDOM] },
  { name: "a fully masked row divides by 0", file: "src/wasm/kernels/attention/row-tile.ts", find: "f.let(v128.and(f32x4.div(m.c(1), l), isVisible))", put: "f.let(f32x4.div(m.c(1), l))", tests: [MASKED] },
  { name: "an odd head size loses its last number", file: "src/wasm/kernels/attention/decode.ts", find: "for (let tail = quads; tail < spec.dk; tail++)", put: "for (let tail = quads; tail < spec.dk - 1; tail++)", tests: [STRICT] },
  { name: "the last panel of keys is one short", file: "src/wasm/kernels/attention/pack.ts", find: "f.count(column, 0, count, 1, () => {", put: "f.count(column, 1, count, 1, () => {", tests: [STRICT] },
  { name: "the old output is not rescaled", file: "src/wasm/kernels/attention/products.ts", find: "madd(old[j], alphaOf, x)", put: "f32x4.add(old[j], x)", tests: [STRICT] },
  { name: "dropout bits repeat after four keys", file: "src/wasm/kernels/attention/dropout.ts", find: "i32x4.mul(m.bits(8), m.bits(SPREAD_K))", put: "i32x4.mul(m.bits(4), m.bits(SPREAD_K))", tests: [LAWS, ATTENTION] },
  { name: "division by a constant rounds towards 0", file: "src/wasm/codegen/score.ts", find: "f.set(rest, i32.add(rest, i32.and(i32.shr_s(rest, 31), n)));", put: "", tests: [RANDOM] },
  { name: "a float16 ∞ becomes a number", file: "src/wasm/codegen/math.ts", find: "i32x4.ge_s(magnitude, m.bits(0x7c00))", put: "i32x4.gt_s(magnitude, m.bits(0x7fff))", tests: [MASKED] },
  { name: "a sink counts in every part of the keys", file: "src/wasm/attention/tasks.ts", find: "placed.sinks && split === 0 ?", put: "placed.sinks ?", tests: [RELAXED, RANDOM] },
  { name: "all batch entries use the offset of the first one", file: "src/wasm/attention/tasks.ts", find: "problem.offsets[b];", put: "problem.offsets[0];", tests: [RELAXED] },
  { name: "parts of the keys merge without their shares", file: "src/wasm/attention/results.ts", find: "o += shares[n] * f32", put: "o += f32", tests: [RELAXED] },
  { name: "rows that see no key of a shard do not count in the gradient of sinks", file: "src/wasm/attention/backward/backward.ts", find: "delta += dO(b, h, row, e) * o(b, h, row, e);", put: "delta += 0;", tests: ["tests/conformance/differential.test.ts"] },
  { name: "ranks give sinks a gradient for each batch entry", file: "src/cluster/context/call.ts", find: "heads: problem.shape.Hq,", put: "heads: query.shape.length > 2 ? query.shape[query.shape.length - 3] : 1,", tests: ["tests/conformance/differential.test.ts"] },
  { name: "a shard without keys has no gradient of sinks", file: "src/wasm/attention/backward/backward.ts", find: "addSinks(problem, upstream, gradients);", put: "", tests: ["tests/properties/positions.test.ts"] },
  { name: "rows that run backwards are copied forwards", file: "src/wasm/engine/transfer.ts", find: "x.column !== 1 || x.row < 0 ||", put: "x.column !== 1 ||", tests: [RELAXED, LAWS] },
  { name: "a mask tensor of one row has a stride", file: "src/wasm/engine/transfer.ts", find: "row: t.row === 0 ? 0 : rowBytes,", put: "row: rowBytes,", tests: [RELAXED, RANDOM] },
  { name: "one task runs twice and another not at all", file: "src/wasm/engine/worker-pool.ts", find: "kernel.run(tasks + (count - left) * size, this.mainWorkspace);", put: "kernel.run(tasks + (count - Math.min(count, left + 1)) * size, this.mainWorkspace);", tests: [RELAXED] },
  // files
  { name: "tensors of a file may overlap", file: "src/io/safetensors/header.ts", find: "if (start !== covered)", put: "if (start > covered)", tests: ["src/io"] },
  { name: "bytes after the last tensor pass", file: "src/io/safetensors/header.ts", find: "if (covered !== size)", put: "if (covered > size)", tests: ["src/io"] },
  { name: "big-endian numbers are not byte-swapped", file: "src/io/numpy/npy-header.ts", find: 'match?.[1] === ">"', put: 'match?.[1] === "!"', tests: ["src/io"] },
  { name: "Fortran order is read as C order", file: "src/io/numpy/npy-header.ts", find: 'dict.fortran = takeIf("True");', put: 'dict.fortran = takeIf("True") && false;', tests: ["src/io"] },
  { name: "a file is written in place", file: "src/io/filesystem/save.ts", find: "await attempt(\"replace\", fs.rename(temporary, target));", put: "await fs.copyFile(temporary, target);", tests: ["src/io"] },
  { name: "the compressor ignores the maximum distance of a match", file: "src/io/archive/compress.ts", find: "at - p <= WINDOW && length < limit", put: "length < limit", tests: ["src/io/png.test.ts"] },
  { name: "a short write loses the rest of the file", file: "src/io/filesystem/save.ts", find: "done += bytesWritten;", put: "done += bytesWritten && length;", tests: ["tests/failure/filesystem.test.ts"] },
  { name: "a short write of a download loses the rest", file: "src/models/hub/pull.ts", find: "await writeAll(file, value, at).catch(", put: "await file.write(value, 0, value.length, at).catch(", tests: ["tests/failure/filesystem.test.ts"] },
  { name: "an error of the disk in a download has no type", file: "src/models/hub/pull.ts", find: "throw syscall === undefined ? error :", put: "throw true ? error :", tests: ["tests/failure/filesystem.test.ts"] },
  { name: "a save that fails has replaced the older checkpoint", file: "src/train/loop/checkpointing.ts", find: "await replaceFile(path, bytes, keeps ? () => keepPrevious(path) : undefined);", put: "if (keeps) await keepPrevious(path); await replaceFile(path, bytes);", tests: ["tests/failure/filesystem.test.ts"] },
  { name: "a copy of the older checkpoint is an error without a type", file: "src/io/filesystem/save.ts", find: 'throw fileError("keepPrevious", "read", path, failure);', put: "throw failure;", tests: ["tests/failure/filesystem.test.ts"] },
  { name: "the folder is not synced after a rename", file: "src/io/filesystem/save.ts", find: 'await attempt("make durable the folder of", syncFolder(folder));', put: "", tests: ["src/io/filesystem/save.test.ts"] },
  { name: "the lock of a living process of another user is taken over", file: "src/io/filesystem/lock.ts", find: '.code !== "ESRCH"', put: '.code === "EACCES"', tests: ["src/io/filesystem/lock.test.ts"] },
  { name: "https may redirect to http", file: "src/models/hub/client.ts", find: '(from.protocol === "https:" && url.protocol !== "https:")', put: "false", tests: ["src/models/hub/client.test.ts"] },
  // cluster and training
  { name: "ranks may have other dropout seeds", file: "src/cluster/context/call.ts", find: "    seed: problem.seed,\n", put: "", tests: ["src/cluster/context/agreement.test.ts"] },
  { name: "a part of a gather that is not aligned is not copied", file: "src/cluster/context/messages.ts", find: "const message = isAligned ?", put: "const message = true ?", tests: ["src/cluster/context/messages.test.ts"] },
  { name: "all micro-batches drop the same elements", file: "src/train/loop/step.ts", find: "7 + 16 * step, microBatch)", put: "7 + 16 * step, 0)", tests: ["src/train/loop/loop.test.ts"] },
  { name: "the pool never stops starting threads that fail", file: "src/wasm/engine/worker-pool.ts", find: "const MAX_FAILURES = 4;", put: "const MAX_FAILURES = 1e9;", tests: ["src/wasm/engine/worker-pool.test.ts"] },
  { name: "without layers every token flows to every other", file: "src/store/measures/attention-flow.ts", find: "return Number(target === input);", put: "return 1;", tests: ["src/store/measures/attention-flow.test.ts"] },
  // the explorer's server and figures
  { name: "any Host is answered", file: "src/server/policy.ts", find: "if (host?.length !== 1 || !names.has(host[0].toLowerCase()))", put: "if (host?.length !== 1)", tests: ["tests/explorer/served/server.test.ts"] },
  { name: "an Origin that starts with the server's passes", file: "src/server/policy.ts", find: "origin[0].toLowerCase() !== ownOrigin", put: "!origin[0].toLowerCase().startsWith(ownOrigin)", tests: ["tests/explorer/served/server.test.ts"] },
  { name: "data needs no token", file: "src/server/policy.ts", find: "token === undefined || !matches(token)", put: "token === undefined", tests: ["tests/explorer/served/server.test.ts"] },
  { name: "data needs no header that shows the same origin", file: "src/server/policy.ts", find: "site === undefined ? origin !== undefined :", put: "site === undefined ? true :", tests: ["tests/explorer/served/server.test.ts"] },
  { name: "the server waits for a body", file: "src/server/policy.ts", find: '["0"]).some((n) => n !== "0")', put: '["0"]).some((n) => n === "")', tests: ["tests/explorer/served/server.test.ts"] },
  { name: "parse errors lack the security headers", file: "src/server/responses.ts", find: "Object.entries({ ...HEADERS, ...content })", put: "Object.entries({ ...content })", tests: ["tests/explorer/served/server.test.ts"] },
  { name: "a range ends one byte early", file: "src/server/policy.ts", find: "Math.min(size, last + 1)", put: "Math.min(size, last)", tests: ["tests/explorer/served/server.test.ts"] },
  { name: "masked cells of a figure are drawn as zeros", file: "src/view/figure/shown.ts", find: "if (masks && visible[j] === 0)", put: "if (masks && visible[j] === 2)", tests: ["tests/explorer/figure.test.ts"] },
  { name: "a pooled picture keeps the first value, not the largest", file: "src/view/figure/cells.ts", find: "if (far <= farthest[c]) continue;", put: "if (farthest[c] >= 0) continue;", tests: ["tests/explorer/figure.test.ts"] },
  { name: "tokens of a figure are not escaped", file: "src/view/plot/svg.ts", find: 'return element("text", { x, y, ...attributes }, escapeXml(content));', put: 'return element("text", { x, y, ...attributes }, content);', tests: ["tests/explorer/figure.test.ts"] },
  // models
  { name: "a BERT ignores the eps of its config", file: "src/models/families/encoders/bert-fields.ts", find: "eps: fields.layer_norm_eps", put: "eps: 1e-12", tests: [FAMILIES] },
  { name: "a BERT has two token types whatever its config says", file: "src/models/families/encoders/bert-fields.ts", find: "type_vocab_size: fields.type_vocab_size", put: "type_vocab_size: 2", tests: [FAMILIES] },
  { name: "a GPT-2's inner size is four times its width", file: "src/models/families/gpt/gpt2.ts", find: "fields.n_inner ?? 4 * C", put: "4 * C", tests: [FAMILIES] },
  { name: "an output matrix that differs from the embedding is ignored", file: "src/models/files/weights.ts", find: "ownOutput = !(await sameBytes", put: "ownOutput = false && !(await sameBytes", tests: [FAMILIES] },
  { name: "a window counts one key more", file: "src/models/transformer/transformer.ts", find: "{ window: window - 1, causal, ...", put: "{ window, causal, ...", tests: [FAMILIES] },
  { name: "Gemma's norms multiply by w", file: "src/models/transformer/transformer.ts", find: "norm.weight === \"offset\" ? add", put: "false ? add", tests: [FAMILIES] },
  { name: "queries of Qwen 3 are not normed", file: "src/models/transformer/transformer.ts", find: "if (normed && !this.recipe.qk_norm_last)", put: "if (false)", tests: [FAMILIES] },
  { name: "sliding layers of Gemma 3 use the rotary angles of full ones", file: "src/models/config/layers.ts", find: "return (slides) => (slides ? sliding : full);", put: "return () => full;", tests: [FAMILIES] },
  { name: "the attention factor of LongRoPE is left out", file: "src/models/transformer/transformer.ts", find: "frequencies, amplitude, layout });", put: "frequencies, layout });", tests: [FAMILIES] },
  { name: "padding of RoBERTa takes up a position", file: "src/models/encoder/encoder.ts", find: "list[n] === pad ? pad : pad + ++count", put: "pad + ++count", tests: [FAMILIES] },
  { name: "the last ideograph of the first block is a letter", file: "src/models/tokenizer/normalize.ts", find: "code <= 0x9fff", put: "code <= 0x9ffe", tests: ["tests/golden/tokenizers.test.ts"] },
  { name: "a prepended space has no offset", file: "src/models/tokenizer/pipeline/aligned.ts", find: "edit.putAt(content, this.startOf(0), this.endOf(isLead(this.text, 0) ? 1 : 0));", put: "edit.putAt(content, this.startOf(0), this.startOf(0));", tests: ["tests/golden/tokenizer-families.test.ts"] },
  { name: "ignore_merges is ignored", file: "src/models/tokenizer/pipeline/models.ts", find: "const id = ignoreMerges ? vocab.get(chunk) : undefined;", put: "const id = undefined as number | undefined;", tests: ["src/models/tokenizer/file.test.ts"] },
]; // biome-ignore format: a row a fault

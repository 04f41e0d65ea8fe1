/**
 * The store: synchronous, exact answers about single rows, and long computations through `compute`; equal requests in
 * flight are shared. It caches the most recently used heads, rows and passes.
 */
import { checkMethods, formatValue, isList, OptionError, refuseGot, refuseValue } from "../core/errors.ts";
import { checkKind, checkKinds, type FieldKinds } from "../core/option-names.ts";
import type { Pixels } from "../io/read-png.ts";
import type { HeadRef, Stage } from "./block.ts";
import { checkRequest, checkTile } from "./check.ts";
import { gone } from "./compute/compute.ts";
import { Gate } from "./compute/gate.ts";
import { type Edits, type HeadArrays, StoreHead } from "./compute/head.ts";
import { bytesOf } from "./compute/messages.ts";
import type {
  Compute,
  HeadRequest,
  PassAnswer,
  PendingRequest,
  RequestAnswer,
  RequestOptions,
} from "./compute/request.ts";
import { SingleFlight } from "./compute/single-flight.ts";
import { Others, Subject } from "./compute/subject.ts";
import type { BundleOptions } from "./formats/bundle.ts";
import { floatsOf } from "./formats/tensor-source.ts";
import type { HeadStore, Link, States } from "./head-store.ts";
import { type HeadSource, layerOf } from "./layout/source.ts";
import { type Ledger, ledgerOf } from "./measures/ledger.ts";
import type { HeadMeasures } from "./measures/measures.ts";
import type { Overview } from "./measures/pool.ts";
import type { Tile, TileAddress } from "./measures/tile.ts";
import type { LoadReport } from "./sentences/report.ts";

/** Maximum bytes of cached heads. */
const MAX_BYTES = 96 * 2 ** 20;
/** Maximum number of cached rows: the row under the cursor is read many times. */
const MAX_ROWS = 16;
/** Overview size of a pass that was requested without one: the size of thumbnails, so that measures and thumbnail are one pass. */
const DEFAULT_SIZE = 128;
/** Maximum number of cached passes of a head, each with an overview of another size. */
const MAX_PASSES = 4;
/** Maximum number of weights in a matrix: 2,048 × 2,048, 32 MiB. */
const MAX_WEIGHTS = 2 ** 22;
/** Requests about heads in the background that are under way at once: each holds a head's numbers. */
const AT_ONCE = 12;
/** Urgency of heads that are not on screen: lower is more urgent, and heads on screen have their index. */
const OFF_SCREEN = 1e6;

/** Builds a store over a source. `read` are heads that were read when it was opened. */
export const createStore = (
  source: HeadSource,
  report: LoadReport,
  compute: Compute,
  read: Iterable<readonly [HeadRef, HeadArrays]> = [],
): HeadStore => new LocalStore(source, report, compute, read);

/** Checks each request, and answers it from the caches or computes it. */
class LocalStore implements HeadStore {
  readonly blocks: HeadStore["blocks"];
  readonly report: LoadReport;
  readonly #source: HeadSource;
  readonly #compute: Compute;
  readonly #heads = new Map<string, StoreHead>();
  readonly #rows = new Map<string, Float64Array>();
  readonly #others = new WeakMap<StoreHead, Others>();
  /** Index of each head on screen, the most urgent first. */
  readonly #order = new Map<string, number>();
  /** Passes over each head, by the size of their overview. */
  readonly #passes = new Map<string, Map<number, PassAnswer>>();
  readonly #passesInFlight = new SingleFlight<PassAnswer>();
  readonly #gate = new Gate(AT_ONCE);
  #disposed = false;

  constructor(
    source: HeadSource,
    report: LoadReport,
    compute: Compute,
    read: Iterable<readonly [HeadRef, HeadArrays]>,
  ) {
    this.blocks = source.blocks.map(({ block }) => block);
    this.report = report;
    this.#source = source;
    this.#compute = compute;
    for (const [ref, data] of read) this.#keep(keyOf(ref), data);
  }

  // Loading heads into memory

  ready(ref: HeadRef): boolean {
    const key = this.#check(ref);
    return this.#source.bag.inMemory || this.#heads.has(key);
  }

  async load(ref: HeadRef): Promise<void> {
    const key = this.#check(ref);
    if (!this.#heads.has(key)) this.#keep(key, await this.#source.head(ref));
  }

  // Synchronous answers, about a head in memory

  row(ref: HeadRef, i: number, stage: Stage, edits?: Edits): Float64Array {
    if (edits === undefined) return this.#keptRow(ref, i, stage).slice();
    const head = this.#headNow(ref);
    this.#checkStage(ref, stage);
    checkIndex("i", i, head.data.Nq);
    checkEdits(head, edits);
    return this.#rowOf(ref, head, i, stage, edits);
  }

  cell(ref: HeadRef, i: number, j: number, stage: Stage): number {
    const row = this.#keptRow(ref, i, stage);
    checkIndex("j", j, row.length);
    return row[j];
  }

  visible(ref: HeadRef, i: number): Uint8Array {
    const head = this.#headNow(ref);
    checkIndex("i", i, head.data.Nq);
    const out = new Uint8Array(head.data.Nk);
    const runs = head.runs(i);
    for (let n = 0; n < runs.length; n += 2) out.fill(1, runs[n], runs[n + 1]);
    return out;
  }

  output(ref: HeadRef, i: number, edits?: Edits): Float64Array {
    const head = this.#headNow(ref);
    checkIndex("i", i, head.data.Nq);
    if (!head.data.value)
      throw new OptionError("values", `HeadStore: \`${this.blocks[ref.block].name}\` has no values`);
    checkEdits(head, edits);
    return head.edited(i, edits).output(i);
  }

  vector(ref: HeadRef, what: "query" | "key" | "value", index: number): Float64Array {
    const { data } = this.#headNow(ref);
    if (typeof what !== "string") refuseValue("HeadStore.vector", "what", '"query", "key" or "value"', what);
    const array = data[what];
    const [count, width, indexName] =
      what === "query"
        ? [data.Nq, data.d, "i" as const]
        : [data.Nk, what === "key" ? data.d : data.dv, "j" as const];
    if (!array)
      throw new OptionError("vector", `HeadStore: \`${this.blocks[ref.block].name}\` has no ${what} vectors`);
    checkIndex(indexName, index, count);
    return Float64Array.from(array.subarray(index * width, (index + 1) * width));
  }

  ledger(ref: HeadRef, i: number, j: number, edits?: Edits): Ledger {
    const head = this.#headNow(ref);
    checkIndex("i", i, head.data.Nq);
    checkIndex("j", j, head.data.Nk);
    checkEdits(head, edits);
    return ledgerOf(head, ref, i, j, edits);
  }

  // Asynchronous answers

  async states(block: number, layer: number): Promise<States> {
    if (this.#disposed) throw gone();
    const laid = this.#source.blocks[checkKind("HeadStore.states", "block", "an integer ≥ 0", block)];
    const name = laid?.states.get(layer);
    if (name === undefined) {
      const { states = [], name: blockName = "" } = laid?.block ?? {};
      const text =
        laid === undefined
          ? `block must be an integer from 0 to ${this.blocks.length - 1}, got ${formatValue(block)}`
          : states.length === 0
            ? `\`${blockName}\` has no states; heed capture writes them with --states`
            : `layer must be one of ${states.join(", ")} in \`${blockName}\`, got ${formatValue(layer)}`;
      throw new OptionError("states", `HeadStore.states: ${text}`, { block, layer });
    }
    const tensor = await this.#source.bag.read(name);
    return { data: floatsOf(tensor) as States["data"], width: tensor.shape[1] };
  }

  async lse(ref: HeadRef, options?: RequestOptions): Promise<Float64Array> {
    return (await this.#pass(ref, undefined, options)).lse.slice();
  }

  async measures(ref: HeadRef, options?: RequestOptions): Promise<HeadMeasures> {
    return (await this.#pass(ref, undefined, options)).measures;
  }

  async overview(ref: HeadRef, size: number, options?: RequestOptions): Promise<Overview> {
    if (!(Number.isInteger(size) && size >= 1 && size <= 1024))
      refuseGot("size", "HeadStore.overview: size must be an integer from 1 to 1024", size, { size });
    return (await this.#pass(ref, size, options)).overview;
  }

  async column(ref: HeadRef, j: number, stage: Stage, options?: RequestOptions): Promise<Float64Array> {
    this.#check(ref);
    this.#checkStage(ref, stage);
    checkIndex("j", j, this.blocks[ref.block].Nk);
    return (await this.#urgent(ref, { what: "column", stage, j }, options)) as Float64Array;
  }

  async tile(ref: HeadRef, address: TileAddress, options?: RequestOptions): Promise<Tile> {
    this.#check(ref);
    checkTile(address);
    this.#checkStage(ref, address.stage);
    return (await this.#urgent(ref, { what: "tile", address }, options)) as Tile;
  }

  async range(ref: HeadRef, stage: Stage, options?: RequestOptions): Promise<readonly [number, number]> {
    this.#check(ref);
    this.#checkStage(ref, stage);
    return (await this.#urgent(ref, { what: "range", stage }, options)) as readonly [number, number];
  }

  async link(
    ref: HeadRef,
    queries: readonly number[],
    keys: readonly number[],
    options?: RequestOptions,
  ): Promise<Link> {
    this.#check(ref);
    const { Nq, Nk } = this.blocks[ref.block];
    for (const [name, list] of Object.entries({ queries, keys }))
      if (!(isList(list) && list.length > 0))
        refuseValue("HeadStore.link", name, "a list of positions, not empty", list);
    for (const i of queries) checkIndex("i", i, Nq);
    for (const j of keys) checkIndex("j", j, Nk);
    const sums = await this.#later(this.#request(ref, { what: "link", queries, keys }), options);
    const [weight, even, rows, key, largest, evenOfKey] = sums as Float64Array;
    return { weight, even, rows, strongest: key < 0 ? undefined : { key, weight: largest, even: evenOfKey } };
  }

  async picture(block: number, n = 0): Promise<Pixels> {
    if (this.#disposed) throw gone();
    const [at, of] = [block, n].map((x) => (typeof x === "number" ? x : -1));
    const grid = this.blocks[at]?.pictures?.[of];
    if (!grid)
      throw new OptionError(
        "picture",
        `HeadStore.picture: block ${formatValue(block)} has ${this.blocks[at]?.pictures?.length ?? 0} pictures; there is no number ${formatValue(n)}`,
        { block, n },
      );
    const { data, shape } = await this.#source.bag.read(grid.tensor);
    return { width: shape[1], height: shape[0], data: (data as Uint8Array).slice() };
  }

  async weights(ref: HeadRef, options?: RequestOptions): Promise<Float64Array> {
    this.#check(ref);
    const { Nq, Nk } = this.blocks[ref.block];
    if (Nq * Nk > MAX_WEIGHTS)
      throw new OptionError(
        "size",
        `HeadStore.weights: a head of ${Nq} × ${Nk} has ${Nq * Nk} weights; at most ${MAX_WEIGHTS} are returned; use row, tile or overview`,
        { Nq, Nk },
      );
    return (await this.#later(this.#request(ref, { what: "weights" }), options)) as Float64Array;
  }

  prioritize(refs: readonly HeadRef[]): void {
    checkKind("HeadStore.prioritize", "refs", "a list of objects", refs);
    for (const ref of refs) this.#check(ref);
    this.#order.clear();
    refs.forEach((ref, n) => this.#order.set(keyOf(ref), n));
    this.#gate.reorder();
    this.#compute.reorder();
  }

  // Bundles. The writer is loaded on demand, because most pages never write one.

  async bundleSize(options?: BundleOptions): Promise<number> {
    const { bundleSize } = await import("./formats/bundle.ts");
    return bundleSize(this.#source.bag, this.#source.blocks, options);
  }

  async bundle(options?: BundleOptions): Promise<Uint8Array> {
    const { writeBag } = await import("./formats/bundle.ts");
    return writeBag(this.#source.bag, this.#source.blocks, options);
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#compute.dispose();
    this.#heads.clear();
    this.#rows.clear();
    this.#passes.clear();
    void this.#source.close();
  }

  // Caches

  /** Caches a head, and evicts the least recently used ones. */
  #keep(key: string, data: HeadArrays): StoreHead {
    const heads = this.#heads;
    const head = heads.get(key) ?? new StoreHead(data);
    heads.delete(key);
    heads.set(key, head);
    let bytes = 0;
    for (const one of heads.values()) bytes += bytesOf(one.data);
    for (const [oldest, one] of heads) {
      if (bytes <= MAX_BYTES || oldest === key) break;
      heads.delete(oldest);
      bytes -= bytesOf(one.data);
    }
    return head;
  }

  /** The head from memory. Throws if it was not loaded. */
  #headNow(ref: HeadRef): StoreHead {
    const key = this.#check(ref);
    const cached = this.#heads.get(key);
    if (cached) return cached;
    if (!this.#source.bag.inMemory)
      throw new OptionError(
        "not-loaded",
        `HeadStore: layer ${ref.layer}, head ${ref.head} is not in memory; await store.load(ref) first`,
        { ...ref },
      );
    return this.#keep(key, this.#source.head(ref) as HeadArrays);
  }

  /** A cached row. Callers must not return it to the user, who could change it. */
  #keptRow(ref: HeadRef, i: number, stage: Stage): Float64Array {
    const head = this.#headNow(ref);
    this.#checkStage(ref, stage);
    checkIndex("i", i, head.data.Nq);
    const key = `${keyOf(ref)} ${i} ${stage}`;
    const cached = this.#rows.get(key);
    if (cached) return cached;
    const row = this.#rowOf(ref, head, i, stage);
    this.#rows.set(key, row);
    for (const oldest of this.#rows.keys()) {
      if (this.#rows.size <= MAX_ROWS) break;
      this.#rows.delete(oldest);
    }
    return row;
  }

  /** A row at any stage. Contrast compares the row, edited or not, with the unedited others. */
  #rowOf(ref: HeadRef, head: StoreHead, i: number, stage: Stage, edits?: Edits): Float64Array {
    const edited = head.edited(i, edits);
    if (stage !== "contrast") return edited.row(i, stage);
    const { places } = this.#source.blocks[ref.block];
    const others = this.#others.get(head) ?? new Others(new Subject(head.data, places(), head));
    this.#others.set(head, others);
    const means = others.of(i, 0, head.data.Nk);
    return edited.row(i, "weights").map((w, j) => (means[j] === means[j] ? w - means[j] : 0));
  }

  // Requests

  /** A request about a head; `sooner` is subtracted from its urgency. */
  #request(ref: HeadRef, request: HeadRequest, sooner = 0): PendingRequest {
    const key = keyOf(ref);
    return {
      key,
      request,
      data: () => this.#heads.get(key)?.data ?? this.#source.head(ref),
      places: this.#source.blocks[ref.block].places,
      urgency: () => (this.#order.get(key) ?? OFF_SCREEN) - sooner,
    };
  }

  /** A request for the current view, which comes before all passes over heads. */
  #urgent(ref: HeadRef, request: HeadRequest, options?: RequestOptions): Promise<RequestAnswer> {
    checkRequest("HeadStore", options);
    return this.#compute.answer(this.#request(ref, request, 2 * OFF_SCREEN), options);
  }

  /** Background work: begun when it is its turn. */
  async #later(request: PendingRequest, options?: RequestOptions): Promise<RequestAnswer> {
    checkRequest("HeadStore", options);
    return this.#gate.run(request.urgency, options?.signal, () => this.#compute.answer(request, options));
  }

  /** A pass over a head: its lse, measures and overview. Equal passes in flight are shared. */
  async #pass(ref: HeadRef, size: number | undefined, options: RequestOptions = {}): Promise<PassAnswer> {
    checkRequest("HeadStore", options);
    const key = this.#check(ref);
    const passes = this.#passes.get(key) ?? new Map<number, PassAnswer>();
    const cached = size === undefined ? passes.values().next().value : passes.get(size);
    if (cached) return cached;
    const passSize = size ?? DEFAULT_SIZE;
    const inFlight = size === undefined ? this.#passesInFlight.any(key) : undefined;
    return this.#passesInFlight.ask(inFlight ?? `${key} ${passSize}`, options, async (shared) => {
      const request = this.#request(ref, { what: "pass", size: passSize });
      const pass = (await this.#later(request, shared)) as PassAnswer;
      this.#passes.set(key, passes.set(passSize, pass));
      for (const oldest of passes.keys()) if (passes.size > MAX_PASSES) passes.delete(oldest);
      return pass;
    });
  }

  // Checks

  /** The key of a head. Throws if the head does not exist or the store is disposed. */
  #check(ref: HeadRef): string {
    if (this.#disposed) throw gone();
    layerOf(this.#source.blocks, ref);
    return keyOf(ref);
  }

  #checkStage(ref: HeadRef, stage: Stage): void {
    const { stages, name } = this.blocks[ref.block];
    if (!stages.includes(stage))
      throw new OptionError(
        "stage",
        `HeadStore: \`${name}\` has the stages ${stages.join(", ")}, got ${formatValue(stage)}`,
        { stage },
      );
  }
}

// biome-ignore format: a table
checkMethods("HeadStore", LocalStore.prototype, {
  ready: 1, load: 1, row: 4, cell: 4, visible: 2, output: 3, vector: 3, ledger: 4, states: 2, lse: 2, measures: 2, overview: 3,
  column: 4, tile: 3, range: 3, link: 4, picture: 2, weights: 2, prioritize: 1, bundleSize: 1, bundle: 1, dispose: 0,
});

const keyOf = (ref: HeadRef): string => `${ref.block}.${ref.layer}.${ref.head}`;

function checkIndex(what: "i" | "j", n: number, count: number): void {
  if (!(Number.isInteger(n) && n >= 0 && n < count))
    refuseGot("cell", `HeadStore: ${what} must be an integer from 0 to ${count - 1}`, n, { [what]: n });
}

const EDITS: FieldKinds = { "a list of numbers": "query", "an object": "key", "a number": "scale" };
const KEY_EDIT: FieldKinds = { "": "index", "a list of numbers": "values" };

function checkEdits(head: StoreHead, edits: Edits = {}): void {
  checkKinds("HeadStore: edits", edits, EDITS);
  const { d, Nk } = head.data;
  if (!head.scored && (edits.query || edits.key || edits.scale !== undefined))
    throw new OptionError("edits", "HeadStore: weights that were given have no query, key or scale to edit");
  if (edits.key) {
    checkKinds("HeadStore: edits.key", edits.key, KEY_EDIT);
    checkKind("HeadStore: edits.key", "values", "a list of numbers", edits.key.values);
    checkIndex("j", edits.key.index, Nk);
  }
  for (const [name, values] of Object.entries({ query: edits.query, key: edits.key?.values }))
    if (values && values.length !== d)
      throw new OptionError("edits", `HeadStore: an edited ${name} needs ${d} numbers, got ${values.length}`);
}

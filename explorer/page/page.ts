/**
 * The page that `heed view` serves: one explorer for the files of the command line. The token in the page's address gives
 * access to them. The page sends no requests to other servers.
 */

import type { Block, HeadRef } from "../../src/store/block.ts";
import type { HeadStore } from "../../src/store/head-store.ts";
import { contrastOf } from "../../src/store/measures/contrast.ts";
import { MAX_COMPARED } from "../../src/store/measures/key-sums.ts";
import { evidenceOf } from "../../src/store/sentences/evidence.ts";
import { type TellingLink, tellingLink } from "../../src/store/sentences/telling.ts";
import { piecesOf, plainText, wordsOf } from "../../src/store/text/tokens.ts";
import type {
  AblationResult,
  AttentionSource,
  AttentionViewElement,
  ModelAnswers,
  ModelQuestion,
  SourceModel,
  SwitchedHead,
} from "../../src/view/element.ts";
import { ablatedCode } from "../state/causes/ablation.ts";
import { areShares } from "../state/facts.ts";
import { Story } from "./story.ts";
import { actsOn, make, percentOf, tokenNamed } from "./words.ts";

/** The data that the server sends: the files with their addresses, without the token. */
interface Session {
  readonly files: readonly ServedFile[];
  /** Shows the sentence about the picture, and what to try next. */
  readonly welcome?: boolean;
  /** The name of the model that reads texts typed here; undefined: none. */
  readonly model?: string;
  /** Other models on this machine that read texts. */
  readonly others?: readonly string[];
  /** Commands that get another model and let it read texts. */
  readonly larger?: readonly [pull: string, view: string];
  /** The address of the Lab. */
  readonly lab?: string;
}

/** A file, and the model that computed it. */
interface ServedFile {
  readonly name: string;
  readonly path: string;
  readonly model?: Pick<SourceModel, "name" | "predicts" | "text"> & {
    readonly path: string;
    /** The path of its answers; undefined: it answers no questions. */
    readonly ask?: string;
  };
}

/** A text that was typed here, and the model that read it: its name, and its number in `readers`. */
interface Typed {
  readonly text: string;
  readonly model: string | undefined;
  readonly reader: number;
}

const byId = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const view = document.querySelector("attention-view") as AttentionViewElement;
const notice = byId("notice");
const ways = byId("ways");
const status = byId("status");
const parameters = new URLSearchParams(location.search);
const token = parameters.get("token") ?? "";
const withToken = (path: string) => `${path}?token=${encodeURIComponent(token)}`;

/** Shows an error and what to do about it. */
function showNotice(text: string): void {
  notice.textContent = text;
  notice.hidden = text === "";
}

/** The maximum length of an address; the server takes 16 KiB of headers. */
const MAX_ADDRESS = 8000;

/** Whether the page's address names a picture. The explorer writes its own into the address later. */
const namesPicture = location.hash !== "";

let session: Session = { files: [] };
/** The story over the captured sentences. */
let story: Story | undefined;
/** The texts that were typed here by the names of their files. */
const typed = new Map<string, Typed>();
/** The models that read texts: the page's own, then the others. */
const readers = () => [session.model ?? "", ...(session.others ?? [])];

/** Shows the line above the explorer: a sentence about the picture, a text field, a file button, a link to the Lab. */
function greet({ welcome = false, model, lab, larger }: Session): void {
  ways.hidden = false;
  if (larger)
    byId("larger").append(
      ...[larger[0], " downloads the model of the examples; ", larger[1], " lets it read your words."].map(
        (text, n) => (n % 2 > 0 ? text : make("code", text)),
      ),
    );
  byId("pick").hidden = !welcome;
  byId("own").hidden = model === undefined;
  const learn = byId<HTMLAnchorElement>("learn");
  learn.hidden = !welcome || lab === undefined;
  if (lab !== undefined) learn.href = lab;
  byId("pick").addEventListener("click", () => view.pick());
  byId("close").addEventListener("click", () => {
    ways.hidden = true;
  });
  view.addEventListener("load", (event) =>
    story?.loaded((event as CustomEvent<{ report: { name: string } }>).detail.report.name),
  );
  for (const name of ["load", "cursorchange", "viewchange"]) view.addEventListener(name, describe);
  const words = byId<HTMLInputElement>("words");
  words.title = `Read by ${model ?? ""}`;
  const by = byId<HTMLSelectElement>("by");
  by.replaceChildren(...readers().map((name, n) => make("option", name, { value: String(n) })));
  by.hidden = readers().length < 2;
  if (model !== undefined)
    view.reader = {
      get name() {
        return readers()[Number(by.value || 0)];
      },
      read: async (text, options) => sourceOf(await read(text, Number(by.value || 0), options)),
    };
  byId("own").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = words.value.trim();
    if (text === "") {
      status.textContent = "Type a sentence first.";
      words.focus();
      return;
    }
    show(text, Number(by.value || 0));
  });
}

/** Lets a model read a text, and shows it. */
function show(text: string, reader: number): void {
  const button = byId("own").querySelector("button") as HTMLButtonElement;
  if (button.disabled) return;
  button.disabled = true;
  status.textContent = `Read by ${readers()[reader]} …`;
  void read(text, reader)
    .then(async (file) => {
      keep(text, reader);
      story?.end();
      await view.add(sourceOf(file));
      // The list of models is open while a field of its line has the focus, and covers the sentence.
      if (byId("own").matches(":focus-within")) view.focus();
    })
    .then(
      () => "",
      (error: Error) => error.message,
    )
    .then((problem) => {
      button.disabled = false;
      status.textContent = problem;
    });
}

/** Lets a model read a text. */
async function read(
  text: string,
  reader: number,
  { once = false, signal }: { readonly once?: boolean; readonly signal?: AbortSignal } = {},
): Promise<ServedFile> {
  const answer = await fetch(
    `/text?token=${encodeURIComponent(token)}&text=${encodeURIComponent(text)}${reader > 0 ? `&model=${reader}` : ""}${once ? "&once=1" : ""}`,
    { signal: signal ?? null },
  ).catch((error: Error) => {
    signal?.throwIfAborted();
    throw new Error(`It could not be read: ${error.message}`);
  });
  if (!answer.ok) throw new Error(`The server answered ${answer.status} ${answer.statusText}.`);
  const result: ServedFile | { path?: undefined; error: string } = await answer.json();
  if (result.path === undefined) throw new Error(`The model could not read it: ${result.error}`);
  // A text that several models read is named with its model, so that its tabs and its lists tell which is which.
  const name = reader === 0 ? result.name : `${result.name} · ${result.model?.name ?? readers()[reader]}`;
  if (!once) typed.set(name, { text, model: result.model?.name, reader });
  return { ...result, name };
}

/** Adds a text to the page's address, so that a link, a bookmark and a reload have it. */
function keep(text: string, reader: number): void {
  const address = new URL(location.href);
  address.searchParams.append(reader === 0 ? "text" : `text.${readers()[reader]}`, text);
  if (address.href.length <= MAX_ADDRESS) history.replaceState(history.state, "", address);
}

/** The texts of the page's address, each read by the model, up to the first that cannot be read. */
async function typedFiles(): Promise<readonly ServedFile[]> {
  const all: ServedFile[] = [];
  try {
    for (const [name, text] of parameters) {
      if (name !== "text" && !name.startsWith("text.")) continue;
      const reader = name === "text" ? 0 : readers().indexOf(name.slice("text.".length));
      if (reader < 0) throw new Error(`This machine has no model ${name.slice("text.".length)}.`);
      all.push(await read(text, reader));
    }
  } catch (error) {
    status.textContent = (error as Error).message;
  }
  return all;
}

/** A file as a source of the element. The server runs its model again when the element requests it. */
function sourceOf({ name, path, model }: ServedFile): AttentionSource {
  const src = withToken(path);
  if (model === undefined) return { name, src };
  const answer = async (address: string, signal?: AbortSignal): Promise<unknown> => {
    let response: Response;
    try {
      response = await fetch(address, { signal: signal ?? null });
    } catch {
      signal?.throwIfAborted();
      throw new Error("The program that served this page has ended, so its model cannot be run.");
    }
    if (!response.ok) throw new Error(`The server answered ${response.status} ${response.statusText}.`);
    const result = await response.json();
    if (typeof result.error === "string") throw new Error(`The model could not be run: ${result.error}`);
    return result;
  };
  const ablated = (heads: readonly SwitchedHead[], more: string, signal?: AbortSignal) =>
    answer(`${withToken(model.path)}&heads=${heads.map(ablatedCode).join()}${more}`, signal);
  const { ask, text } = model;
  return {
    name,
    src,
    model: {
      name: model.name,
      predicts: model.predicts,
      ablate: async ({ heads, position }, { signal } = {}) =>
        (await ablated(heads, position === null ? "" : `&position=${position}`, signal)) as AblationResult,
      attention: async (heads) => sourceOf((await ablated(heads, "&attention=1")) as ServedFile),
      ...(text !== undefined && { text }),
      ...(ask !== undefined && {
        ask: async <Of extends keyof ModelAnswers>(
          question: Extract<ModelQuestion, { readonly of: Of }>,
          { signal }: { readonly signal?: AbortSignal } = {},
        ) => {
          const json = encodeURIComponent(JSON.stringify(question));
          const { file, ...plain } = (await answer(`${withToken(ask)}&question=${json}`, signal)) as {
            readonly file?: ServedFile;
          };
          return { ...plain, ...(file && { path: file.path, source: sourceOf(file) }) } as ModelAnswers[Of];
        },
      }),
    },
  };
}

/** The maximum number of cells of all heads for a search of the most telling link. */
const SEARCHED = 2 ** 23;

const searched = new WeakMap<HeadStore, ReturnType<typeof tellingLink>>();

/** The most telling link of all heads; undefined for a file with too many cells. */
async function linkOf(store: HeadStore): ReturnType<typeof tellingLink> {
  const cells = store.blocks.reduce(
    (sum, { layers, heads, Nq, Nk }) => sum + layers.length * heads * Nq * Nk,
    0,
  );
  if (cells > SEARCHED) return undefined;
  const link = searched.get(store) ?? tellingLink(store);
  searched.set(store, link);
  return link;
}

/** A sentence with the first word that the model reads in pieces; nothing if it reads whole words only. */
function piecesIn(tokens: readonly string[]): readonly (string | Node)[] {
  const kind = piecesOf(tokens);
  const split = wordsOf(tokens, kind).find(({ start, end }) => end > start + 1);
  if (split === undefined) return [];
  const pieces = tokens.slice(split.start, split.end);
  const word = pieces.map((piece) => plainText(piece, kind)).join("");
  return [
    " It reads words that it does not know in pieces: ",
    tokenNamed(word.trim(), "b"),
    " is",
    ...pieces.flatMap((piece) => [" ", tokenNamed(piece, "bdi")]),
    ".",
  ];
}

/** "‹it› gives 68 % of its attention to ‹cat›."; without a share, that the file's numbers are none. */
const linkSentence = (
  { queryTokens, keyTokens }: Block,
  query: number,
  key: number,
  share: number | undefined,
): readonly (string | Node)[] =>
  share === undefined
    ? ["the numbers of ", tokenNamed(queryTokens[query], "b"), " are not shares of attention."]
    : [
        tokenNamed(queryTokens[query], "b"),
        ` gives ${percentOf(share)} of its attention to `,
        tokenNamed(keyTokens[key], "b"),
        ".",
      ];

/** Describes the picture in one sentence, and what the other rows say about its link; the story has its own sentences. */
function describe(): void {
  if (story?.isShown) return;
  const { store, state } = view;
  const at = store?.blocks.findIndex(({ name }) => name === state.block) ?? -1;
  const block = store?.blocks[at];
  if (store === undefined || block === undefined) return;
  const { layer, head, query, key } = state;
  const ref = { block: at, layer, head };
  if (!store.ready(ref)) {
    setTimeout(describe, 100);
    return;
  }
  const share = store.cell(ref, query, key, "weights");
  const isShare = areShares(store.row(ref, query, "weights"));
  const { name, model } = store.report;
  const words = typed.get(name);
  const isOwn = model !== undefined && words?.model === model;
  const isExample = session.files.some((file) => file.name === name);
  const { meaning, ofAllHeads } = view.picture;
  const by = model === undefined ? "" : ` (${model})`;
  byId("seen").hidden = !session.welcome && !isOwn;
  byId("larger").hidden = session.larger === undefined || !isOwn;
  byId("again").replaceChildren(...(isOwn && words ? againBy(words) : []));
  byId("seen").replaceChildren(
    isOwn
      ? `Your words, read by ${readers()[words?.reader ?? 0]}${ofAllHeads ? "." : ": "}`
      : `${isExample ? `A real model${by} reads a sentence.` : `${name}${by}.`} ${meaning}${ofAllHeads ? "" : " Here "}`,
    ...(ofAllHeads ? [] : linkSentence(block, query, key, isShare ? share : undefined)),
    ...(isOwn ? piecesIn(block.queryTokens) : []),
  );
  if (ofAllHeads || !isShare) return;
  const described = byId("seen").firstChild;
  // Another sentence may have replaced this one.
  const isShown = () => byId("seen").firstChild === described;
  // A head that cannot be read is reported by the element.
  addEvidence(store, { ...ref, query, key }, isShown).catch(() => {});
}

/** Buttons that let the other models read the same words. */
function againBy({ text, reader }: Typed): readonly (string | Node)[] {
  const others = readers().flatMap((name, n) => (n === reader ? [] : [{ name, n }]));
  if (others.length === 0) return [];
  return ["The same words by ", ...others.flatMap(({ name, n }) => [actsOn(name, () => show(text, n)), " "])];
}

/** Where the name of the key goes in a clause. */
const KEY = "\u0000";

/**
 * Adds what the other rows give the same key: a weight alone is no evidence. If the contrast does not support the link, a button opens
 * one that it supports.
 */
async function addEvidence(
  store: HeadStore,
  cell: HeadRef & { readonly query: number; readonly key: number },
  isShown: () => boolean,
): Promise<void> {
  const block = store.blocks[cell.block];
  const contrast = await contrastOf(store, cell, cell.query, cell.key, { maxCells: MAX_COMPARED });
  if (!isShown()) return;
  const beyond = await view.overTexts().catch(() => undefined);
  if (!isShown()) return;
  const parts = evidenceOf(block, { ...cell, ...contrast }, KEY, beyond).flatMap((part) =>
    typeof part === "string"
      ? part
          .split(KEY)
          .flatMap((text, n) => (n === 0 ? [text] : [tokenNamed(block.keyTokens[cell.key], "bdi"), text]))
      : [part.text.endsWith("%") ? percentOf(part.value) : part.text],
  );
  const isClaim = contrast.verdict === "stripe" || contrast.verdict === "offset";
  const [first, ...rest] = parts;
  if (typeof first === "string")
    byId("seen").append(
      isClaim ? ` But ${first}` : ` ${first[0].toUpperCase()}${first.slice(1)}`,
      ...rest,
      ".",
    );
  if (contrast.verdict === "link") return;
  const better = await linkOf(store);
  if (better?.verdict === "link" && isShown()) byId("seen").append(" ", offer(store, better));
}

/** A button that opens a link of another head. */
function offer(store: HeadStore, link: TellingLink): HTMLButtonElement {
  const { layer, head, query, key, weight, others } = link;
  const { name, queryTokens, keyTokens } = store.blocks[link.block];
  const sentence = [
    `Layer ${layer}, head ${head} shows more: `,
    tokenNamed(queryTokens[query], "bdi"),
    ` gives ${percentOf(weight)} to `,
    tokenNamed(keyTokens[key], "bdi"),
    ...(Number.isNaN(others) ? [] : [`, the others ${percentOf(others)}`]),
  ];
  return actsOn(sentence, () => {
    view.setCursor({ block: name, layer, head, query, key });
    // This button goes away with its sentence.
    view.focus();
  });
}

async function start(): Promise<void> {
  let response: Response;
  try {
    response = await fetch(withToken("/data/session"));
  } catch {
    return showNotice(
      "The program that served this page has ended. Start it again, and open the address it prints.",
    );
  }
  if (response.status === 403)
    return showNotice(
      "This address lacks its token: open the one that heed printed, or choose a file of your own here.",
    );
  if (!response.ok) return showNotice(`The server answered ${response.status} ${response.statusText}.`);
  session = await response.json();
  await customElements.whenDefined("attention-view");
  if (session.welcome || session.model !== undefined) greet(session);
  const files = [...session.files, ...(session.model === undefined ? [] : await typedFiles())];
  // The state of the address is that of its own text.
  if (view.state.text > 0 && view.state.text >= files.length) {
    showNotice(`This address names text ${view.state.text + 1}, but there are ${files.length}.`);
    view.state = { text: 0, query: 0, key: 0 };
  }
  if (files.length > 0) view.sources = files.map(sourceOf);
  if (session.welcome === true) startStory(session.files.map(({ name }) => name));
}

/** The first screen is the story's first step, unless the address names another picture. */
function startStory(texts: readonly string[]): void {
  const places = { steps: byId("steps"), sentence: byId("seen"), figure: byId("figure") };
  story = new Story(view, texts, places);
  if (namesPicture) story.start(view.state);
  else story.go(0);
}

view.addEventListener("load", (event) => {
  const { report } = (event as CustomEvent<{ report: { name: string } }>).detail;
  document.title = `${report.name} · heed`;
});
void start();

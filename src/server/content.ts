/** What a local server offers: pages, the user's files and models, and the files that runs of the models make. */
import { randomBytes } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { messageOf } from "../core/errors.ts";
import { openSource, type Source, type SourceLike } from "../io/source.ts";
import type { RequestedHead } from "./policy.ts";

/** A page, script or stylesheet: its media type and its bytes. */
export interface StaticFile {
  readonly type: string;
  readonly body: Uint8Array;
  /** The content security policy allows WebAssembly, for this page or for the worker that runs this script. */
  readonly wasm?: boolean;
}

/** A file for the page: its name, its bytes or its path, and the model that made it. */
export interface ServedFile {
  readonly name: string;
  readonly source: SourceLike;
  /** The model that made it. */
  readonly model?: FileModel;
}

/** The model that made a file. It can run on the file's text again, with heads ablated. */
export interface FileModel {
  readonly name: string;
  /** The tokens that the model predicts: the next one, masked ones, or none. */
  readonly predicts: "next" | "masked" | "none";
  /** Returns the prediction with these heads ablated, as plain values. */
  readonly ablate: (heads: readonly RequestedHead[], position: number | null) => Promise<object>;
  /** Returns the attention of a run with these heads ablated. */
  readonly attention: (heads: readonly RequestedHead[]) => Promise<ServedFile>;
  /** The text that it read; undefined for a pair of texts. */
  readonly text?: string;
  /** Answers a question about the text, as plain values, with a new `file` where it makes one; undefined: it takes none. */
  readonly answer?: (question: object) => Promise<object>;
}

/** The pages, files and models that a server offers. */
export interface ServerContent {
  /** By path: `/` and the files it needs. */
  readonly pages: ReadonlyMap<string, StaticFile>;
  /** The user's files by id (letters, digits, `-` and `_`): `/data/ID?token=…`, whole or by byte range. */
  readonly data?: ReadonlyMap<string, SourceLike>;
  /** The models of files of `data`, by the same ids: `/ablate/ID?token=…&heads=…` and `/ask/ID?token=…&question=…`. */
  readonly models?: ReadonlyMap<string, FileModel>;
  /** Runs a model, by its number, on a text that the page sends. Undefined: the page cannot send a text. */
  readonly text?: (text: string, model: number) => Promise<ServedFile>;
}

/** Maximum number of files that runs of models made; the oldest ones are closed first. */
const MAX_NEW_FILES = 64;

/** The open files and models of a server, and the queue of its runs. */
export class ServedContent {
  readonly #content: ServerContent;
  readonly #files = new Map<string, Source>();
  readonly #models: Map<string, FileModel>;
  /** Ids of the files that runs made, the oldest first. */
  readonly #newFiles: string[] = [];
  /** Id of the last file that is read once. */
  #once = "";
  #lastRun: Promise<object> = Promise.resolve({});

  constructor(content: ServerContent) {
    this.#content = content;
    this.#models = new Map(content.models ?? []);
  }

  /** Opens the user's files. */
  async open(): Promise<void> {
    for (const [id, source] of this.#content.data ?? [])
      this.#files.set(id, await openSource("startServer", source));
  }

  async close(): Promise<void> {
    for (const source of this.#files.values()) await source.close();
  }

  page(path: string): StaticFile | undefined {
    return this.#content.pages.get(path);
  }

  file(id: string): Source | undefined {
    return this.#files.get(id);
  }

  /** A run of a model on a text; undefined where the server has no model for texts. A file for `once` is closed by the next one. */
  textRun(text: string, model: number, once = false): (() => Promise<object>) | undefined {
    const run = this.#content.text;
    return (
      run &&
      (async () => {
        const file = await this.#add(await run(text, model));
        if (once) {
          await this.#drop(this.#once);
          this.#once = this.#newFiles[this.#newFiles.length - 1];
        }
        return file;
      })
    );
  }

  /** A run of a file's model with heads ablated; undefined where no model made the file. */
  ablationRun(
    id: string,
    heads: readonly RequestedHead[],
    { position, attention }: { readonly position: number | null; readonly attention: boolean },
  ): (() => Promise<object>) | undefined {
    const model = this.#models.get(id);
    return (
      model &&
      (async () => (attention ? this.#add(await model.attention(heads)) : model.ablate(heads, position)))
    );
  }

  /**
   * A model's answer to a question; undefined where no model made the file, or it answers none. `replaces` of a question is the path of a
   * file that a run made and the page no longer shows.
   */
  questionRun(id: string, question: object): (() => Promise<object>) | undefined {
    const answer = this.#models.get(id)?.answer;
    return (
      answer &&
      (async () => {
        const { file, ...plain } = (await answer(question)) as { readonly file?: ServedFile };
        if (file === undefined) return plain;
        const { replaces } = question as { readonly replaces?: unknown };
        if (typeof replaces === "string") await this.#drop(replaces.replace("/data/", ""));
        return { ...plain, file: await this.#add(file) };
      })
    );
  }

  /** Runs models one after another; an error becomes `{ error }`. A run whose client disconnects before its turn is left out. */
  enqueue(run: () => Promise<object>, signal: AbortSignal): Promise<object> {
    this.#lastRun = this.#lastRun
      // A model blocks this thread: the connections that were closed meanwhile are noticed first. The second turn is for
      // "close" events, which Node emits at the end of a turn.
      .then(() => setImmediate())
      .then(() => setImmediate())
      .then(() => (signal.aborted ? {} : run()))
      .catch((error) => ({ error: messageOf(error) }));
    return this.#lastRun;
  }

  /** Adds a file that a run made; returns its name and path, as the page receives them. */
  async #add({ name, source, model }: ServedFile): Promise<object> {
    const id = `${randomBytes(9).toString("base64url")}/text`;
    this.#files.set(id, await openSource("startServer", source));
    if (model) this.#models.set(id, model);
    this.#newFiles.push(id);
    if (this.#newFiles.length > MAX_NEW_FILES) await this.#drop(this.#newFiles[0]);
    return { name, path: `/data/${id}`, ...(model && { model: describeModel(model, id) }) };
  }

  /** Closes a file that a run made; the user's files stay. */
  async #drop(id: string): Promise<void> {
    const at = this.#newFiles.indexOf(id);
    if (at < 0) return;
    this.#newFiles.splice(at, 1);
    await this.#files.get(id)?.close();
    this.#files.delete(id);
    this.#models.delete(id);
  }
}

/** The model of a file as the page receives it: its name, what it predicts, the text that it read, and the paths of its runs. */
export function describeModel({ name, predicts, text, answer }: FileModel, id: string): object {
  return { name, predicts, text, path: `/ablate/${id}`, ...(answer && { ask: `/ask/${id}` }) };
}

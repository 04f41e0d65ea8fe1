/**
 * Every head over a list of texts (`headsOverTexts`): each line of a file is read by the model of the page and measured once. The page
 * goes on while it runs; it can be stopped. A line that was measured before is not read again.
 */
import { FormatError, messageOf, OptionError } from "../../src/core/errors.ts";
import { openStore } from "../../src/store/formats/open.ts";
import { type HeadOverTexts, headsOverTexts, type TextOfHead } from "../../src/store/measures/over-texts.ts";
import type { AttentionSource, TextReader } from "../../src/view/element.ts";
import type { Session } from "../app/session.ts";

/** A list of texts, and what was measured. */
export interface MeasuredTexts {
  /** The name of the file. */
  readonly name: string;
  readonly texts: number;
  /** The share of the texts that is done. */
  readonly done: number;
  /** The model that reads them. */
  readonly model: string;
  /** Ends the work; undefined: it has ended. */
  readonly stop?: () => void;
  readonly heads?: readonly HeadOverTexts[];
  readonly error?: string;
}

const lists = new WeakMap<Session, MeasuredTexts>();
const caches = new WeakMap<TextReader, Map<string, Map<string, readonly TextOfHead[]>>>();

/** The list that is measured or was measured last. */
export const textsOf = (session: Session): MeasuredTexts | undefined => lists.get(session);

/** The command that measures the texts of a file. */
export const commandFor = (file: string): string =>
  `heed heads ${/^[\w.-]+$/.test(file) ? file : JSON.stringify(file)} --model encoder`;

/** The texts of a file, one a line, each once. */
async function linesOf(file: File): Promise<string[]> {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    throw new FormatError("utf-8", `${file.name} is not UTF-8 text`);
  }
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  if (lines.length === 0) throw new OptionError("text", `${file.name} has no line of text`);
  return [...new Set(lines)];
}

/** Measures every head over the lines of a file. Errors are in the result. */
export async function measureTexts(session: Session, file: File, reader: TextReader): Promise<void> {
  lists.get(session)?.stop?.();
  const control = new AbortController();
  const { signal } = control;
  const model = reader.name;
  let now: MeasuredTexts = { name: file.name, texts: 0, done: 0, model, stop: () => control.abort() };
  const set = (change: Partial<MeasuredTexts>) => {
    // Another list may have replaced this one.
    if (lists.get(session) !== now) return;
    now = { ...now, ...change };
    lists.set(session, now);
    session.changed();
  };
  lists.set(session, now);
  try {
    const lines = await linesOf(file);
    set({ texts: lines.length });
    const ofReader = caches.get(reader) ?? new Map<string, Map<string, readonly TextOfHead[]>>();
    caches.set(reader, ofReader);
    const cache = ofReader.get(model) ?? new Map<string, readonly TextOfHead[]>();
    ofReader.set(model, cache);
    const texts = lines.map((name) => ({
      name,
      dispose: true,
      open: async () => storeOf(await reader.read(name, { once: true, signal }), signal),
    }));
    const onProgress = (done: number) => set({ done });
    const heads = await headsOverTexts(texts, { signal, cache, onProgress, examples: 2 });
    set({ heads, stop: undefined, done: 1 });
  } catch (error) {
    set({ stop: undefined, error: signal.aborted ? "It was stopped." : messageOf(error) });
  }
}

/** The store of a text, on this thread: a short text is measured sooner than a worker starts. */
async function storeOf(source: AttentionSource, signal: AbortSignal) {
  if (!("src" in source)) return (await import("../app/open.ts")).openAny(source.data, source.name);
  const response = await fetch(source.src, { signal });
  if (!response.ok)
    throw new FormatError(
      "fetch",
      `${source.name} could not be read: the server answered ${response.status}`,
    );
  return openStore(await response.blob(), { name: source.name });
}

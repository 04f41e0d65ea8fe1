/**
 * Serving the explorer: which cell the page opens at, the files it is given, and the wait until Ctrl-C. Shared by `view`,
 * which opens files, and `show --view`, which has just run a model.
 */
import { randomBytes } from "node:crypto";
import { setFlagsFromString } from "node:v8";
import { UnsupportedError } from "../../../core/errors.ts";
import type { SourceLike } from "../../../io/source.ts";
import { explorerPages, labPages } from "../../../server/assets.ts";
import {
  describeModel,
  type FileModel,
  type LocalServer,
  type MadeFile,
  type Page,
  startServer,
} from "../../../server/server.ts";
import type { HeadRef } from "../../../store/types.ts";
import { EXIT, type Io } from "../line/command.ts";
import { endsByCtrlC } from "../output/interrupt.ts";
import { hasBrowser, openBrowser } from "./browser.ts";

/** A file for the page: what it is called there, its bytes or its path, and the model that made it. */
export type ServedFile = MadeFile;

/** How the explorer is served. */
export interface ServeOptions {
  readonly port?: number;
  /** An address besides loopback. */
  readonly host?: string;
  /** Whether a browser is opened: by default where there is one. */
  readonly open?: boolean;
  /** The state the page opens in, as the part of its address after #. */
  readonly hash?: string;
  /** The model that reads what is typed into the page: what it is called, and what it does with a text. */
  readonly model?: { readonly name: string; readonly run: (text: string) => Promise<ServedFile> };
  /** The page says what is seen, and what else can be done: for readers without files of their own. */
  readonly welcome?: boolean;
}

/** A cell worth looking at. */
export interface Spot extends HeadRef {
  readonly query: number;
  readonly key: number;
}

/** What the world must give. */
export type ServeIo = Pick<Io, "stdout" | "stderr" | "env" | "isTTY" | "signal">;

/** Starts a server over files; the address opens the page on the first of them. */
async function startExplorer(
  files: readonly ServedFile[],
  { port, host, hash = "", model, welcome = false }: ServeOptions = {},
): Promise<LocalServer> {
  const { pages, lab } = pagesWithLab();
  const data = new Map<string, SourceLike>();
  const models = new Map<string, FileModel>();
  const listed = files.map(({ name, source, model: own }) => {
    // The name is for people; the id before it is the part that cannot be guessed.
    const id = `${randomBytes(9).toString("base64url")}/${encodeURIComponent(name)}`;
    data.set(id, source);
    if (own) models.set(id, own);
    return { name, path: `/data/${id}`, ...(own && { model: describeModel(own, id) }) };
  });
  data.set(
    "session",
    new TextEncoder().encode(JSON.stringify({ files: listed, welcome, model: model?.name, lab })),
  );
  const server = await startServer({ pages, data, models, text: model?.run }, { port, host });
  return { ...server, url: server.url + hash };
}

/** The explorer's pages, and where the Lab is among them; undefined where it was not built. */
function pagesWithLab(): { pages: Map<string, Page>; lab: string | undefined } {
  const explorer = explorerPages();
  try {
    // The explorer's pages win: the Lab has a first page of its own, and none of the explorer's script.
    const pages = new Map([...labPages(), ...explorer]);
    return { pages, lab: "/index.html" };
  } catch (error) {
    if (!(error instanceof UnsupportedError)) throw error;
    return { pages: explorer, lab: undefined };
  }
}

/** Serves files until Ctrl-C: prints the address on stdout, and opens a browser where there is one. */
export async function explore(
  files: readonly ServedFile[],
  options: ServeOptions,
  io: ServeIo,
  print: (server: LocalServer) => string = ({ url }) => `${url}\n`,
): Promise<number> {
  return serveUntilInterrupted(await startExplorer(files, options), options, io, print);
}

/** Prints the address of a server that runs, opens a browser where there is one, and waits for Ctrl-C; then closes it. */
export async function serveUntilInterrupted(
  server: LocalServer,
  options: ServeOptions,
  io: ServeIo,
  print: (server: LocalServer) => string = ({ url }) => `${url}\n`,
): Promise<number> {
  // From here on this process only serves. V8 would let short-lived objects fill 100 MiB before it looks at the old
  // ones, for any request; so it keeps the heap near its live size, and collects a little more often.
  setFlagsFromString("--optimize-for-size");
  try {
    if (options.host !== undefined)
      io.stderr.write(
        `warning: everybody who can reach ${options.host} and has the address can see what is served, unencrypted; without --host only this machine can\n`,
      );
    io.stdout.write(print(server));
    const opened = (options.open ?? hasBrowser(io)) && (await openBrowser(server.url));
    io.stderr.write(`${opened ? "opened in the browser; " : ""}Ctrl-C ends\n`);
    endsByCtrlC();
    await aborted(io.signal);
    return EXIT.ok;
  } finally {
    await server.close();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** The explorer's address of a head with the cursor on a cell: what its page reads after #. */
export function addressOf(block: string, { layer, head, query, key }: Omit<Spot, "block">): string {
  const name = encodeURIComponent(block);
  return `#v1/head?b=${name}&l=${layer}&h=${head}&i=${query}&j=${key}`;
}

/** Serves the explorer with files until Ctrl-C, for `view` and `show --view`, and opens its address in the user's browser. */

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { setFlagsFromString } from "node:v8";
import { OptionError, UnsupportedError } from "../../../core/errors.ts";
import type { SourceLike } from "../../../io/source.ts";
import { explorerPages, labPages } from "../../../server/assets.ts";
import { describeModel, type FileModel, type ServedFile, type StaticFile } from "../../../server/content.ts";
import { type LocalServer, startServer } from "../../../server/server.ts";
import type { HeadRef } from "../../../store/block.ts";
import type { HeadStore } from "../../../store/head-store.ts";
import { EXIT, type Io } from "../line/command.ts";
import { endsByCtrlC } from "../output/interrupt.ts";

/** A model that reads texts of the page. */
export interface PageModel {
  readonly name: string;
  readonly run: (text: string) => Promise<ServedFile>;
}

/** Options of serving the explorer. */
export interface ServeOptions {
  readonly port?: number;
  /** An address besides loopback. */
  readonly host?: string;
  /** Whether to open a browser; by default as `hasBrowser` says. */
  readonly open?: boolean;
  /** The initial state of the page, the part of its address after #. */
  readonly hash?: string;
  /** The model for texts that are typed into the page. */
  readonly model?: PageModel & {
    /** Commands that download the model of the captured sentences and run it on typed texts. */
    readonly larger?: readonly [pull: string, view: string];
    /** Other models on this machine, which read a text on request. */
    readonly others?: readonly PageModel[];
  };
  /** The page explains what it shows: for users who gave no file. */
  readonly welcome?: boolean;
}

/** A cell of a head. */
export interface Spot extends HeadRef {
  readonly query: number;
  readonly key: number;
}

/** The parts of `Io` that serving uses. */
export type ServeIo = Pick<Io, "stdout" | "stderr" | "env" | "isTTY" | "signal">;

/** Starts a server over files; the address opens the page on the first of them. */
async function startExplorer(
  files: readonly ServedFile[],
  { port, host, hash = "", model, welcome = false }: ServeOptions = {},
): Promise<LocalServer> {
  const { pages, lab } = pagesWithLab();
  const data = new Map<string, SourceLike>();
  const models = new Map<string, FileModel>();
  const listed = files.map(({ name, source, model: fileModel }) => {
    // The name is for users; the random id before it cannot be guessed.
    const id = `${randomBytes(9).toString("base64url")}/${encodeURIComponent(name)}`;
    data.set(id, source);
    if (fileModel) models.set(id, fileModel);
    return { name, path: `/data/${id}`, ...(fileModel && { model: describeModel(fileModel, id) }) };
  });
  data.set(
    "session",
    new TextEncoder().encode(
      JSON.stringify({
        ...{ files: listed, welcome, lab, model: model?.name, larger: model?.larger },
        others: model?.others?.map(({ name }) => name),
      }),
    ),
  );
  const server = await startServer({ pages, data, models, text: model && textRunner(model) }, { port, host });
  return { ...server, url: server.url + hash };
}

/** Runs the model of a number: 0 is the page's own, the others follow. */
const textRunner =
  (model: NonNullable<ServeOptions["model"]>) =>
  async (text: string, number: number): Promise<ServedFile> => {
    const all: readonly PageModel[] = [model, ...(model.others ?? [])];
    if (all[number] === undefined)
      throw new OptionError("model", `there is no model ${number} here`, { number });
    return all[number].run(text);
  };

/** The explorer's pages with those of the Lab, and the Lab's path; undefined if it was not built. */
function pagesWithLab(): { pages: Map<string, StaticFile>; lab: string | undefined } {
  const explorer = explorerPages();
  try {
    // The explorer's pages take precedence over the Lab's of the same path.
    const pages = new Map([...labPages(), ...explorer]);
    return { pages, lab: "/index.html" };
  } catch (error) {
    if (!(error instanceof UnsupportedError)) throw error;
    return { pages: explorer, lab: undefined };
  }
}

/** Serves files until Ctrl-C: prints the address on stdout, and opens a browser if there is one. */
export async function explore(
  files: readonly ServedFile[],
  options: ServeOptions,
  io: ServeIo,
  print: (server: LocalServer) => string = ({ url }) => `${url}\n`,
): Promise<number> {
  return serveUntilInterrupted(await startExplorer(files, options), options, io, print);
}

/** Prints the address of a running server, opens a browser if there is one, waits for Ctrl-C, and closes the server. */
export async function serveUntilInterrupted(
  server: LocalServer,
  options: ServeOptions,
  io: ServeIo,
  print: (server: LocalServer) => string = ({ url }) => `${url}\n`,
): Promise<number> {
  // From here on this process only serves. By default V8 lets requests fill 100 MiB with short-lived objects before a major
  // collection; this flag keeps the heap near its live size, with slightly more frequent collections.
  setFlagsFromString("--optimize-for-size");
  try {
    if (options.host !== undefined)
      io.stderr.write(
        `warning: anyone who can reach ${options.host} and has the address can see the served data, unencrypted; without --host only this machine can\n`,
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

/** The block to open: what an encoder–decoder's target attends to in the source, or the first. */
export const openingBlock = ({ blocks }: Pick<HeadStore, "blocks">): number =>
  Math.max(
    0,
    blocks.findIndex(({ kind }) => kind === "cross"),
  );

/** The hash of the explorer's address for a head with the cursor on a cell. */
export function addressOf(block: string, { layer, head, query, key }: Omit<Spot, "block">): string {
  const name = encodeURIComponent(block);
  return `#v1/head?b=${name}&l=${layer}&h=${head}&i=${query}&j=${key}`;
}

/** Whether to open a browser by default: not in CI, over ssh, without a terminal, or on Linux without a display. */
export function hasBrowser(
  { env, isTTY }: Pick<Io, "env" | "isTTY">,
  platform: NodeJS.Platform = process.platform,
): boolean {
  if (!isTTY || env.CI || env.SSH_CONNECTION || env.SSH_TTY) return false;
  return platform === "darwin" || platform === "win32" || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY);
}

/** The program that opens addresses, and its arguments before the address. */
function opener(platform: NodeJS.Platform): readonly [string, ...string[]] {
  if (platform === "darwin") return ["open"];
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return ["xdg-open"];
}

/** Opens an http address; resolves to whether a program for it started. No shell sees the address. */
export function openBrowser(url: string, platform: NodeJS.Platform = process.platform): Promise<boolean> {
  const [program, ...args] = opener(platform);
  return new Promise((resolve) => {
    try {
      const child = spawn(program, [...args, url], { stdio: "ignore", detached: true });
      child.on("error", () => resolve(false));
      child.on("spawn", () => {
        child.unref();
        resolve(true);
      });
    } catch {
      // Node's permission model may forbid child processes.
      resolve(false);
    }
  });
}

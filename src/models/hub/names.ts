/**
 * Names of models on the Hugging Face hub, and the layout of its Python library's cache (huggingface_hub):
 *
 *     HF_HUB_CACHE/models--ORG--NAME/refs/main                 the commit of main at the last lookup
 *                                   /snapshots/COMMIT/FILE     a link into blobs, or the file itself
 *                                   /blobs/ETAG                the file
 */
import { refuseGot } from "../../core/errors.ts";
import { checkKind } from "../../core/option-names.ts";
import { builtin } from "../../io/filesystem/node.ts";

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A model of the hub: `ORG/NAME` or `NAME`, and a branch, a tag or a commit of it. */
export interface HubName {
  readonly id: string;
  readonly revision: string;
}

/** The default branch of every repository. */
const MAIN = "main";

/** Reads `ORG/NAME`, `NAME` or `ORG/NAME@REVISION`; undefined for other texts. */
export function readHubName(text: string): HubName | undefined {
  const [id, revision = MAIN, ...more] = text.split("@");
  const part = /^[A-Za-z0-9_](?:[\w.-]{0,94}[\w-])?$/;
  const parts = id.split("/");
  const good =
    more.length === 0 &&
    parts.length <= 2 &&
    parts.every((one) => part.test(one) && !/--|\.\./.test(one)) &&
    /^[\w][\w./-]{0,199}$/.test(revision) &&
    !/\.\.|\/\/|\/$/.test(revision);
  return good ? { id, revision } : undefined;
}

/** Like `readHubName`, but throws an OptionError. */
export function hubName(what: string, text: string): HubName {
  const name = typeof text === "string" ? readHubName(text) : undefined;
  if (name === undefined)
    refuseGot("model", `${what}: a model of the hub is named ORG/NAME or ORG/NAME@REVISION`, text);
  return name;
}

/** The folder of Hugging Face's cache: HF_HUB_CACHE, or hub/ in HF_HOME, or in ~/.cache/huggingface. */
export function hubCache(env: Environment = process.env): string {
  const { join } = builtin<typeof import("node:path")>("node:path")!;
  const { homedir } = builtin<typeof import("node:os")>("node:os")!;
  const home = () => env.HOME || env.USERPROFILE || homedir();
  const expand = (path: string) => (/^~(?=$|[\\/])/.test(path) ? join(home(), path.slice(1)) : path);
  for (const name of ["HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME", "HOME"])
    if (env[name] !== undefined) checkKind("env", name, "a text", env[name]);
  const cache = env.HF_HUB_CACHE || env.HUGGINGFACE_HUB_CACHE;
  if (cache) return expand(cache);
  const root = env.HF_HOME || join(env.XDG_CACHE_HOME || join(home(), ".cache"), "huggingface");
  return join(expand(root), "hub");
}

/** The folder of a model in the cache. */
export function modelFolder(cache: string, { id }: HubName): string {
  const { join } = builtin<typeof import("node:path")>("node:path")!;
  return join(cache, `models--${id.replace("/", "--")}`);
}

/** True for a commit: 40 hexadecimal digits. */
export const isCommit = (revision: string): boolean => /^[0-9a-f]{40}$/.test(revision);

/**
 * A lock on a folder: a file in it with the process that holds it. One process gets the lock; others get an error with the
 * holder. The lock of a dead process is taken over, never that of a living one. Node only.
 *
 * A process is known by its number, its start time, its process namespace and the machine's boot id: a number alone says nothing
 * in a container, where it is often 1 again. Of a process elsewhere (another machine, another container) only its heartbeat is
 * visible: it renews the file's modification time, and is dead where that stays the same for `limit`. Clocks are not compared.
 */
import type { Worker } from "node:worker_threads";
import { OptionError } from "../../core/errors.ts";
import { builtin, fileError, fileSystem, systemText, uniqueName } from "./node.ts";

/** Name of the file. */
export const LOCK = ".heed-lock";

/** How often a lock that is being written or removed is looked at again, 10 ms apart. */
const ATTEMPTS = 20;

/** The texts of this process's locks: held, or released where the file could not be removed, which is taken over as a dead one. */
const OWN = new Map<string, "held" | "released">();

/** Options of `lockFolder`. */
export interface LockOptions {
  /** Milliseconds between two heartbeats; default 5,000. */
  readonly interval?: number;
  /** Milliseconds without a heartbeat after which a process elsewhere is dead; default 30,000. */
  readonly limit?: number;
  /** Called once with a sentence where it is not known at once whether the holder is alive. */
  readonly onWait?: (text: string) => void;
}

/** Unlocks a folder. Throws an OptionError of code `unlock` where the lock file can be neither read nor removed. */
export interface Unlock {
  (): Promise<void>;
  /** Throws an OptionError of code `lock-lost` where another process has taken the lock over: this one was stopped for too long. */
  check(): Promise<void>;
}

/**
 * Locks an existing folder, and returns a function that unlocks it. Throws an OptionError of code `locked` while another process,
 * or another caller in this one, has the lock.
 *
 * @param doing the holder's activity for the error message of others: "training"
 */
export async function lockFolder(
  folder: string,
  doing: string,
  { interval = 5000, limit = 30_000, onWait }: LockOptions = {},
): Promise<Unlock> {
  const what = "lockFolder";
  const fs = fileSystem(what);
  const { join } = builtin<typeof import("node:path")>("node:path")!;
  const path = join(folder, LOCK);
  const text = JSON.stringify({ ...thisProcess(), doing, id: uniqueName(), beats: true });
  const read = (file: string) => fs.readFile(file, "utf8").catch(() => "");
  let hasWaited = false;

  /** Writes a lock file; false where one is there. */
  async function create(file: string): Promise<boolean> {
    try {
      await fs.writeFile(file, text, { flag: "wx" });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
      throw fileError(what, "lock", folder, error);
    }
  }

  /** The modification time of a lock file. Opening it makes a network file system ask the server. */
  async function beatOf(file: string): Promise<number | undefined> {
    const handle = await fs.open(file).catch(() => undefined);
    try {
      return (await handle?.stat())?.mtimeMs;
    } finally {
      await handle?.close();
    }
  }

  /** True if the holder of a lock is dead. Waits for a heartbeat of a process elsewhere. */
  async function isDead(file: string, holderText: string): Promise<boolean> {
    const holder = holderOf(holderText);
    if (holder === undefined) return false;
    const local = OWN.get(holderText);
    if (local !== undefined) return local === "released";
    const first = await beatOf(file);
    const state = stateOf(holder, first);
    if (state !== "elsewhere") return state === "dead";
    if (!hasWaited)
      onWait?.(
        `${folder} was locked by ${nameOf(holder)}; waiting up to ${limit / 1e3} s for a sign of life`,
      );
    hasWaited = true;
    for (const start = performance.now(); performance.now() - start < limit; ) {
      await new Promise((resolve) => setTimeout(resolve, Math.min(500, limit / 10)));
      // A heartbeat, another lock, or none.
      if ((await beatOf(file)) !== first || (await read(file)) !== holderText) return false;
    }
    return true;
  }

  /**
   * Removes the lock of a dead process. Several processes may find it: only the one with a second lock removes it, and only
   * while it is still the same, so that no process removes the new lock of a faster one.
   */
  async function removeDead(file: string, holderText: string): Promise<void> {
    const removal = `${file}-removal`;
    if (await create(removal)) {
      if ((await read(file)) === holderText) await fs.unlink(file).catch(() => {});
      await fs.unlink(removal).catch(() => {});
    } else {
      const other = await read(removal);
      if (await isDead(removal, other)) await removeDead(removal, other);
    }
  }

  for (let attempt = 0; ; attempt++) {
    if (await create(path)) {
      OWN.set(text, "held");
      const heartbeat = startHeartbeat(path, text, interval);
      const unlock = async () => {
        heartbeat.stop();
        await removeOwn(path, text, folder);
      };
      const check = async () => {
        const now = await read(path);
        if (now === text) return;
        const holder = holderOf(now);
        throw new OptionError(
          "lock-lost",
          `${folder} is now in use by ${holder ? nameOf(holder) : "another process"}: this process gave no sign of life for ${limit / 1e3} s; nothing more is written`,
          { path, holder },
        );
      };
      return Object.assign(unlock, { check });
    }
    const other = await read(path);
    if (attempt < ATTEMPTS) {
      const dead = await isDead(path, other);
      if (dead) await removeDead(path, other);
      // An empty file is being written, or was removed just now.
      if (dead || other === "" || (await read(path)) !== other) {
        if (attempt > 0) await new Promise((resolve) => setTimeout(resolve, 10));
        continue;
      }
    }
    const holder = holderOf(other);
    throw new OptionError(
      "locked",
      `${folder} is in use by ${holder ? nameOf(holder) : "another process"}; wait for it, or remove ${path} if no process is using the folder`,
      { path, holder },
    );
  }
}

/** Removes the lock file of this process, unless another one has taken it over. */
async function removeOwn(path: string, text: string, folder: string): Promise<void> {
  const fs = fileSystem("lockFolder");
  for (let attempt = 1; ; attempt++)
    try {
      if ((await fs.readFile(path, "utf8")) === text) await fs.unlink(path);
      OWN.delete(text);
      return;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT") {
        OWN.delete(text);
        return;
      }
      OWN.set(text, "released");
      if (attempt === 3)
        throw new OptionError(
          "unlock",
          `${folder} cannot be unlocked, because ${path} cannot be removed: ${systemText(error as Error)}; other processes can use the folder when this one has ended`,
          { path, errno: code },
        );
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
}

/** The process that holds a lock. */
interface Holder {
  readonly pid: number;
  readonly host: string;
  readonly doing: string;
  /** Linux only, and not in locks of heed 0.1.0: when the process started, boot id of the machine, namespace of the number. */
  readonly start?: string;
  readonly boot?: string;
  readonly namespace?: string;
  /** The holder renews the file. */
  readonly beats?: boolean;
}

const nameOf = ({ pid, host, doing }: Holder): string => `process ${pid} on ${host} (${doing})`;

function holderOf(text: string): Holder | undefined {
  try {
    const holder = JSON.parse(text);
    const { pid, host, doing } = holder;
    return Number.isSafeInteger(pid) && typeof host === "string" && typeof doing === "string"
      ? holder
      : undefined;
  } catch {
    return undefined;
  }
}

/** This process, as a lock names it. */
function thisProcess(): Omit<Holder, "doing"> {
  const { hostname } = builtin<typeof import("node:os")>("node:os")!;
  const { readFileSync, readlinkSync } = builtin<typeof import("node:fs")>("node:fs")!;
  const linux = <T>(value: () => T): T | undefined => {
    try {
      return value();
    } catch {
      return undefined; // not Linux, or /proc is not mounted
    }
  };
  return {
    pid: process.pid,
    host: hostname(),
    start: startOf(process.pid),
    boot: linux(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()),
    namespace: linux(() => readlinkSync("/proc/self/ns/pid")),
  };
}

/**
 * When a process of this machine started; undefined where there is none of that number, or where the system does not say. In a
 * container whose /proc is that of the machine, /proc/1 is not the process 1 of the container: only /proc/self is known.
 */
function startOf(pid: number): string | undefined {
  const { readFileSync, readlinkSync } = builtin<typeof import("node:fs")>("node:fs")!;
  try {
    const isSelf = pid === process.pid;
    if (!isSelf && readlinkSync("/proc/self") !== `${process.pid}`) return undefined;
    // Field 22 of proc(5), counted after the name in parentheses, which may contain spaces.
    return readFileSync(`/proc/${isSelf ? "self" : pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ")[19];
  } catch {
    return undefined;
  }
}

/** @param beat modification time of the lock */
function stateOf(holder: Holder, beat: number | undefined): "alive" | "dead" | "elsewhere" {
  const self = thisProcess();
  if (holder.boot !== undefined && holder.start !== undefined) {
    const isHere = holder.boot === self.boot && holder.namespace === self.namespace;
    const start = isHere ? startOf(holder.pid) : undefined;
    if (start !== undefined) return start === holder.start ? "alive" : "dead";
    if (isHere) return isAlive(holder.pid) ? "alive" : "dead";
  } else if (holder.host === self.host) {
    // This number may have belonged to another process before.
    if (holder.pid === self.pid)
      return beat !== undefined && beat < Date.now() - 1e3 * process.uptime() ? "dead" : "alive";
    return isAlive(holder.pid) ? "alive" : "dead";
  }
  return holder.beats ? "elsewhere" : "alive";
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** Renews the modification time of a lock, in a thread: the main thread may compute for minutes. */
function startHeartbeat(path: string, text: string, interval: number): { stop(): void } {
  const { utimes } = fileSystem("lockFolder");
  let timer: NodeJS.Timeout | undefined;
  const onMainThread = () => {
    timer = setInterval(() => void utimes(path, new Date(), new Date()).catch(() => {}), interval).unref();
  };
  let worker: Worker | undefined;
  try {
    const { Worker } = builtin<typeof import("node:worker_threads")>("node:worker_threads")!;
    // The name is in a variable so that bundlers do not look for the file; in a bundle it is missing.
    const name = "./heartbeat.js";
    worker = new Worker(new URL(name, import.meta.url), {
      workerData: { path, text, interval },
      execArgv: [],
    });
    worker.on("error", onMainThread);
    worker.unref();
  } catch {
    onMainThread();
  }
  return {
    stop() {
      clearInterval(timer);
      worker?.off("error", onMainThread);
      worker?.on("error", () => {});
      void worker?.terminate();
    },
  };
}

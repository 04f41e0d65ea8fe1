import { spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, describe, expect, test, vi } from "vitest";
import { OptionError } from "../../core/errors.ts";
import { LOCK, lockFolder } from "./lock.ts";

const folder = mkdtempSync(join(tmpdir(), "heed-lock-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("one caller has the lock; another gets an error that names it, and the lock afterwards", async () => {
  const unlock = await lockFolder(folder, "training");
  await expect(lockFolder(folder, "training")).rejects.toThrow(OptionError);
  await expect(lockFolder(folder, "training")).rejects.toThrow(
    new RegExp(`is in use by process ${process.pid} on .* \\(training\\)`),
  );
  await unlock();
  expect(existsSync(join(folder, LOCK))).toBe(false);
  await (await lockFolder(folder, "training"))();
});

test("of many callers at once, one gets it", async () => {
  const tries = await Promise.allSettled(Array.from({ length: 20 }, () => lockFolder(folder, "x")));
  const unlocks = tries.filter((one) => one.status === "fulfilled");
  expect(unlocks.length).toBe(1);
  for (const one of unlocks) await one.value();
});

test("the lock of a process that died is taken over, by one of many each time", async () => {
  const { pid } = spawnSync(process.execPath, ["-e", ""]);
  const dead = (id: string) => JSON.stringify({ pid, host: hostname(), doing: "training", id });
  for (let round = 0; round < 100; round++) {
    writeFileSync(join(folder, LOCK), dead(`${round}`));
    // In some rounds the process that removed a lock died too.
    if (round % 4 === 0) writeFileSync(join(folder, `${LOCK}-removal`), dead(`removal ${round}`));
    if (round % 8 === 0) writeFileSync(join(folder, `${LOCK}-removal-removal`), dead(`second ${round}`));
    const tries = await Promise.allSettled(Array.from({ length: 10 }, () => lockFolder(folder, "x")));
    const unlocks = tries.filter((one) => one.status === "fulfilled");
    expect(unlocks.length).toBe(1);
    for (const one of unlocks) await one.value();
    expect(readdirSync(folder)).toEqual([]);
  }
});

test("a lock of another machine stays", async () => {
  writeFileSync(join(folder, LOCK), JSON.stringify({ pid: 1, host: "elsewhere", doing: "training" }));
  await expect(lockFolder(folder, "x")).rejects.toThrow(/on elsewhere/);
  rmSync(join(folder, LOCK));
});

test("a lock of a living process of another user stays", async () => {
  writeFileSync(
    join(folder, LOCK),
    JSON.stringify({ pid: 999_999_999, host: hostname(), doing: "training" }),
  );
  const kill = vi.spyOn(process, "kill").mockImplementation(() => {
    throw Object.assign(new Error("kill EPERM"), { code: "EPERM" });
  });
  try {
    await expect(lockFolder(folder, "x")).rejects.toThrow(/is in use by process 999999999/);
    expect(kill).toHaveBeenCalledWith(999_999_999, 0);
  } finally {
    kill.mockRestore();
    rmSync(join(folder, LOCK));
  }
});

test("a missing folder is a typed error", async () => {
  await expect(lockFolder(join(folder, "none"), "x")).rejects.toThrow(OptionError);
});

test("a lock that another process took over is not removed", async () => {
  const file = join(folder, LOCK);
  const release = await lockFolder(folder, "test");
  const other = JSON.stringify({ pid: process.pid, host: hostname(), doing: "other", id: "1" });
  writeFileSync(file, other);
  await release();
  expect(readFileSync(file, "utf8")).toBe(other);
  rmSync(file);
});

test.each(["readFile", "unlink"] as const)(
  "a lock that cannot be removed (%s fails) is a typed error, and this process takes the lock again",
  async (call) => {
    const fs = process.getBuiltinModule("node:fs/promises");
    const unlock = await lockFolder(folder, "test");
    const failure = Object.assign(new Error("EIO: i/o error"), { code: "EIO" });
    const spy = vi.spyOn(fs, call).mockRejectedValue(failure);
    try {
      await expect(unlock()).rejects.toMatchObject({
        code: "unlock",
        message: expect.stringMatching(/ cannot be unlocked, because .*\.heed-lock cannot be removed: /),
      });
    } finally {
      spy.mockRestore();
    }
    expect(existsSync(join(folder, LOCK))).toBe(true);
    await (await lockFolder(folder, "test"))();
    expect(readdirSync(folder)).toEqual([]);
  },
);

test("a lock that can be removed at the second attempt is removed", async () => {
  const fs = process.getBuiltinModule("node:fs/promises");
  const unlock = await lockFolder(folder, "test");
  const spy = vi.spyOn(fs, "unlink").mockRejectedValueOnce(Object.assign(new Error("EIO"), { code: "EIO" }));
  await unlock();
  spy.mockRestore();
  expect(readdirSync(folder)).toEqual([]);
});

test("an empty or invalid lock is refused with its path", async () => {
  const file = join(folder, LOCK);
  writeFileSync(file, "");
  await expect(lockFolder(folder, "test")).rejects.toThrow(
    `${folder} is in use by another process; wait for it, or remove ${file} if no process is using the folder`,
  );
  writeFileSync(file, JSON.stringify({ pid: "x", host: 1, doing: [] }));
  await expect(lockFolder(folder, "test")).rejects.toThrow("is in use by another process");
  writeFileSync(file, JSON.stringify({ pid: 1, host: "elsewhere", doing: "heed train" }));
  await expect(lockFolder(folder, "test")).rejects.toThrow(
    "is in use by process 1 on elsewhere (heed train)",
  );
  rmSync(file);
});

test("a lock that is released during the wait is taken", async () => {
  const file = join(folder, LOCK);
  writeFileSync(file, "");
  setTimeout(() => rmSync(file), 40);
  const release = await lockFolder(folder, "test");
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ pid: process.pid, doing: "test" });
  await release();
});

describe("a process elsewhere", () => {
  const file = join(folder, LOCK);
  const elsewhere = {
    pid: 1,
    host: hostname(),
    doing: "heed train",
    start: "100",
    boot: "b",
    namespace: "n",
  };
  const timing = { interval: 20, limit: 300 };

  test("that gives no sign of life for the limit is dead, and the wait is announced", async () => {
    writeFileSync(file, JSON.stringify({ ...elsewhere, beats: true }));
    const waits: string[] = [];
    const release = await lockFolder(folder, "test", { ...timing, onWait: (text) => waits.push(text) });
    expect(waits).toEqual([
      `${folder} was locked by process 1 on ${hostname()} (heed train); waiting up to 0.3 s for a sign of life`,
    ]);
    await release();
    expect(readdirSync(folder)).toEqual([]);
  });

  const bootId = "/proc/sys/kernel/random/boot_id";
  const boot = existsSync(bootId) ? readFileSync(bootId, "utf8").trim() : "b";
  test.each([
    ["on another machine", elsewhere],
    ["in another container of this machine", { ...elsewhere, boot }],
  ])("%s that renews its lock is alive, whatever its clock says", async (_, holder) => {
    writeFileSync(file, JSON.stringify({ ...holder, beats: true }));
    let clock = 1000;
    const beats = setInterval(() => utimesSync(file, clock, clock++), 20);
    await expect(lockFolder(folder, "test", timing)).rejects.toThrow(/is in use by process 1/);
    clearInterval(beats);
    rmSync(file);
  });

  test("that has a version without heartbeats is not taken over", async () => {
    writeFileSync(file, JSON.stringify(elsewhere));
    await expect(lockFolder(folder, "test", timing)).rejects.toThrow(/is in use by process 1/);
    rmSync(file);
  });
});

test("the lock is renewed while the main thread computes", async () => {
  const release = await lockFolder(folder, "test", { interval: 20 });
  const file = join(folder, LOCK);
  await wait(300);
  utimesSync(file, 1, 1);
  for (
    const start = performance.now();
    performance.now() - start < 1000 && statSync(file).mtimeMs === 1000;
  );
  expect(statSync(file).mtimeMs).toBeGreaterThan(1000);
  await release();
});

test("a holder that lost its lock learns it from check()", async () => {
  const release = await lockFolder(folder, "test");
  await release.check();
  writeFileSync(join(folder, LOCK), JSON.stringify({ pid: 7, host: "node07", doing: "heed train" }));
  await expect(release.check()).rejects.toMatchObject({
    code: "lock-lost",
    message: expect.stringContaining("is now in use by process 7 on node07 (heed train)"),
  });
  writeFileSync(join(folder, LOCK), "not a lock");
  await expect(release.check()).rejects.toThrow("is now in use by another process");
  rmSync(join(folder, LOCK));
  await release();
});

test("a lock of an earlier version with this number is of another process if it is older than this one", async () => {
  const file = join(folder, LOCK);
  writeFileSync(file, JSON.stringify({ pid: process.pid, host: hostname(), doing: "earlier" }));
  await expect(lockFolder(folder, "test")).rejects.toThrow(/is in use by process \d+ on .* \(earlier\)/);
  utimesSync(file, 1, 1);
  await (await lockFolder(folder, "test"))();
  expect(readdirSync(folder)).toEqual([]);
});

describe.skipIf(process.platform !== "linux")("a number that was used again", () => {
  /** A lock of this machine with another number. */
  const lockOf = async (pid: number, start: string) => {
    const release = await lockFolder(folder, "test");
    const holder = JSON.parse(readFileSync(join(folder, LOCK), "utf8"));
    await release();
    return JSON.stringify({ ...holder, pid, start });
  };
  const startOf = (pid: number) =>
    readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ")[19];

  test("is not the process that started at another time; the process that did is alive", async () => {
    writeFileSync(join(folder, LOCK), await lockOf(process.ppid, startOf(process.ppid)));
    await expect(lockFolder(folder, "test")).rejects.toThrow(`is in use by process ${process.ppid} on`);
    rmSync(join(folder, LOCK));
    writeFileSync(join(folder, LOCK), await lockOf(process.ppid, "1"));
    await (await lockFolder(folder, "test"))();
    expect(readdirSync(folder)).toEqual([]);
  });

  test("and that the system does not describe is dead, unless it may be of another user", async () => {
    const text = await lockOf(999_999_999, "1");
    writeFileSync(join(folder, LOCK), text);
    await (await lockFolder(folder, "test"))();
    writeFileSync(join(folder, LOCK), text);
    const kill = vi.spyOn(process, "kill").mockImplementation(() => {
      throw Object.assign(new Error("kill EPERM"), { code: "EPERM" });
    });
    try {
      await expect(lockFolder(folder, "test")).rejects.toThrow("is in use by process 999999999 on");
    } finally {
      kill.mockRestore();
      rmSync(join(folder, LOCK));
    }
  });

  test("is not the process that held the lock", async () => {
    const release = await lockFolder(folder, "test");
    const text = readFileSync(join(folder, LOCK), "utf8");
    await release();
    const { start } = JSON.parse(text);
    writeFileSync(join(folder, LOCK), text.replace(`"start":"${start}"`, '"start":"1"'));
    await (await lockFolder(folder, "test"))();
    expect(readdirSync(folder)).toEqual([]);
  });

  /** Runs a program as process 1 of a new namespace, as a container does; resolves to what it printed when it ended. */
  const asPid1 = (flags: readonly string[], program: string) =>
    new Promise<string>((resolve) => {
      const child = spawn("unshare", [
        "--pid",
        "--fork",
        ...flags,
        process.execPath,
        "--input-type=module",
        "-e",
        program,
      ]);
      let text = "";
      child.stdout.on("data", (data) => {
        text += data;
      });
      child.on("close", () => resolve(text));
    });
  const isRoot = spawnSync("unshare", ["--pid", "--fork", "--mount-proc", "true"]).status === 0;
  const module = JSON.stringify(new URL("./lock.ts", import.meta.url).href);
  // Node runs TypeScript without a flag from version 22.18 on.
  const runsTypeScript = Boolean((process.features as { typescript?: unknown }).typescript);

  test.skipIf(!isRoot || !runsTypeScript)(
    "in a container with the machine's /proc, whose namespace has the number of an earlier one",
    async () => {
      const program = `import { readFileSync, writeFileSync } from "node:fs";
        import { lockFolder } from ${module};
        const folder = ${JSON.stringify(folder)};
        const unlock = await lockFolder(folder, "test");
        const holder = JSON.parse(readFileSync(folder + "/${LOCK}", "utf8"));
        await unlock();
        // The machine's process 1, not the process that held the lock.
        const start = readFileSync("/proc/1/stat", "utf8").replace(/^.*\\) /s, "").split(" ")[19];
        writeFileSync(folder + "/${LOCK}", JSON.stringify({ ...holder, start }));
        await (await lockFolder(folder, "test"))();
        console.log("locked by", process.pid);`;
      expect(await asPid1([], program)).toBe("locked by 1\n");
      expect(readdirSync(folder)).toEqual([]);
    },
  );

  test.skipIf(!isRoot || !runsTypeScript).each([[["--mount-proc"]], [[]]])(
    "in a restarted container, also as process 1: unshare %j",
    async (flags) => {
      const program = `import { lockFolder } from ${module};
        const unlock = await lockFolder(${JSON.stringify(folder)}, "test", { interval: 100, limit: 2000 });
        console.log("locked by", process.pid);`;
      const killed = await asPid1(flags, `${program} process.kill(process.pid, "SIGKILL"); process.abort();`);
      expect(killed).toBe("locked by 1\n");
      expect(JSON.parse(readFileSync(join(folder, LOCK), "utf8")).pid).toBe(1);
      expect(await asPid1(flags, `${program} await unlock();`)).toBe("locked by 1\n");
      expect(readdirSync(folder)).toEqual([]);
    },
  );
});

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
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
  const got = tries.filter((one) => one.status === "fulfilled");
  expect(got.length).toBe(1);
  for (const one of got) await one.value();
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
    const got = tries.filter((one) => one.status === "fulfilled");
    expect(got.length).toBe(1);
    for (const one of got) await one.value();
    expect(readdirSync(folder)).toEqual([]);
  }
});

test("a lock of another machine stays", async () => {
  writeFileSync(join(folder, LOCK), JSON.stringify({ pid: 1, host: "elsewhere", doing: "training" }));
  await expect(lockFolder(folder, "x")).rejects.toThrow(/on elsewhere/);
  rmSync(join(folder, LOCK));
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

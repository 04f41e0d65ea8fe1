/** The queue of byte ranges: how many at once, in which order, what is joined, and what an error ends. */
import { expect, test } from "vitest";
import { queuedRanges } from "./queue.ts";

const FILE = Uint8Array.from({ length: 60_000 }, (_, n) => n % 251);

/** A source whose requests are answered by hand. */
function source(size = FILE.length) {
  const requests: { range: [number, number]; answer: () => void; fail: () => void }[] = [];
  let active = 0;
  let largest = 0;
  const bytes = queuedRanges(size, (offset, length) => {
    largest = Math.max(largest, ++active);
    return new Promise((resolve, reject) => {
      const done = () => active--;
      requests.push({
        range: [offset, length],
        answer: () => {
          done();
          resolve(FILE.slice(offset, offset + length));
        },
        fail: () => {
          done();
          reject(new Error("the server has ended"));
        },
      });
    });
  });
  return { bytes, requests, largest: () => largest };
}
const settle = () => new Promise((resolve) => setTimeout(resolve));
const parts = (offset: number, length: number) => FILE.slice(offset, offset + length);

test("2,000 reads: at most six requests at once, and each read gets its own bytes", async () => {
  const { bytes, requests, largest } = source();
  const places = Array.from({ length: 2000 }, (_, n) => [(n * 7919) % 59_000, 1 + (n % 90)] as const);
  const reads = places.map(([offset, length]) => bytes.read(offset, length));
  for (let n = 0; n < 10_000; n++) {
    await settle();
    const open = requests.splice(0);
    if (open.length === 0) break;
    for (const { answer } of open) answer();
  }
  const results = await Promise.all(reads);
  places.forEach(([offset, length], n) => {
    expect(results[n], `read ${n}`).toEqual(parts(offset, length));
  });
  expect(largest()).toBeLessThanOrEqual(6);
});

test("ranges that touch are one request; ranges far apart are not", async () => {
  const { bytes, requests } = source();
  const reads = [bytes.read(0, 100), bytes.read(40_000, 100), bytes.read(100, 100), bytes.read(300, 50)];
  await settle();
  expect(requests.map(({ range }) => range)).toEqual([
    [0, 350],
    [40_000, 100],
  ]);
  for (const { answer } of requests) answer();
  expect(await Promise.all(reads)).toEqual([
    parts(0, 100),
    parts(40_000, 100),
    parts(100, 100),
    parts(300, 50),
  ]);
});

test("while six are under way, the newest read goes next", async () => {
  const { bytes, requests } = source();
  const places = [0, 8000, 16_000, 24_000, 32_000, 40_000, 48_000, 56_000];
  const reads = places.map((offset) => bytes.read(offset, 10));
  await settle();
  expect(requests.length).toBe(6);
  void bytes.read(20_000, 10);
  requests[0].answer();
  await settle();
  expect(requests[6].range).toEqual([20_000, 10]);
  for (let n = 0; n < 4; n++) {
    for (const { answer } of requests) answer();
    await settle();
  }
  expect(await Promise.all(reads)).toEqual(places.map((offset) => parts(offset, 10)));
});

test("a read while another is under way does not wait for it", async () => {
  const { bytes, requests } = source();
  const first = bytes.read(0, 10);
  await settle();
  const second = bytes.read(30_000, 10);
  await settle();
  expect(requests.map(({ range }) => range)).toEqual([
    [0, 10],
    [30_000, 10],
  ]);
  for (const { answer } of requests) answer();
  expect(await Promise.all([first, second])).toEqual([parts(0, 10), parts(30_000, 10)]);
});

test("a request that fails rejects its reads and no other, and the queue goes on", async () => {
  const { bytes, requests } = source();
  const failed = [bytes.read(0, 10), bytes.read(10, 10)];
  const good = bytes.read(30_000, 10);
  await settle();
  for (const { range, fail, answer } of requests) (range[0] === 0 ? fail : answer)();
  for (const read of failed) await expect(read).rejects.toThrow("the server has ended");
  expect(await good).toEqual(parts(30_000, 10));
  const later = bytes.read(50, 5);
  await settle();
  requests.at(-1)!.answer();
  expect(await later).toEqual(parts(50, 5));
});

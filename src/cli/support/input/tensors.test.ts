import { expect, test } from "vitest";
import { namedThree } from "./tensors.ts";

test("a missing key is an error before any tensor is read", async () => {
  const read: string[] = [];
  const file = {
    kind: "npz",
    path: "large.npz",
    tensors: new Map([["q", {}]]),
    read: async (name: string) => read.push(name),
  };
  await expect(namedThree(file as unknown as Parameters<typeof namedThree>[0], {})).rejects.toThrow(
    'large.npz has no tensor "key" or "k"',
  );
  expect(read).toEqual([]);
});

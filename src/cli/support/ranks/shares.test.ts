/** Shares of a corpus: the documents of a process, from the option or from the environment. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { FormatError } from "../../../core/errors.ts";
import { UsageError } from "../line/command.ts";
import { type Document, documentsOf, type Share, shareOf } from "./shares.ts";

const folder = mkdtempSync(join(tmpdir(), "heed-shares-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("shareOf", () => {
  it("takes --shard I/N, or the whole", () => {
    expect(shareOf(undefined, {})).toEqual({ index: 0, count: 1 });
    expect(shareOf("3/64", {})).toEqual({ index: 3, count: 64 });
    for (const bad of ["64/64", "1/0", "a", "-1/2", "1/2/3", "4"])
      expect(() => shareOf(bad, {})).toThrow(UsageError);
  });

  it("takes the index from Open MPI, MPICH, Slurm arrays and Kubernetes Indexed Jobs", () => {
    expect(shareOf(undefined, { OMPI_COMM_WORLD_RANK: "2", OMPI_COMM_WORLD_SIZE: "8" })).toEqual({
      index: 2,
      count: 8,
    });
    expect(shareOf(undefined, { PMI_RANK: "1", PMI_SIZE: "4" })).toEqual({ index: 1, count: 4 });
    const array = {
      SLURM_ARRAY_TASK_ID: "7",
      SLURM_ARRAY_TASK_MIN: "1",
      SLURM_ARRAY_TASK_STEP: "2",
      SLURM_ARRAY_TASK_COUNT: "5",
    };
    expect(shareOf(undefined, array)).toEqual({ index: 3, count: 5 });
    expect(shareOf("64", { JOB_COMPLETION_INDEX: "63" })).toEqual({ index: 63, count: 64 });
    expect(() => shareOf(undefined, { JOB_COMPLETION_INDEX: "3" })).toThrow(/say of how many: --shard N/);
    expect(() => shareOf("2", { JOB_COMPLETION_INDEX: "2" })).toThrow(/from 0 to 1, got 2 of 2/);
    // The option decides.
    expect(shareOf("0/2", { PMI_RANK: "1", PMI_SIZE: "4" })).toEqual({ index: 0, count: 2 });
  });
});

describe("documentsOf", () => {
  const read = async (text: string, share: Share) => {
    const path = join(folder, "docs.jsonl");
    writeFileSync(path, text);
    const documents: Document[] = [];
    for await (const document of documentsOf(path, share)) documents.push(document);
    return documents;
  };

  it("every document is in one share, named by its id or its line", async () => {
    const text =
      '"one"\n\n{"text":"two","id":"doc-2"}\n{"text":"three","pair":"drei"}\n{"text":"four","id":4}';
    const shares = await Promise.all(
      [0, 1, 2].map(async (index) => {
        const path = join(folder, `docs${index}.jsonl`);
        writeFileSync(path, text);
        const documents: Document[] = [];
        for await (const document of documentsOf(path, { index, count: 3 })) documents.push(document);
        return documents;
      }),
    );
    expect(shares.map((share) => share.map(({ name }) => name))).toEqual([
      ["000001", "4"],
      ["doc-2"],
      ["000004"],
    ]);
    expect(shares[2][0]).toMatchObject({ text: "three", pair: "drei", line: 4 });
  });

  it("an invalid document is an error that names the line", async () => {
    const all = { index: 0, count: 1 };
    for (const [text, why] of [
      ['"a"\n{"txt":1}', /line 2: a document is a string or an object with a "text"/],
      ["{", /line 1: not JSON/],
      ['{"text":"a","id":"../b"}', /id "..\/b" cannot name a file/],
      ['{"text":"a","id":[1]}', /"id" must be a string or a number/],
    ] as const) {
      await expect(read(text, all)).rejects.toThrow(FormatError);
      await expect(read(text, all)).rejects.toThrow(why);
    }
    const missing = documentsOf(join(folder, "nothing.jsonl"), all);
    await expect(missing.next()).rejects.toThrow(/cannot read .*nothing.jsonl: no such file or directory/);
  });
});

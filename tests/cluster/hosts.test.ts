/** heed/cluster over a network: two hosts, as network namespaces with a link of 1 Gbit/s and 0.5 ms between them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { implementations, startRanks } from "../support/processes/mpi.ts";
import { makeHosts } from "../support/processes/namespaces.ts";

const openMpi = implementations().find(({ name, installed }) => name === "Open MPI" && installed);
const folder = mkdtempSync(join(tmpdir(), "heed-hosts-"));
const hosts = openMpi ? makeHosts(folder) : "Open MPI is missing";
afterAll(() => {
  if (typeof hosts !== "string") hosts.remove();
  rmSync(folder, { recursive: true, force: true });
});
process.stderr.write(
  typeof hosts === "string"
    ? `skipped: heed/cluster on two hosts, because ${hosts}\n`
    : `two hosts in network namespaces: ${hosts.network}\n`,
);

it.skipIf(typeof hosts === "string")(
  "ranks on two hosts compute the attention of one call, and the link carries the bytes of the formula",
  async () => {
    if (typeof hosts === "string" || !openMpi) throw new Error("no hosts");
    const [first, second] = hosts.addresses;
    const [before, repeatedBefore] = [hosts.sentBytes(), hosts.repeatedBytes()];
    const ended = await startRanks(
      {
        ...openMpi,
        launcher: hosts.onFirst([])[0],
        args: [
          ...[first, openMpi.launcher, ...openMpi.args, "--host", `${first}:1,${second}:1`],
          ...["--mca", "plm_rsh_agent", hosts.agent, "--mca", "btl", "tcp,self"],
          ...["--mca", "btl_tcp_if_include", `${first}/24`, "--mca", "oob_tcp_if_include", `${first}/24`],
        ],
      },
      2,
      "tests/cluster/two-hosts.ts",
    ).ended;
    expect(ended.status, ended.stderr).toBe(0);
    const printed = JSON.parse(ended.stdout);
    process.stderr.write(`${ended.stdout}`);
    expect(new Set(printed.hosts).size).toBe(2);
    expect(printed.bytes).toEqual({ gather: printed.formula, ring: printed.formula });
    // The link carries the counted bytes, headers (less than 10 % at 1448 bytes per packet) and the launcher's traffic.
    const sent = hosts.sentBytes()[0] - before[0];
    // A busy machine answers late, and TCP then sends segments again.
    const repeated = hosts.repeatedBytes()[0] - repeatedBefore[0];
    process.stderr.write(`${sent} bytes sent for ${printed.total}, at most ${repeated} of them again\n`);
    expect(sent).toBeGreaterThan(printed.total);
    expect(sent - repeated).toBeLessThan(1.1 * printed.total + 2 ** 20);
  },
  300_000,
);

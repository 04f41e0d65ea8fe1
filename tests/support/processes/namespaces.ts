/**
 * Two hosts on one machine: network namespaces joined by a pair of virtual Ethernet devices (veth) with the rate and delay of
 * a real network, and a script that starts commands in them as ssh does. Needs Linux, root and iproute2.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Two hosts. */
export interface Hosts {
  /** Addresses of the hosts; a launcher runs on the first. */
  readonly addresses: readonly [string, string];
  /** Their names, also those of the network namespaces. */
  readonly names: readonly string[];
  /** The script that starts a command on a host: `agent ADDRESS COMMAND…`. */
  readonly agent: string;
  /** A description of the network. */
  readonly network: string;
  /** A command line that runs on the first host. */
  onFirst(command: readonly string[]): readonly string[];
  /** Bytes that each host has sent so far, headers and acknowledgements included. */
  sentBytes(): [number, number];
  /** Upper limit of the bytes of `sentBytes` that TCP has sent more than once. */
  repeatedBytes(): [number, number];
  remove(): void;
}

/** Maximum bytes of a frame with one segment. */
const ETHERNET_FRAME = 1514;

const run = (...argv: readonly string[]): string | undefined => {
  const done = spawnSync(argv[0], argv.slice(1), { encoding: "utf8" });
  return done.status === 0 ? undefined : (done.error?.message ?? done.stderr.trim().split("\n")[0]);
};

/** Creates two hosts, or returns the reason if this machine does not allow it. */
export function makeHosts(folder: string): Hosts | string {
  if (process.platform !== "linux") return "network namespaces need Linux";
  if (process.getuid?.() !== 0) return "network namespaces need root";
  const id = process.pid.toString(36);
  const names = ["a", "b"].map((letter) => `heed${id}${letter}`);
  // Each process has another private range, so that two runs do not conflict.
  const net = `10.${64 + (process.pid % 128)}.${(process.pid >> 7) % 256}`;
  const addresses = [`${net}.1`, `${net}.2`] as const;
  const remove = () => {
    for (const name of names) run("ip", "netns", "del", name);
  };
  const steps: readonly (readonly string[])[] = [
    ...names.map((name) => ["ip", "netns", "add", name]),
    [
      "ip",
      "link",
      "add",
      names[0],
      "netns",
      names[0],
      "type",
      "veth",
      "peer",
      "name",
      names[1],
      "netns",
      names[1],
    ],
    ...names.flatMap((name, n) => [
      ["ip", "-n", name, "addr", "add", `${addresses[n]}/24`, "dev", name],
      ["ip", "-n", name, "link", "set", name, "up"],
      ["ip", "-n", name, "link", "set", "lo", "up"],
    ]),
  ];
  for (const step of steps) {
    const failure = run(...step);
    if (failure !== undefined) {
      remove();
      return `${step.join(" ")}: ${failure}`;
    }
  }
  const shape = (...how: readonly string[]) =>
    names.map((name) => run("tc", "-n", name, "qdisc", "add", "dev", name, "root", ...how)).find(Boolean);
  let network = "1 Gbit/s, 0.5 ms";
  if (shape("netem", "rate", "1gbit", "delay", "0.5ms") !== undefined) {
    for (const name of names) run("tc", "-n", name, "qdisc", "del", "dev", name, "root");
    network =
      shape("tbf", "rate", "1gbit", "burst", "128kb", "latency", "50ms") === undefined
        ? "1 Gbit/s; left out: the delay of 0.5 ms, because the kernel has no netem"
        : "left out: 1 Gbit/s and 0.5 ms, because the kernel has neither netem nor tbf";
  }
  const read = (name: string, file: string): string =>
    spawnSync("ip", ["netns", "exec", name, "cat", file], { encoding: "utf8" }).stdout;
  const eachHost = (measure: (name: string) => number) => names.map(measure) as [number, number];
  const agent = join(folder, "agent.sh");
  // Each host has another host name, because Open MPI uses it in the names of its files.
  writeFileSync(
    agent,
    `#!/bin/sh
case "$1" in ${addresses[0]}) name=${names[0]} ;; *) name=${names[1]} ;; esac
shift
exec ip netns exec $name unshare --uts sh -c "hostname $name; $*"
`,
  );
  chmodSync(agent, 0o755);
  return {
    addresses,
    names,
    agent,
    network,
    onFirst: (command) => [agent, addresses[0], ...command],
    sentBytes: () => eachHost((name) => Number(read(name, `/sys/class/net/${name}/statistics/tx_bytes`))),
    repeatedBytes: () =>
      eachHost((name) => {
        const [titles, values] = read(name, "/proc/net/snmp")
          .split("\n")
          .filter((line) => line.startsWith("Tcp:"))
          .map((line) => line.split(" "));
        return ETHERNET_FRAME * Number(values[titles.indexOf("RetransSegs")]);
      }),
    remove,
  };
}

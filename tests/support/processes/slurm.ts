/**
 * A Slurm cluster of two hosts on one machine (namespaces.ts). Each host is a process tree with its own host name, numbers of
 * processes and boot id, so that it can fail and start again. Needs Linux, root and Debian's Slurm.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { installPackages } from "./debian.mjs";
import type { Hosts } from "./namespaces.ts";

const PACKAGES = ["slurmctld", "slurmd", "slurm-client", "munge", "libpmix-dev"];
const PROGRAMS = ["/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/bin/sbatch", "/usr/sbin/munged"];

/** A cluster. */
export interface Slurm {
  /** Runs a command of Slurm, in `folder`, and returns what it printed. */
  run(folder: string, command: readonly string[], env?: Readonly<Record<string, string>>): string;
  /** Kills every process of a host, and starts it again when Slurm has noticed. */
  failHost(n: 0 | 1): Promise<void>;
  /** Waits until a job is queued again, and has it start two seconds later: by itself it starts two minutes later. */
  startQueued(id: string): Promise<void>;
  stop(): void;
}

/** Arguments that start a program on a host as process 1, with another boot id. */
const machine = (netns: string, name: string, bootId: string, program: string): string[] => [
  ...["nsenter", `--net=/run/netns/${netns}`],
  ...["unshare", "--uts", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c"],
  `hostname ${name} && mount --bind ${bootId} /proc/sys/kernel/random/boot_id && exec ${program}`,
];

/** Starts a cluster, or returns the reason if this machine has none. */
export async function startSlurm(hosts: Hosts, folder: string): Promise<Slurm | string> {
  installPackages(PACKAGES, PROGRAMS);
  const missing = PROGRAMS.find((program) => !existsSync(program));
  if (missing) return `${missing} is missing (apt-get install ${PACKAGES.join(" ")})`;
  const at = (name: string) => join(folder, name);
  const { names, addresses } = hosts;
  for (const name of ["state", ...names]) mkdirSync(at(name));
  writeFileSync(at("munge.key"), randomBytes(128), { mode: 0o600 });
  const munge = ["socket", "key-file", "pid-file", "log-file", "seed-file"].map(
    (name) => `--${name}=${at(`munge.${name.replace("-file", "")}`)}`,
  );
  const munged = spawnSync("/usr/sbin/munged", ["--force", ...munge], { encoding: "utf8" });
  if (munged.status !== 0) return `munged: ${munged.stderr.trim()}`;
  const conf = `ClusterName=heed
SlurmctldHost=${names[0]}(${addresses[0]})
SlurmUser=root
SlurmdUser=root
AuthInfo=socket=${at("munge.socket")}
StateSaveLocation=${at("state")}
SlurmdSpoolDir=${folder}/%n/spool
SlurmctldPidFile=${at("slurmctld.pid")}
SlurmdPidFile=${folder}/%n/slurmd.pid
SlurmdLogFile=${folder}/%n.log
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
KillWait=60
SlurmdTimeout=20
${names.map((name, n) => `NodeName=${name} NodeAddr=${addresses[n]} CPUs=1`).join("\n")}
PartitionName=all Nodes=${names.join()} Default=YES MaxTime=INFINITE
`;
  for (const name of names) {
    mkdirSync(at(`${name}-conf`));
    writeFileSync(at(`${name}-conf/slurm.conf`), conf);
    // With task/none Slurm makes no groups, but it looks for them.
    writeFileSync(at(`${name}-conf/cgroup.conf`), "CgroupPlugin=cgroup/v1\n");
    writeFileSync(at(`${name}-conf/mpi.conf`), `PMIxCliTmpDirBase=${at(name)}\n`);
  }
  const env = { ...process.env, SLURM_CONF: at(`${names[0]}-conf/slurm.conf`) };
  const started: ChildProcess[] = [];
  const start = (argv: readonly string[], name: string): ChildProcess => {
    const options = { env: { ...env, SLURM_CONF: at(`${name}-conf/slurm.conf`) }, detached: true };
    const child = spawn(argv[0], argv.slice(1), { stdio: "ignore", ...options });
    started.push(child);
    return child;
  };
  const boot = (n: number): ChildProcess => {
    rmSync(at(names[n]), { recursive: true });
    mkdirSync(at(names[n]));
    writeFileSync(at(`${names[n]}-boot`), `${randomUUID()}\n`);
    return start(machine(names[n], names[n], at(`${names[n]}-boot`), "slurmd -D -b"), names[n]);
  };
  const [netns, hostname] = [`--net=/run/netns/${names[0]}`, `hostname ${names[0]}; exec`];
  const log = `>${at("slurmctld.log")} 2>&1`;
  start(["nsenter", netns, "unshare", "--uts", "sh", "-c", `${hostname} slurmctld -D -i ${log}`], names[0]);
  const machines = [boot(0), boot(1)];
  const stop = () => {
    for (const child of started) child.kill("SIGKILL");
    process.kill(Number(readFileSync(at("munge.pid"), "utf8")));
  };
  const run: Slurm["run"] = (cwd, command, more = {}) => {
    const line = ["nsenter", netns, "unshare", "--uts", "sh", "-c", `${hostname} "$@"`, "sh", ...command];
    const done = spawnSync(line[0], line.slice(1), { cwd, env: { ...env, ...more }, encoding: "utf8" });
    return done.stdout + done.stderr;
  };
  for (let n = 0; ; n++) {
    if (run(folder, ["sinfo", "-h", "-o", "%D %t"]).trim() === "2 idle") break;
    if (n === 60) {
      const logs = names.map((name) => at(`${name}.log`)).filter((path) => existsSync(path));
      const last = logs.map((path) => readFileSync(path, "utf8").trim().split("\n").at(-1));
      stop();
      return `Slurm has not started within 30 s: ${last.join("; ")}`;
    }
    await wait(500);
  }
  return {
    run,
    async failHost(n) {
      machines[n].kill("SIGKILL");
      while (!run(folder, ["sinfo", "-h", "-n", names[n], "-o", "%t"]).startsWith("down")) await wait(500);
      machines[n] = boot(n);
    },
    async startQueued(id) {
      while (run(folder, ["squeue", "-h", "-j", id, "-o", "%T"]).trim() !== "PENDING") await wait(500);
      // A credential counts as revoked if it is of the second in which those of the job before were revoked.
      const refusal = run(folder, ["scontrol", "update", `JobId=${id}`, "StartTime=now+2"]);
      if (refusal !== "") throw new Error(`scontrol: ${refusal}`);
    },
    stop,
  };
}

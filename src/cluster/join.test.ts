/** Threads of a rank: its share of the cores, however the launcher binds ranks. */
import { afterEach, expect, it, vi } from "vitest";
import { localCluster } from "./communicator/local.ts";
import { joinCluster, shareOfCores } from "./join.ts";

afterEach(() => vi.unstubAllEnvs());

it.each([
  ["bound one by one", 8, (rank: number) => `a ${rank}`, 4, [4, 4, 4, 4, 4, 4, 4, 4]],
  ["bound as a whole to 8 cores", 8, () => "a 0-7", 8, [1, 1, 1, 1, 1, 1, 1, 1]],
  ["not bound", 4, () => "a", 16, [4, 4, 4, 4]],
  ["on two machines with other numbers of ranks", 3, (rank: number) => (rank < 2 ? "a" : "b"), 8, [4, 4, 8]],
  ["more than cores", 3, () => "a", 2, [1, 1, 1]],
  ["alone on a large machine", 1, () => "a", 64, [16]],
] as const)("ranks that are %s", async (_, size, cores, available, expected) => {
  const shares = await localCluster(size, (comm) => shareOfCores(comm, available, cores(comm.rank)));
  expect(shares).toEqual(expected);
});

it.each([
  ["2", undefined, undefined],
  [undefined, { timeout: "2" }, /timeout \(HEED_MPI_TIMEOUT\) must be a number of seconds ≥ 0, got "2"/],
  ["soon", undefined, /timeout \(HEED_MPI_TIMEOUT\) must be a number of seconds ≥ 0, got "soon"/],
  ["-1", undefined, /timeout \(HEED_MPI_TIMEOUT\) must be a number of seconds ≥ 0, got "-1"/],
  [undefined, { library: 5 }, /library must be "openmpi", "mpich", "mpi-abi" or a path, got 5/],
  [undefined, { threads: 0 }, /threads/],
  [undefined, { check: 1 }, /check/],
] as const)("a process without a launcher, HEED_MPI_TIMEOUT=%s, %j", async (timeout, options, message) => {
  for (const name of ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_STEP_NUM_TASKS", "HEED_MPI"])
    vi.stubEnv(name, undefined);
  vi.stubEnv("HEED_MPI_TIMEOUT", timeout);
  const joined = joinCluster(options as never);
  if (message) await expect(joined).rejects.toThrow(message);
  else expect(await joined).toMatchObject({ size: 1, engine: "local" });
});

it("a library that is not there, and a launcher's socket that is none, are errors that say what to do", async () => {
  vi.stubEnv("HEED_MPI", "/nowhere/libmpi.so");
  await expect(joinCluster()).rejects.toThrow(
    /no MPI library was found for HEED_MPI=\/nowhere\/libmpi\.so \(tried/,
  );
  const missing = joinCluster({ library: "/nowhere/other.so" });
  await expect(missing).rejects.toMatchObject({
    code: "mpi-library",
    fields: { tried: ["/nowhere/other.so"] },
  });
  for (const [name, value] of Object.entries({ PMI_RANK: "0", PMI_SIZE: "2", PMI_FD: "977" }))
    vi.stubEnv(name, value);
  await expect(joinCluster()).rejects.toThrow(/file descriptor 977 \(PMI_FD\), was not passed on/);
});

/**
 * The MPI library of this machine, called through koffi. This is the one file that knows how implementations differ: a
 * handle (communicator, datatype, operation) is an address of a symbol in Open MPI, a small integer in MPICH and its
 * relatives, and a fixed number in the standard ABI of MPI 5 (`libmpi_abi`, mpi-forum/mpi-abi-stubs `mpi.h`).
 */
import { HeedError, UnsupportedError } from "../core/errors.ts";

/** Which kind of library: how its handles look. */
export type MpiFamily = "mpi-abi" | "openmpi" | "mpich";

/** A C function, called on this thread or on another one. */
export interface CFunction {
  (...args: unknown[]): number;
  async(...args: unknown[]): void;
}

/** What `mpi.ts` calls, and the constants that it passes. */
export interface MpiBinding {
  readonly family: MpiFamily;
  /** File name the library was loaded by. */
  readonly library: string;
  /** First line of what `MPI_Get_library_version` says. */
  readonly version: string;
  readonly constants: MpiConstants;
  readonly functions: Readonly<Record<MpiName, CFunction>>;
}

type Handle = number | bigint;

/** Numbers and handles that differ between implementations. */
export interface MpiConstants {
  readonly world: Handle;
  readonly byte: Handle;
  readonly float: Handle;
  readonly double: Handle;
  readonly sum: Handle;
  readonly errorsReturn: Handle;
  readonly procNull: number;
  readonly threadSerialized: number;
  readonly threadMultiple: number;
}

/** Parameters of the functions, `H` for a handle. */
const SIGNATURES = {
  MPI_Initialized: ["_Out_ int *"],
  MPI_Finalized: ["_Out_ int *"],
  MPI_Init_thread: ["void *", "void *", "int", "_Out_ int *"],
  MPI_Finalize: [],
  MPI_Abort: ["H", "int"],
  MPI_Comm_rank: ["H", "_Out_ int *"],
  MPI_Comm_size: ["H", "_Out_ int *"],
  MPI_Comm_set_errhandler: ["H", "H"],
  MPI_Error_string: ["int", "void *", "_Out_ int *"],
  MPI_Barrier: ["H"],
  MPI_Sendrecv: ["void *", "int", "H", "int", "int", "void *", "int", "H", "int", "int", "H", "void *"],
  MPI_Get_count: ["void *", "H", "_Out_ int *"],
  MPI_Allgatherv: ["void *", "int", "H", "void *", "void *", "void *", "H", "H"],
  MPI_Allreduce: ["void *", "void *", "int", "H", "H", "H"],
} as const;

export type MpiName = keyof typeof SIGNATURES;

/** The part of koffi that is used. */
interface Koffi {
  load(path: string, options?: { global?: boolean }): KoffiLibrary;
  address(pointer: unknown): bigint;
  config(change: { async_stack_size: number }): unknown;
}
interface KoffiLibrary {
  func(name: string, result: string, parameters: readonly string[]): CFunction;
  symbol(name: string, type: string): unknown;
}

/** File names tried, in order, for each family. The first is Linux's; the others are macOS's. */
const NAMES: Readonly<Record<MpiFamily, readonly string[]>> = {
  "mpi-abi": [
    "libmpi_abi.so.1",
    "libmpi_abi.so.0",
    "libmpi_abi.so",
    "libmpi_abi.1.dylib",
    "libmpi_abi.dylib",
  ],
  openmpi: ["libmpi.so.40", "libmpi.40.dylib"],
  mpich: ["libmpi.so.12", "libmpich.so.12", "libmpi.12.dylib", "libmpich.12.dylib"],
};

/** What installs an MPI library and koffi. */
export const INSTALL = "apt-get install openmpi-bin libopenmpi3 && npm install koffi";

/**
 * Loads koffi and an MPI library.
 *
 * @param wanted the file name or path that `HEED_MPI` gives, or `openmpi`, `mpich`, `mpi-abi`; undefined: the first found
 * @param launcher the family whose launcher started this process, which is tried first
 * @throws UnsupportedError `mpi-library` or `mpi-koffi`, with the command that installs what is missing
 */
export async function loadMpi(
  wanted: string | undefined,
  launcher: MpiFamily | undefined,
): Promise<MpiBinding> {
  const koffi = await loadKoffi();
  const families: readonly MpiFamily[] =
    launcher === "mpich" ? ["mpich", "mpi-abi"] : launcher ? [launcher] : ["mpi-abi", "openmpi", "mpich"];
  const names =
    wanted === undefined
      ? families.flatMap((family) => NAMES[family])
      : wanted in NAMES
        ? NAMES[wanted as MpiFamily]
        : [wanted];
  const failures: string[] = [];
  for (const name of names) {
    let library: KoffiLibrary;
    try {
      // Global: Open MPI's components look their symbols up in the process.
      library = koffi.load(name, { global: true });
    } catch (error) {
      failures.push(`${name}: ${error instanceof Error ? error.message : error}`);
      continue;
    }
    return bind(koffi, library, name);
  }
  throw new UnsupportedError(
    "mpi-library",
    `heed/cluster: no MPI library was found${wanted === undefined ? "" : ` for HEED_MPI=${wanted}`} (tried ${names.join(", ")}); install one: ${INSTALL}; or give its path in HEED_MPI`,
    { tried: names, failures },
  );
}

/** Stack of a call on another thread. koffi's own 128 KiB are too few: MPI_Allreduce of MPICH 4.0 overflows them (measured). */
const STACK = 8 * 2 ** 20;

/** What `heed doctor` says of MPI: the library that a program would use here, or why there is none. */
export async function describeMpi(
  wanted: string | undefined,
  launcher: MpiFamily | undefined,
): Promise<{ readonly found: boolean; readonly text: string }> {
  try {
    const { version, library } = await loadMpi(wanted, launcher);
    return { found: true, text: `${version}, ${library}` };
  } catch (error) {
    return { found: false, text: error instanceof Error ? error.message : String(error) };
  }
}

async function loadKoffi(): Promise<Koffi> {
  // A name in a variable: bundlers must not look for an optional dependency.
  const name = "koffi";
  try {
    const module = (await import(name)) as { default?: Koffi } & Koffi;
    const koffi = module.default ?? module;
    koffi.config({ async_stack_size: STACK });
    return koffi;
  } catch (cause) {
    const error = new UnsupportedError(
      "mpi-koffi",
      `heed/cluster: MPI is called through the package koffi, which is not installed or does not run here; install it: npm install koffi`,
    );
    throw Object.assign(error, { cause });
  }
}

/** Recognizes the family by the symbols a library has and makes its functions. */
function bind(koffi: Koffi, library: KoffiLibrary, name: string): MpiBinding {
  const address = (symbol: string): bigint | undefined => {
    try {
      return koffi.address(library.symbol(symbol, "char"));
    } catch {
      return undefined;
    }
  };
  const ompi = address("ompi_mpi_comm_world");
  const family: MpiFamily =
    ompi !== undefined ? "openmpi" : address("MPI_Abi_get_version") && isAbi(name) ? "mpi-abi" : "mpich";
  const version = versionOf(library, name);
  if (family === "mpich" && !/MPICH|Intel|MVAPICH|Cray/i.test(version))
    throw new UnsupportedError(
      "mpi-library",
      `heed/cluster: ${name} is an MPI library of a kind that heed does not know ("${version}"); known are Open MPI, MPICH and its relatives, and the standard ABI of MPI 5 (libmpi_abi)`,
      { library: name, version },
    );
  const handle = family === "mpich" ? "int" : "intptr_t";
  const functions = {} as Record<MpiName, CFunction>;
  for (const [symbol, parameters] of Object.entries(SIGNATURES) as [MpiName, readonly string[]][])
    functions[symbol] = library.func(
      symbol,
      "int",
      parameters.map((p) => (p === "H" ? handle : p)),
    );
  const symbolOf = (symbol: string): bigint => {
    const at = address(symbol);
    if (at === undefined)
      throw new UnsupportedError("mpi-library", `heed/cluster: ${name} has no symbol ${symbol}`);
    return at;
  };
  return { family, library: name, version, constants: constantsOf(family, symbolOf), functions };
}

const isAbi = (name: string): boolean => /mpi_abi/.test(name);

/** Numbers of each family: MPICH `mpi.h`, Open MPI `mpi.h`, and `mpi.h` of the standard ABI. */
function constantsOf(family: MpiFamily, symbol: (name: string) => bigint): MpiConstants {
  switch (family) {
    case "openmpi":
      return {
        world: symbol("ompi_mpi_comm_world"),
        byte: symbol("ompi_mpi_byte"),
        float: symbol("ompi_mpi_float"),
        double: symbol("ompi_mpi_double"),
        sum: symbol("ompi_mpi_op_sum"),
        errorsReturn: symbol("ompi_mpi_errors_return"),
        procNull: -2,
        threadSerialized: 2,
        threadMultiple: 3,
      };
    case "mpich":
      return {
        world: 0x44000000,
        byte: 0x4c00010d,
        float: 0x4c00040a,
        double: 0x4c00080b,
        sum: 0x58000003,
        errorsReturn: 0x54000001,
        procNull: -1,
        threadSerialized: 2,
        threadMultiple: 3,
      };
    case "mpi-abi":
      return {
        world: 0x101,
        byte: 0x247,
        float: 0x210,
        double: 0x214,
        sum: 0x21,
        errorsReturn: 0x143,
        procNull: -3,
        threadSerialized: 2048,
        threadMultiple: 4096,
      };
  }
}

/** Longest text of any family (MPI_MAX_LIBRARY_VERSION_STRING). */
const TEXT = 8192;

function versionOf(library: KoffiLibrary, name: string): string {
  let ask: CFunction;
  try {
    ask = library.func("MPI_Get_library_version", "int", ["void *", "_Out_ int *"]);
  } catch (cause) {
    const error = new UnsupportedError(
      "mpi-library",
      `heed/cluster: ${name} is not an MPI library: it has no MPI_Get_library_version`,
    );
    throw Object.assign(error, { cause });
  }
  return readText((buffer, length) => ask(buffer, length))
    .split("\n")[0]
    .trim();
}

/** A text that a C function writes. */
export function readText(fill: (buffer: Uint8Array, length: [number]) => number): string {
  const buffer = new Uint8Array(TEXT);
  const length: [number] = [0];
  fill(buffer, length);
  return new TextDecoder().decode(buffer.subarray(0, length[0])).replaceAll("\t", " ").replace(/\0+$/, "");
}

/** Throws where a function did not succeed. */
export function checkCode(binding: MpiBinding, name: string, code: number): void {
  if (code === 0) return;
  const text = readText((buffer, length) => binding.functions.MPI_Error_string(code, buffer, length));
  throw new HeedError("mpi-error", `heed/cluster: ${name} failed: ${text} (${binding.version})`, { code });
}

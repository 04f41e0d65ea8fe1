/**
 * The MPI library of this machine, called through koffi or node:ffi (`foreign.ts`). Only this file depends on the
 * implementation: a handle (communicator, datatype, operation) is an address of a symbol in Open MPI, a small integer in MPICH and its
 * relatives, and a fixed number in the standard ABI of MPI 5 (`libmpi_abi`, mpi-forum/mpi-abi-stubs `mpi.h`).
 */
import { HeedError, messageOf, UnsupportedError } from "../../core/errors.ts";
import type { ForeignFunction, ForeignInterface, ForeignLibrary, Parameter } from "./foreign.ts";
import { loadForeign } from "./koffi.ts";

/** The kind of library, by its handles. */
export type MpiFamily = "mpi-abi" | "openmpi" | "mpich";

/** The functions that `mpi.ts` calls, and the constants that it passes. */
export interface MpiBinding {
  readonly family: MpiFamily;
  /** The foreign function interface. */
  readonly ffi: ForeignInterface["name"];
  /** File name of the library. */
  readonly library: string;
  /** First line of `MPI_Get_library_version`. */
  readonly version: string;
  readonly constants: MpiConstants;
  readonly functions: Readonly<Record<MpiName, ForeignFunction>>;
  /** The parameter type of a handle. */
  readonly handle: Parameter;
  /** Bytes of an MPI_Request, and of an MPI_Message. */
  readonly requestBytes: number;
  /** Address of a view's first byte. */
  readonly addressOf: ForeignInterface["addressOf"];
  /** Linux: keeps libraries loaded until the process ends, even if others close them. */
  keepLoaded(paths: readonly string[]): void;
}

/** Linux's flags RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE. */
const KEEP = 0x1006;

type Handle = number | bigint;

/** Constants that differ between implementations. */
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

/** Parameters of the functions; the type of a handle depends on the family. */
const SIGNATURES = {
  MPI_Initialized: ["int-out"],
  MPI_Finalized: ["int-out"],
  MPI_Init_thread: ["pointer", "pointer", "int", "int-out"],
  MPI_Finalize: [],
  MPI_Abort: ["handle", "int"],
  MPI_Comm_rank: ["handle", "int-out"],
  MPI_Comm_size: ["handle", "int-out"],
  MPI_Comm_set_errhandler: ["handle", "handle"],
  MPI_Error_string: ["int", "pointer", "int-out"],
  MPI_Isend: ["pointer", "int", "handle", "int", "int", "handle", "pointer"],
  MPI_Improbe: ["int", "int", "handle", "int-out", "pointer", "pointer"],
  MPI_Mrecv: ["pointer", "int", "handle", "pointer", "pointer"],
  MPI_Test: ["pointer", "int-out", "pointer"],
  MPI_Wait: ["pointer", "pointer"],
  MPI_Get_count: ["pointer", "handle", "int-out"],
  MPI_Allgatherv: ["pointer", "int", "handle", "pointer", "pointer", "pointer", "handle", "handle"],
  MPI_Bcast: ["pointer", "int", "handle", "int", "handle"],
  MPI_Alltoallv: [
    "pointer",
    "pointer",
    "pointer",
    "handle",
    "pointer",
    "pointer",
    "pointer",
    "handle",
    "handle",
  ],
  MPI_Allreduce: ["pointer", "pointer", "int", "handle", "handle", "handle"],
} as const satisfies Readonly<Record<string, readonly (Parameter | "handle")[]>>;

export type MpiName = keyof typeof SIGNATURES;

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

/** The command that installs an MPI library and koffi. */
const INSTALL = "apt-get install openmpi-bin libopenmpi3 && npm install koffi";

/**
 * Loads an MPI library, called through koffi or node:ffi.
 *
 * @param wanted the file name or path that `HEED_MPI` gives, or `openmpi`, `mpich`, `mpi-abi`; undefined: the first found
 * @param launcher the family whose launcher started this process, which is tried first
 * @param foreign the value of HEED_FFI, `koffi` or `node:ffi`; undefined: koffi where it is installed
 * @param prefers the family that is tried first where `launcher` is undefined
 * @throws UnsupportedError `mpi-library` or `mpi-koffi`, with the command that installs what is missing
 */
export async function loadMpi(
  wanted: string | undefined,
  launcher: MpiFamily | undefined,
  foreign?: string,
  prefers?: MpiFamily,
): Promise<MpiBinding> {
  const ffi = await loadForeign(foreign);
  const families: readonly MpiFamily[] =
    launcher === "mpich"
      ? ["mpich", "mpi-abi"]
      : launcher
        ? [launcher]
        : prefers === "mpich"
          ? ["mpich", "mpi-abi", "openmpi"]
          : ["mpi-abi", "openmpi", "mpich"];
  const names =
    wanted === undefined
      ? families.flatMap((family) => NAMES[family])
      : wanted in NAMES
        ? NAMES[wanted as MpiFamily]
        : [wanted];
  // UCX, over which Debian's MPICH sends, takes SIGHUP for its debug output, unless this names no signal.
  process.env.UCX_DEBUG_SIGNO ??= "0";
  const failures: string[] = [];
  for (const name of names) {
    let library: ForeignLibrary;
    try {
      library = ffi.load(name);
    } catch (error) {
      failures.push(`${name}: ${error instanceof Error ? error.message : error}`);
      continue;
    }
    return bind(ffi, library, name);
  }
  throw new UnsupportedError(
    "mpi-library",
    `heed/cluster: no MPI library was found${wanted === undefined ? "" : ` for HEED_MPI=${wanted}`} (tried ${names.join(", ")}); install one: ${INSTALL}; or give its path in HEED_MPI`,
    { tried: names, failures },
  );
}

/** The line of `heed doctor` about MPI: the library that a program would use here, or the reason why there is none. */
export async function describeMpi(
  wanted: string | undefined,
  launcher: MpiFamily | undefined,
  foreign?: string,
): Promise<{ readonly available: boolean; readonly text: string }> {
  try {
    const { version, library, ffi } = await loadMpi(wanted, launcher, foreign);
    return { available: true, text: `${version}, ${library}, called through ${ffi}` };
  } catch (error) {
    return { available: false, text: messageOf(error) };
  }
}

/** Detects the family by the symbols of a library, and binds its functions. */
function bind(ffi: ForeignInterface, library: ForeignLibrary, name: string): MpiBinding {
  const ompi = library.address("ompi_mpi_comm_world");
  const family: MpiFamily =
    ompi !== undefined
      ? "openmpi"
      : library.address("MPI_Abi_get_version") && isAbi(name)
        ? "mpi-abi"
        : "mpich";
  const version = versionOf(library, name);
  if (family === "mpich" && !/MPICH|Intel|MVAPICH|Cray/i.test(version))
    throw new UnsupportedError(
      "mpi-library",
      `heed/cluster: ${name} is an unsupported MPI library ("${version}"); supported are Open MPI, MPICH and its relatives, and the standard ABI of MPI 5 (libmpi_abi)`,
      { library: name, version },
    );
  const handle: Parameter = family === "mpich" ? "int" : "address";
  const functions = {} as Record<MpiName, ForeignFunction>;
  for (const [symbol, parameters] of Object.entries(SIGNATURES) as [
    MpiName,
    readonly (Parameter | "handle")[],
  ][])
    functions[symbol] = library.func(
      symbol,
      parameters.map((p) => (p === "handle" ? handle : p)),
    );
  const symbolOf = (symbol: string): bigint => {
    const at = library.address(symbol);
    if (at === undefined)
      throw new UnsupportedError("mpi-library", `heed/cluster: ${name} has no symbol ${symbol}`);
    return at;
  };
  const constants = constantsOf(family, symbolOf);
  const keepLoaded = (paths: readonly string[]) => {
    const dlopen = ffi.load(null).func("dlopen", ["pointer", "int"]);
    for (const path of paths) dlopen(new TextEncoder().encode(`${path}\0`), KEEP);
  };
  return {
    family,
    ffi: ffi.name,
    library: name,
    version,
    constants,
    functions,
    handle,
    requestBytes: handle === "int" ? 4 : 8,
    addressOf: ffi.addressOf,
    keepLoaded,
  };
}

const isAbi = (name: string): boolean => /mpi_abi/.test(name);

/** Constants of each family: MPICH `mpi.h`, Open MPI `mpi.h`, and `mpi.h` of the standard ABI. */
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

function versionOf(library: ForeignLibrary, name: string): string {
  let ask: ForeignFunction;
  try {
    ask = library.func("MPI_Get_library_version", ["pointer", "int-out"]);
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

/** The text that a C function writes. */
function readText(fill: (buffer: Uint8Array, length: [number]) => number): string {
  const buffer = new Uint8Array(TEXT);
  const length: [number] = [0];
  fill(buffer, length);
  return new TextDecoder().decode(buffer.subarray(0, length[0])).replaceAll("\t", " ").replace(/\0+$/, "");
}

/** Throws unless a function succeeded. */
export function checkCode(binding: MpiBinding, name: string, code: number): void {
  if (code === 0) return;
  const text = readText((buffer, length) => binding.functions.MPI_Error_string(code, buffer, length));
  throw new HeedError("mpi-error", `heed/cluster: ${name} failed: ${text} (${binding.version})`, { code });
}

/**
 * Calls MPI_Finalize and keeps all libraries loaded. MPI_Finalize of Open MPI unloads its components, but threads that have
 * called MPI still own thread-local data of them: a process crashed when its threads ended (Open MPI 4.1 over TCP, measured).
 */
export function finalize(binding: MpiBinding): number {
  if (process.platform === "linux") binding.keepLoaded(loadedLibraries());
  return binding.functions.MPI_Finalize();
}

/** Paths of the shared libraries of this process. */
function loadedLibraries(): string[] {
  const maps = process.getBuiltinModule("node:fs").readFileSync("/proc/self/maps", "utf8");
  return [...new Set(maps.match(/\/\S+\.so(\.\S+)?$/gm) ?? [])];
}

/**
 * Python's pickle, for checkpoints of PyTorch: a reader that builds dictionaries, lists, numbers, texts and descriptions of
 * tensors, and nothing else. A pickle is a program that may call any function of Python; here every function that is not one of
 * those that rebuild a tensor is refused by its name, and no code is run. Opcodes: Python's Lib/pickletools.py; how tensors are
 * stored: torch/serialization.py and torch/_utils.py.
 */
import type { FileDType } from "../element.ts";
import { BytesEnd } from "../growing.ts";
import { MAX_RANK, quote, type Refuse, utf8 } from "../refuse.ts";

/** A storage: the numbers of one or more tensors. */
export class TorchStorage {
  readonly dtype: FileDType;
  /** Its name among the storages of the file. */
  readonly key: string;
  /** Number of elements. */
  readonly length: number;

  constructor(dtype: FileDType, key: string, length: number) {
    this.dtype = dtype;
    this.key = key;
    this.length = length;
  }
}

/** A tensor: a view of a storage. */
export class TorchTensor {
  readonly storage: TorchStorage;
  readonly offset: number;
  readonly shape: readonly number[];
  readonly strides: readonly number[];

  constructor(storage: TorchStorage, offset: number, shape: readonly number[], strides: readonly number[]) {
    this.storage = storage;
    this.offset = offset;
    this.shape = shape;
    this.strides = strides;
  }
}

/** A function or class that a pickle names. */
class Name {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** What a pickle of tensors holds. A dictionary is a Map; tuples and lists are arrays. */
export type Pickled =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | Name
  | TorchStorage
  | TorchTensor
  | Pickled[]
  | Map<Pickled, Pickled>;

const STORAGES: Readonly<Record<string, FileDType>> = {
  FloatStorage: "float32",
  DoubleStorage: "float64",
  HalfStorage: "float16",
  BFloat16Storage: "bfloat16",
  LongStorage: "int64",
  IntStorage: "int32",
  ShortStorage: "int16",
  CharStorage: "int8",
  ByteStorage: "uint8",
  BoolStorage: "bool",
};
/** The functions that a checkpoint of tensors calls; `new` is the class of the object that it makes. */
const DICTIONARY = "collections.OrderedDict";
const TENSOR = "torch._utils._rebuild_tensor_v2";
const PARAMETER = "torch._utils._rebuild_parameter";
const ALLOWED: ReadonlySet<string> = new Set([
  DICTIONARY,
  TENSOR,
  PARAMETER,
  "torch.Size",
  ...Object.keys(STORAGES).map((name) => `torch.${name}`),
]);

/** Elements that one pickle may build: a checkpoint has a few for each tensor. */
const MAX_STEPS = 2 ** 24;
const MARK: unique symbol = Symbol("mark");
type Stacked = Pickled | typeof MARK;

// long: one opcode a case, over one stack
/** Reads one pickle. Throws `BytesEnd` where the bytes end inside it, a FormatError or an UnsupportedError for what it may not hold. */
export function readPickle(
  bytes: Uint8Array,
  from: number,
  refuse: Refuse,
): { readonly value: Pickled; readonly end: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const memo = new Map<number, Pickled>();
  const stack: Stacked[] = [];
  let at = from;
  const no = (what: string): never => refuse("pickle", at, what);
  const advance = (length: number): number => {
    if (length < 0 || !Number.isSafeInteger(length)) no(`a length of ${length}`);
    if (at + length > bytes.length) throw new BytesEnd();
    at += length;
    return at - length;
  };
  const part = (length: number) => {
    const start = advance(length);
    return bytes.subarray(start, start + length);
  };
  const text = (length: number): string => utf8(part(length)) ?? no("a text that is not UTF-8");
  const line = (): string => {
    const end = bytes.indexOf(10, at);
    if (end < 0) throw new BytesEnd();
    const result = text(end - at);
    at++;
    return result;
  };
  const u64 = () => {
    const start = advance(8);
    return view.getUint32(start, true) + view.getUint32(start + 4, true) * 2 ** 32;
  };
  const pop = (): Pickled => {
    const top = stack.length === 0 ? MARK : (stack.pop() as Stacked);
    return top === MARK ? no("an opcode takes a value from an empty stack") : top;
  };
  const top = (): Pickled => {
    const value = pop();
    stack.push(value);
    return value;
  };
  const toMark = (): Pickled[] => {
    const place = stack.lastIndexOf(MARK);
    if (place < 0) no("an opcode needs a mark, and there is none");
    const values = stack.splice(place) as Pickled[];
    return values.slice(1);
  };
  const dictionary = (): Map<Pickled, Pickled> => {
    const target = top();
    return target instanceof Map ? target : no("entries are added to something that is no dictionary");
  };
  const put = (items: readonly Pickled[]): void => {
    if (items.length % 2 !== 0) no("a dictionary has a key without a value");
    const target = dictionary();
    for (let i = 0; i < items.length; i += 2) target.set(items[i], items[i + 1]);
  };
  const list = (): Pickled[] => {
    const target = top();
    return Array.isArray(target) ? target : no("items are added to something that is no list");
  };
  const named = (name: string): Name =>
    ALLOWED.has(name)
      ? new Name(name)
      : refuse(
          "pickle-code",
          at,
          `the pickle calls ${quote(name)}, which a file of tensors does not need; heed runs no code of a file. Convert it where you trust it: torch.save(model.state_dict(), PATH), or safetensors.torch.save_file`,
          undefined,
          { name },
        );
  const remember = (index: number) => memo.set(index, top());
  const recall = (index: number) => {
    const value = memo.get(index);
    stack.push(value === undefined ? no(`it recalls value ${index}, which it has not stored`) : value);
  };
  const long = (length: number): number | bigint => {
    let value = 0n;
    const digits = part(length);
    for (let i = length - 1; i >= 0; i--) value = (value << 8n) | BigInt(digits[i]);
    if (length > 0 && digits[length - 1] >= 128) value -= 1n << BigInt(8 * length);
    const narrow = Number(value);
    return Number.isSafeInteger(narrow) ? narrow : value;
  };

  for (let step = 0; step < MAX_STEPS; step++) {
    const code = bytes[advance(1)];
    switch (code) {
      case 0x80: // PROTO
        if (bytes[advance(1)] > 5) no("a pickle of a protocol above 5");
        break;
      case 0x95: // FRAME
        u64();
        break;
      case 0x2e: // STOP
        return { value: pop(), end: at };
      case 0x28: // MARK
        stack.push(MARK);
        break;
      case 0x30: // POP
        pop();
        break;
      case 0x4e: // NONE
        stack.push(null);
        break;
      case 0x88: // NEWTRUE
      case 0x89: // NEWFALSE
        stack.push(code === 0x88);
        break;
      case 0x4a: // BININT
        stack.push(view.getInt32(advance(4), true));
        break;
      case 0x4b: // BININT1
        stack.push(bytes[advance(1)]);
        break;
      case 0x4d: // BININT2
        stack.push(view.getUint16(advance(2), true));
        break;
      case 0x8a: // LONG1
        stack.push(long(bytes[advance(1)]));
        break;
      case 0x47: // BINFLOAT
        stack.push(view.getFloat64(advance(8)));
        break;
      case 0x58: // BINUNICODE
        stack.push(text(view.getUint32(advance(4), true)));
        break;
      case 0x8c: // SHORT_BINUNICODE
        stack.push(text(bytes[advance(1)]));
        break;
      case 0x8d: // BINUNICODE8
        stack.push(text(u64()));
        break;
      case 0x55: // SHORT_BINSTRING
      case 0x43: // SHORT_BINBYTES
        stack.push(part(bytes[advance(1)]));
        break;
      case 0x54: // BINSTRING
      case 0x42: // BINBYTES
        stack.push(part(view.getUint32(advance(4), true)));
        break;
      case 0x7d: // EMPTY_DICT
        stack.push(new Map());
        break;
      case 0x5d: // EMPTY_LIST
      case 0x29: // EMPTY_TUPLE
        stack.push([]);
        break;
      case 0x74: // TUPLE
        stack.push(toMark());
        break;
      case 0x85: // TUPLE1, TUPLE2, TUPLE3
      case 0x86:
      case 0x87:
        stack.push(Array.from({ length: code - 0x84 }, pop).reverse());
        break;
      case 0x61: {
        // APPEND
        const item = pop();
        list().push(item);
        break;
      }
      case 0x65: {
        // APPENDS
        const items = toMark();
        const target = list();
        for (const item of items) target.push(item);
        break;
      }
      case 0x73: {
        // SETITEM
        const [value, key] = [pop(), pop()];
        put([key, value]);
        break;
      }
      case 0x75: // SETITEMS
        put(toMark());
        break;
      case 0x71: // BINPUT
        remember(bytes[advance(1)]);
        break;
      case 0x72: // LONG_BINPUT
        remember(view.getUint32(advance(4), true));
        break;
      case 0x94: // MEMOIZE
        remember(memo.size);
        break;
      case 0x68: // BINGET
        recall(bytes[advance(1)]);
        break;
      case 0x6a: // LONG_BINGET
        recall(view.getUint32(advance(4), true));
        break;
      case 0x63: // GLOBAL
        stack.push(named(`${line()}.${line()}`));
        break;
      case 0x93: {
        // STACK_GLOBAL
        const [name, module] = [pop(), pop()];
        stack.push(named(`${String(module)}.${String(name)}`));
        break;
      }
      case 0x51: // BINPERSID
        stack.push(storageOf(pop(), no));
        break;
      case 0x52: // REDUCE
      case 0x81: {
        // NEWOBJ
        const [values, callee] = [pop(), pop()];
        if (!(callee instanceof Name && Array.isArray(values)))
          return no("a call of something that is no function");
        stack.push(called(callee.text, values, no));
        break;
      }
      case 0x62: {
        // BUILD: attributes of a dictionary or a tensor, such as the versions that a state_dict notes.
        const state = pop();
        if (!(top() instanceof Map) && state !== null)
          no("it sets attributes of something that is no dictionary");
        break;
      }
      default:
        no(`opcode 0x${code.toString(16).padStart(2, "0")}, which a file of tensors does not need`);
    }
  }
  return no(`more than ${MAX_STEPS} opcodes`);
}

/** The storage of a persistent id: ("storage", class, key, device, number of elements). */
function storageOf(id: Pickled, no: (what: string) => never): TorchStorage {
  if (!Array.isArray(id) || id[0] !== "storage") return no("a persistent id that is no storage");
  const [, kind, key, , length] = id;
  const dtype = kind instanceof Name ? STORAGES[kind.text.replace(/^torch\./, "")] : undefined;
  if (dtype === undefined) return no("a storage of an unknown class");
  if (typeof key !== "string" || !/^\w{1,32}$/.test(key)) return no("a storage without a key");
  if (!isSize(length)) return no("a storage without a number of elements");
  return new TorchStorage(dtype, key, length);
}

/** The result of an allowed call. */
function called(name: string, values: readonly Pickled[], no: (what: string) => never): Pickled {
  if (name === DICTIONARY) {
    const [entries] = values;
    const map = new Map<Pickled, Pickled>();
    if (Array.isArray(entries))
      for (const entry of entries) {
        if (!Array.isArray(entry) || entry.length !== 2)
          return no("a dictionary of something other than pairs");
        map.set(entry[0], entry[1]);
      }
    return map;
  }
  if (name === "torch.Size") return [...values];
  if (name === PARAMETER) {
    const [tensor] = values;
    return tensor instanceof TorchTensor ? tensor : no("a parameter that is no tensor");
  }
  if (name !== TENSOR) return no(`a call of ${quote(name)}`);
  const [storage, offset, shape, strides] = values;
  if (!(storage instanceof TorchStorage)) return no("a tensor without a storage");
  if (!(isSize(offset) && isSizes(shape) && isSizes(strides) && shape.length === strides.length))
    return no("a tensor whose offset, shape or strides are not lists of integers ≥ 0");
  if (shape.length > MAX_RANK) return no(`a tensor of ${shape.length} axes`);
  const last = shape.reduce((sum, n, axis) => sum + (n - 1) * strides[axis], offset);
  if (!shape.includes(0) && !(last < storage.length)) return no("a tensor reaches beyond its storage");
  return new TorchTensor(storage, offset, shape, strides);
}

const isSize = (value: Pickled | undefined): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
const isSizes = (value: Pickled | undefined): value is number[] =>
  Array.isArray(value) && value.every(isSize);

/**
 * The requests for byte ranges of one address: at most six at once, as many as a browser opens to a server of HTTP/1.1. The newest read
 * goes first, because it is of what is on screen now; reads that wait and whose ranges touch it are joined with it.
 */
/** Requests at once. */
const AT_ONCE = 6;
/** Bytes between two ranges that are requested with them rather than apart. */
const GAP = 4096;
/** The largest number of bytes of joined ranges. */
const JOINED = 2 ** 22;

/** A file that is read by requests; a `ByteSource`. */
export interface RequestSource {
  readonly size: number;
  read(offset: number, length: number): Promise<Uint8Array>;
}

interface Read {
  readonly from: number;
  readonly to: number;
  readonly resolve: (bytes: Uint8Array) => void;
  readonly reject: (error: unknown) => void;
}

/** A byte source over requests; `request` returns exactly the bytes of a range. */
export function queuedRanges(
  size: number,
  request: (offset: number, length: number) => Promise<Uint8Array>,
): RequestSource {
  let active = 0;
  const waiting: Read[] = [];

  /** The newest read, with those that touch it. */
  const nextRange = (): { from: number; to: number; reads: Read[] } => {
    const newest = waiting.pop()!;
    let { from, to } = newest;
    const reads = [newest];
    for (let isLonger = true; isLonger; ) {
      isLonger = false;
      for (let n = waiting.length - 1; n >= 0; n--) {
        const one = waiting[n];
        const [low, high] = [Math.min(from, one.from), Math.max(to, one.to)];
        if (one.from > to + GAP || one.to < from - GAP || high - low > JOINED) continue;
        [from, to] = [low, high];
        reads.push(...waiting.splice(n, 1));
        isLonger = true;
      }
    }
    return { from, to, reads };
  };

  const pump = () => {
    while (active < AT_ONCE && waiting.length > 0) {
      const { from, to, reads } = nextRange();
      active++;
      request(from, to - from)
        .then(
          (bytes) => {
            for (const read of reads) read.resolve(bytes.slice(read.from - from, read.to - from));
          },
          (error) => {
            for (const read of reads) read.reject(error);
          },
        )
        .finally(() => {
          active--;
          pump();
        });
    }
  };

  return {
    size,
    read: (offset, length) =>
      new Promise<Uint8Array>((resolve, reject) => {
        waiting.push({ from: offset, to: offset + length, resolve, reject });
        // Reads of one task are queued before the first is requested, so that they can be joined.
        if (waiting.length === 1) queueMicrotask(pump);
      }),
  };
}

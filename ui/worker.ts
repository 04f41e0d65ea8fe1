/** Workers: started from an address or from text, and asked for the newest state only. */

/** A module worker. Its script may be of another origin if it is sent with CORS; the page's policy must then allow `blob:` workers. */
export function startWorker(address: string | URL, name?: string): Worker {
  const url = new URL(address);
  if (url.origin === location.origin || !/^https?:$/.test(url.protocol))
    return new Worker(url, { type: "module", name });
  // A worker's own script must be of the page's origin; what it imports need not be.
  return startWorkerOf(`import ${JSON.stringify(url.href)};`, name);
}

/** A module worker whose script is a text. */
export function startWorkerOf(text: string, name?: string): Worker {
  const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  try {
    return new Worker(address, { type: "module", name });
  } finally {
    // The worker reads the address asynchronously; a minute is ample.
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  }
}

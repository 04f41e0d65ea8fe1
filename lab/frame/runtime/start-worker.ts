/** Starts the Lab's worker, also in a page of another origin. */

/** A module worker of the script at `address`. */
export function startWorker(address: URL): Worker {
  if (address.origin === location.origin) return new Worker(address, { type: "module" });
  // A worker's own script must be of the page's origin; what it imports need not be (it must be sent with CORS, as this module was).
  const text = `import ${JSON.stringify(address.href)};`;
  const own = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const worker = new Worker(own, { type: "module" });
  setTimeout(() => URL.revokeObjectURL(own), 60_000);
  return worker;
}

// The environment, and what Node's `fetch` makes of it.

/** A variable of the environment, where there is one. */
export function environment(name: string): string | undefined {
  return (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.[name];
}

/**
 * Throws where the environment names a proxy for this address and Node's `fetch` would pass it over: what is sent past a proxy
 * goes nowhere, or where it must not. Deno and Bun use it by themselves.
 */
export function checkProxy(url: string): void {
  const { versions } = (globalThis as { process?: { versions?: Record<string, string> } }).process ?? {};
  if (versions?.["node"] === undefined || versions["deno"] !== undefined || versions["bun"] !== undefined) return;
  const target = URL.canParse(url) ? new URL(url) : undefined;
  const name = target?.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const proxy = environment(name.toLowerCase()) || environment(name);
  if (target === undefined || !proxy || isExcepted(target) || hasOwnDispatcher()) return;
  throw new TypeError(
    `${name} is set, and Node's fetch does not use it by itself: start Node with NODE_USE_ENV_PROXY=1 ` +
      "(from 22.21 or 24), give your own fetch, or name the host in NO_PROXY",
  );
}

/** Whether the address is of this machine, or `NO_PROXY` names its host or domain. */
function isExcepted({ protocol, hostname, port }: URL): boolean {
  if (/^(localhost|.*\.localhost|127\.[\d.]+|\[::1\])$/.test(hostname)) return true;
  const excepted = (environment("no_proxy") || environment("NO_PROXY") || "").toLowerCase().split(/[\s,]+/);
  const names = excepted.map((name) => name.replace(/^\*?\./, "")).filter((name) => name !== "");
  const place = `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
  return names.some((name) => name === "*" || name === place || hostname === name || hostname.endsWith(`.${name}`));
}

/** Whether `fetch` was given something that may know the proxy: by `NODE_USE_ENV_PROXY`, by `--use-env-proxy` or by undici. */
function hasOwnDispatcher(): boolean {
  const all = globalThis as Record<symbol, object | undefined>;
  const given = ["undici.globalDispatcher.1", "undici.globalDispatcher.2"].map((name) => all[Symbol.for(name)]);
  return given.some((dispatcher) => dispatcher !== undefined && dispatcher.constructor.name !== "Agent");
}

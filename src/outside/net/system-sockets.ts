import { isIP, isIPv4 } from "node:net";
import { getSystemErrorName } from "node:util";
import { loadCFunctions } from "../c-library.ts";

/** What has become of a connection that was begun. */
export type ConnectProgress =
  | { readonly kind: "pending" }
  | { readonly kind: "connected" }
  /** The name of the error, as in "ECONNREFUSED". */
  | { readonly kind: "failed"; readonly code: string }
  /** It failed, but the kernel keeps no error for it: connect(2) itself returned one. */
  | { readonly kind: "unknown" };

/** TCP sockets of the kernel by their descriptors. No call waits for the peer. */
export interface SystemSockets {
  /**
   * Begins to connect and returns the descriptor, which the caller has to `reset` exactly once. `undefined` where this is left to
   * Node: for names, addresses with a zone, ports out of range, and where there is no descriptor left.
   */
  connect(host: string, port: number): number | undefined;
  progress(descriptor: number): ConnectProgress;
  /** Closes it. A connection that stands is reset, so that none is left in TIME_WAIT; of one in progress nothing is sent. */
  reset(descriptor: number): void;
}

/** Where the numbers below are those of the kernel and `unsigned long` has 64 bits. */
const ARCHITECTURES: readonly string[] = ["x64", "arm64", "riscv64", "loong64", "ppc64", "s390x"];

const AF_INET = 2;
const AF_INET6 = 10;
const SOCK_STREAM = 1;
const SOCK_NONBLOCK = 0o4000;
const SOCK_CLOEXEC = 0o2000000;
const SOL_SOCKET = 1;
const SO_ERROR = 4;
const SO_LINGER = 13;
const POLLOUT = 4;

/** Bytes of sockaddr_in and sockaddr_in6. */
const IPV4_BYTES = 16;
const IPV6_BYTES = 28;
/** Where the port and the address begin in them. */
const PORT_AT = 2;
const IPV4_AT = 4;
const IPV6_AT = 8;
const LINGER_BYTES = 8;

const FUNCTIONS = {
  inet_pton: { arguments: ["i32", "string", "buffer"], return: "i32" },
  socket: { arguments: ["i32", "i32", "i32"], return: "i32" },
  connect: { arguments: ["i32", "buffer", "u32"], return: "i32" },
  poll: { arguments: ["buffer", "u64", "i32"], return: "i32" },
  getsockopt: { arguments: ["i32", "i32", "i32", "buffer", "buffer"], return: "i32" },
  setsockopt: { arguments: ["i32", "i32", "i32", "buffer", "u32"], return: "i32" },
  close: { arguments: ["i32"], return: "i32" },
} as const;

const PENDING: ConnectProgress = { kind: "pending" };
const CONNECTED: ConnectProgress = { kind: "connected" };
const UNKNOWN: ConnectProgress = { kind: "unknown" };

/** `undefined` where Node cannot call the C library. */
export function loadSystemSockets(): SystemSockets | undefined {
  if (process.platform !== "linux" || !ARCHITECTURES.includes(process.arch)) return undefined;
  const c = loadCFunctions(FUNCTIONS);
  if (!c) return undefined;
  const addressOf = createAddresses(c.inet_pton);
  const pollFd = new Int32Array(2);
  const pollEvents = new Int16Array(pollFd.buffer);
  const error = new Int32Array(1);
  const errorBytes = new Uint32Array([error.byteLength]);
  // struct linger { int l_onoff; int l_linger; }: close resets.
  const resetOnClose = new Int32Array([1, 0]);

  return {
    connect(host, port) {
      if (!Number.isInteger(port) || port < 1 || port > 65_535) return undefined;
      const address = addressOf(host);
      if (!address) return undefined;
      address[PORT_AT] = port >> 8;
      address[PORT_AT + 1] = port & 0xff;
      const family = address.length === IPV4_BYTES ? AF_INET : AF_INET6;
      const descriptor = c.socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      if (descriptor < 0) return undefined;
      // What it returns is ignored, because errno may be another by the time it could be read; `progress` reports it.
      c.connect(descriptor, address, address.length);
      return descriptor;
    },
    progress(descriptor) {
      pollFd[0] = descriptor;
      pollEvents[2] = POLLOUT;
      if (c.poll(pollFd, 1n, 0) !== 1) return PENDING;
      if (pollEvents[3] === POLLOUT) return CONNECTED;
      error[0] = 0;
      c.getsockopt(descriptor, SOL_SOCKET, SO_ERROR, error, errorBytes);
      const [number = 0] = error;
      return number === 0 ? UNKNOWN : { kind: "failed", code: getSystemErrorName(-number) };
    },
    reset(descriptor) {
      c.setsockopt(descriptor, SOL_SOCKET, SO_LINGER, resetOnClose, LINGER_BYTES);
      c.close(descriptor);
    },
  };
}

/** Peers whose address is kept; a node has as many pods that are probed, and few other targets. */
const MAX_ADDRESSES = 1000;

/**
 * Makes `sockaddr`s of addresses in text form, with no port; `undefined` for names and for addresses with a zone. The same
 * one for the same text, since taking texts apart would be a sixth of what a probe costs.
 */
function createAddresses(
  toBytes: (family: number, host: string, address: Uint8Array) => number,
): (host: string) => Uint8Array | undefined {
  const kept = new Map<string, Uint8Array>();
  return (host) => {
    const before = kept.get(host);
    if (before) return before;
    if (isIP(host) === 0) return undefined;
    const isVersion4 = isIPv4(host);
    const address = new Uint8Array(isVersion4 ? IPV4_BYTES : IPV6_BYTES);
    const family = isVersion4 ? AF_INET : AF_INET6;
    new Uint16Array(address.buffer, 0, 1)[0] = family;
    const part = address.subarray(isVersion4 ? IPV4_AT : IPV6_AT);
    if (toBytes(family, host, part) !== 1) return undefined;
    if (kept.size >= MAX_ADDRESSES) kept.clear();
    kept.set(host, address);
    return address;
  };
}

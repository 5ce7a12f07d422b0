/** Finds the process that listens on a TCP port of this machine, or holds another socket. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

const LISTENING = "0A";

/** A listening socket in `/proc/net/tcp` or `tcp6`. */
export interface Listener {
  readonly port: number;
  readonly inode: string;
}

/** The listening sockets in a text of the kernel's table (proc(5)). */
export function parseListeners(text: string): readonly Listener[] {
  return text
    .split("\n")
    .slice(1)
    .flatMap((line) => {
      const fields = line.trim().split(/\s+/);
      const [, local = "", , state, , , , , , inode = ""] = fields;
      if (state !== LISTENING) return [];
      return [{ port: Number.parseInt(local.slice(local.lastIndexOf(":") + 1), 16), inode }];
    });
}

/** The listeners of this network namespace, by port. */
export function listenersByPort(): ReadonlyMap<number, Listener> {
  const all = ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((path) => parseListeners(readText(path)));
  return new Map(all.map((listener) => [listener.port, listener]));
}

/** A process that holds a socket. */
interface SocketHolder {
  readonly pid: number;
  readonly name: string;
}

/** The process that holds the socket; `undefined` when none can be seen. */
export function holderOf({ inode }: Pick<Listener, "inode">): SocketHolder | undefined {
  const target = `socket:[${inode}]`;
  for (const pid of namesIn("/proc").filter((name) => /^\d+$/.test(name))) {
    const holds = namesIn(`/proc/${pid}/fd`).some(
      (fd) => linkOf(`/proc/${pid}/fd/${fd}`) === target,
    );
    if (holds) return { pid: Number(pid), name: readText(`/proc/${pid}/comm`).trim() };
  }
  return undefined;
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

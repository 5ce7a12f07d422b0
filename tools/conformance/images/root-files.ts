/** Parts of the root file systems of images. */
import type { TarEntry } from "../../../src/cli/local-images/tar.ts";

const USERS: readonly (readonly [name: string, uid: number, gid: number, home: string])[] = [
  ["root", 0, 0, "/root"],
  ["daemon", 1, 1, "/usr/sbin"],
  ["bin", 2, 2, "/bin"],
  ["sys", 3, 3, "/dev"],
  ["sync", 4, 100, "/bin"],
  ["mail", 8, 8, "/var/spool/mail"],
  ["www-data", 33, 33, "/var/www"],
  ["operator", 37, 37, "/var"],
  ["nobody", 65534, 65534, "/home"],
];
const GROUPS = { wheel: 10, audio: 29, nogroup: 65534 } as const;
const FOLDERS = [
  "bin",
  "dev",
  "etc",
  "home",
  "proc",
  "run",
  "sys",
  "usr/bin",
  "usr/sbin",
  "usr/local/bin",
  "var/log",
];

/** A file of an image. */
export function file(path: string, content: string | Uint8Array, mode: number): TarEntry {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  return { kind: "file", path, content: bytes, mode };
}

/** A symbolic link of an image. */
export function link(path: string, target: string): TarEntry {
  return { kind: "symlink", path, target };
}

/** Folders of an image. */
export function folders(paths: readonly string[]): TarEntry[] {
  return paths.map((path) => ({ kind: "directory", path }));
}

/** The accounts that tests name, and the folders that every root has. */
export function accountFiles({ userOfImage = false } = {}): TarEntry[] {
  const users = [
    ...USERS,
    ...(userOfImage ? ([["user-defined-in-image", 1000, 1000, "/home"]] as const) : []),
  ];
  const passwd = users.map(
    ([name, uid, gid, home]) => `${name}:x:${uid}:${gid}:${name}:${home}:/bin/sh`,
  );
  const groups: [string, number, string][] = [
    ...users
      .filter(([name]) => name !== "sync" && name !== "nobody")
      .map(([name, , gid]): [string, number, string] => [name, gid, ""]),
    ...Object.entries(GROUPS).map(([name, gid]): [string, number, string] => [name, gid, ""]),
    ["users", 100, ""],
    ...(userOfImage
      ? [["group-defined-in-image", 50000, "user-defined-in-image"] as [string, number, string]]
      : []),
  ];
  return [
    ...folders(FOLDERS),
    { kind: "directory", path: "tmp", mode: 0o1777 },
    { kind: "directory", path: "root", mode: 0o700 },
    file("etc/passwd", `${passwd.join("\n")}\n`, 0o644),
    file(
      "etc/group",
      `${groups.map(([name, gid, members]) => `${name}:x:${gid}:${members}`).join("\n")}\n`,
      0o644,
    ),
    file("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n", 0o644),
    file("etc/services", "http 80/tcp\nhttps 443/tcp\ndomain 53/udp\n", 0o644),
  ];
}

/** One list in which later entries take the place of earlier ones of the same path, folders before what is in them. */
export function merged(...lists: readonly (readonly TarEntry[])[]): TarEntry[] {
  const byPath = new Map<string, TarEntry>();
  for (const entry of lists.flat()) byPath.set(entry.path, entry);
  return [...byPath.values()].sort((one, other) => (one.path < other.path ? -1 : 1));
}

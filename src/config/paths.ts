// pure

/** `path` made absolute against the absolute folder `from`, without `.`, `..` and doubled slashes. */
export function resolvePath(from: string, path: string): string {
  const parts: string[] = [];
  for (const part of (path.startsWith("/") ? path : `${from}/${path}`).split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

/** The folder that holds the absolute `path`. */
export function folderOf(path: string): string {
  const end = path.lastIndexOf("/");
  return end <= 0 ? "/" : path.slice(0, end);
}

/** There where the kernel enforces SELinux. */
export const SELINUX_FILE = "/sys/fs/selinux/enforce";

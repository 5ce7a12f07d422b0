// pure

/** One line of `/proc/<pid>/mountinfo` (proc_pid_mountinfo(5)), escapes undone. */
export interface MountEntry {
  readonly mountId: number;
  readonly parentId: number;
  /** Number of the device, `major:minor`; of no real one (major 0) for memory and some file systems. */
  readonly device: string;
  /** The folder of the file system that is seen at the mount point. */
  readonly root: string;
  readonly mountPoint: string;
  readonly fsType: string;
  readonly source: string;
  readonly superOptions: readonly string[];
  readonly readOnly: boolean;
  /** Mounts made below it are seen by its peers, and theirs here (mount_namespaces(7)). */
  readonly shared: boolean;
}

/** The kernel writes blank, tab, newline and backslash in paths as three octal digits. */
function unescapeField(field: string): string {
  return field.replace(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
}

/** The mounts in the order of the file, which is the order of mounting; lines of another shape are left out. */
export function parseMountinfo(text: string): readonly MountEntry[] {
  const entries: MountEntry[] = [];
  for (const line of text.split("\n")) {
    const fields = line.split(" ");
    const dash = fields.indexOf("-", 6);
    const [mountId, parentId, device = "", root, mountPoint, options] = fields;
    if (dash < 0 || root === undefined || mountPoint === undefined) continue;
    entries.push({
      mountId: Number(mountId),
      parentId: Number(parentId),
      device,
      root: unescapeField(root),
      mountPoint: unescapeField(mountPoint),
      fsType: fields[dash + 1] ?? "",
      source: unescapeField(fields[dash + 2] ?? ""),
      superOptions: (fields[dash + 3] ?? "").split(","),
      readOnly: options?.split(",").includes("ro") ?? false,
      shared: fields.slice(6, dash).some((field) => field.startsWith("shared:")),
    });
  }
  return entries;
}

/**
 * As `parseMountinfo`, but only of the lines in which `path` can occur: these are all mounts at it and beneath it, and maybe
 * others. Parsing the whole table for each pod that ends takes longer than removing its files.
 */
export function parseMountinfoAbout(text: string, path: string): readonly MountEntry[] {
  // A line with an escape shows its paths only when that is undone; there are few.
  const lines = text.split("\n").filter((line) => line.includes(path) || line.includes("\\"));
  return parseMountinfo(lines.join("\n"));
}

/** The mount that shows `path`: the longest mount point above it, the topmost where there are several. */
export function mountOf(entries: readonly MountEntry[], path: string): MountEntry | undefined {
  let best: MountEntry | undefined;
  for (const entry of entries) {
    const { mountPoint } = entry;
    const prefix = mountPoint.endsWith("/") ? mountPoint : `${mountPoint}/`;
    if (path !== mountPoint && !path.startsWith(prefix)) continue;
    if (best === undefined || mountPoint.length >= best.mountPoint.length) best = entry;
  }
  return best;
}

/** Mount points that lie at `path` or beneath it. */
export function mountPointsWithin(entries: readonly MountEntry[], path: string): readonly string[] {
  const prefix = path.endsWith("/") ? path : `${path}/`;
  return entries
    .map((entry) => entry.mountPoint)
    .filter((point) => point === path || point.startsWith(prefix));
}

// pure

/** Major and minor version of a kernel. */
export type KernelRelease = readonly [major: number, minor: number];

/** Whether a kernel (`6.1.0-18-amd64`) is at least of this release; one of an unknown version is not. */
export function isKernelAtLeast(version: string, [major, minor]: KernelRelease): boolean {
  const [itsMajor = 0, itsMinor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  return itsMajor > major || (itsMajor === major && itsMinor >= minor);
}

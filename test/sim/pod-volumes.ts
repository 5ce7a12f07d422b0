// pure

/** Volumes of every pod: memory that is mounted, a part of it bound, files that are written. */
export const VOLUMES = [
  { name: "memory", emptyDir: { medium: "Memory" } },
  {
    name: "labels",
    downwardAPI: { items: [{ path: "l", fieldRef: { fieldPath: "metadata.labels" } }] },
  },
];

/** How every container mounts them. */
export const VOLUME_MOUNTS = [
  { name: "memory", mountPath: "/part", subPath: "a/b" },
  { name: "labels", mountPath: "/labels" },
];

/** What is wrong with the mounts there are, when only these pods are wanted. */
export function faultOfMounts(
  mounted: readonly string[],
  wanted: ReadonlySet<string>,
): string | undefined {
  for (const path of mounted) {
    const uid = /^\/var\/lib\/kubelet\/pods\/([^/]+)/.exec(path)?.[1];
    if (uid === undefined || !wanted.has(uid)) return `${path} is still mounted`;
  }
  const isTwice = new Set(mounted).size < mounted.length;
  return isTwice ? `mounted twice: ${mounted.join()}` : undefined;
}

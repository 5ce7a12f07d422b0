// pure
import type { QosClass } from "../../api/pod/qos.ts";
import { isFileName } from "../../api/text/path-names.ts";
import { UsageError } from "../../kit/errors.ts";

/** Cgroup driver, which determines how groups are named. */
export type CgroupDriver = "cgroupfs" | "systemd";

/** A group by its path elements, independent of the driver; the root has none. */
export type CgroupName = readonly string[];

/** The group of all pods, below the configured root. */
export const KUBEPODS = "kubepods";

const POD_PREFIX = "pod";
const SLICE = ".slice";

/** Folder of each class below `kubepods`; guaranteed pods stand in `kubepods` itself. */
const TIERS: Readonly<Record<QosClass, readonly string[]>> = {
  Guaranteed: [],
  Burstable: ["burstable"],
  BestEffort: ["besteffort"],
};

/** All classes, in the order in which groups are searched. */
export const QOS_CLASSES = ["Guaranteed", "Burstable", "BestEffort"] as const;

/**
 * The configured root, always spelled as for cgroupfs; empty and `/` are the root. `UsageError` on
 * parts that no driver or not `driver` can spell.
 */
export function parseCgroupRoot(root: string, driver: CgroupDriver): CgroupName {
  const parts = root.split("/").filter((part) => part !== "");
  for (const part of parts) {
    if (!isFileName(part)) {
      throw new UsageError(`cgroupRoot ${JSON.stringify(root)}: a part cannot be "${part}"`);
    }
    if (driver === "systemd" && part.includes("_")) {
      throw new UsageError(
        `cgroupRoot ${JSON.stringify(root)}: names of systemd slices cannot contain "_", as in "${part}"`,
      );
    }
  }
  return parts;
}

/** The group of one class of pods. */
export function tierName(root: CgroupName, qos: QosClass): CgroupName {
  return [...root, KUBEPODS, ...TIERS[qos]];
}

/** The group of a pod. `UsageError` when the uid cannot be part of a path. */
export function podName(root: CgroupName, qos: QosClass, uid: string): CgroupName {
  if (!/^[A-Za-z0-9][A-Za-z0-9.-]*$/.test(uid)) {
    throw new UsageError(
      `pod uid ${JSON.stringify(uid)} cannot name a cgroup: use letters, digits, "-" and "."`,
    );
  }
  return [...tierName(root, qos), `${POD_PREFIX}${uid}`];
}

/** The uid in the last part of a pod's name; `undefined` for other groups. */
export function podUidOf(lastPart: string): string | undefined {
  const uid = lastPart.startsWith(POD_PREFIX) ? lastPart.slice(POD_PREFIX.length) : "";
  return uid === "" ? undefined : uid;
}

/** `/kubepods/burstable/podX`. */
function cgroupfsPath(name: CgroupName): string {
  return `/${name.join("/")}`;
}

/**
 * `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podX.slice`: each slice bears the names
 * of those above it, and `-` in a part becomes `_`.
 */
function systemdPath(name: CgroupName): string {
  const escaped = name.map((part) => part.replaceAll("-", "_"));
  const slices = escaped.map((_, index) => `${escaped.slice(0, index + 1).join("-")}${SLICE}`);
  return `/${slices.join("/")}`;
}

/** The path in the cgroup tree, which is also what the runtime gets as `cgroup_parent`. */
export function literalPath(name: CgroupName, driver: CgroupDriver): string {
  return driver === "systemd" ? systemdPath(name) : cgroupfsPath(name);
}

/** The name behind a path as `driver` spells it. For systemd the last slice contains it all. */
export function parsePath(path: string, driver: CgroupDriver): CgroupName {
  const parts = path.split("/").filter((part) => part !== "");
  if (driver === "cgroupfs") return parts;
  const last = parts.at(-1) ?? "";
  const unit = last.endsWith(SLICE) ? last.slice(0, -SLICE.length) : last;
  return unit === "" ? [] : unit.split("-").map((part) => part.replaceAll("_", "-"));
}

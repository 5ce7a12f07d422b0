// pure
import type { EnvEntry } from "../../api/env/env.ts";
import { expandVariables } from "../../api/env/expand.ts";
import type { Container, VolumeMount } from "../../api/generated/types.ts";
import { resolveRecursiveReadOnly } from "../../api/pod/recursive-read-only.ts";
import type { MadeVolume } from "./kind.ts";

/** Mount features of the runtime. */
export interface MountFeatures {
  readonly recursiveReadOnly: boolean;
  readonly imageVolumes: boolean;
  readonly imageSubPaths: boolean;
}

/** One mount of a container, before anything is done about it. */
export interface PlannedMount {
  readonly containerPath: string;
  readonly volumeName: string;
  readonly made: MadeVolume;
  /** Place in the volume; empty for all of it. */
  readonly subPath: string;
  /** Position among the container's mounts: the Go kubelet's name of a sub path's folder. */
  readonly index: number;
  readonly readOnly: boolean;
  readonly recursiveReadOnly: boolean;
  readonly propagation: "None" | "HostToContainer" | "Bidirectional";
  /** Further options, which the runtime takes as they are. */
  readonly options: readonly string[];
}

/** All mounts of a container, or the first that cannot be had. */
export type MountPlan =
  | { readonly kind: "mounts"; readonly mounts: readonly PlannedMount[] }
  | { readonly kind: "fault"; readonly message: string };

interface MountParts {
  readonly made: ReadonlyMap<string, MadeVolume>;
  readonly env: readonly EnvEntry[];
  readonly features: MountFeatures;
}

/** The mounts of a container's volumes (kubelet makeMounts). */
export function planMounts(container: Container, parts: MountParts): MountPlan {
  const mounts: PlannedMount[] = [];
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    const made = parts.made.get(mount.name);
    if (!made || made.device !== undefined)
      return fault(
        `cannot find volume "${mount.name}" to mount into container "${container.name}"`,
      );
    const subPath = subPathOf(mount, parts.env);
    if (typeof subPath !== "string") return subPath;
    const recursive = resolveRecursiveReadOnly(mount, parts.features.recursiveReadOnly);
    if (recursive.kind === "fault")
      return fault(`failed to resolve recursive read-only mode: ${recursive.message}`);
    const imageFault = made.image && imageProblem(mount.name, subPath, parts.features);
    if (imageFault) return imageFault;
    mounts.push({
      containerPath: absolute(mount.mountPath),
      volumeName: mount.name,
      made,
      subPath,
      index,
      readOnly: mount.readOnly === true || made.readOnly,
      recursiveReadOnly: recursive.enabled,
      propagation: propagationOf(mount),
      options: mount.bindMountOptions ?? [],
    });
  }
  return { kind: "mounts", mounts };
}

const fault = (message: string): { readonly kind: "fault"; readonly message: string } => ({
  kind: "fault",
  message,
});

function imageProblem(
  volume: string,
  subPath: string,
  { imageVolumes, imageSubPaths }: MountFeatures,
): ReturnType<typeof fault> | undefined {
  const cannot = `volume "${volume}": this container runtime cannot mount`;
  if (!imageVolumes) return fault(`${cannot} images`);
  return subPath !== "" && !imageSubPaths ? fault(`${cannot} parts of images`) : undefined;
}

/** The Go kubelet puts paths that are not absolute at the root. */
function absolute(path: string): string {
  return path.startsWith("/") ? path : `/${path}`;
}

function propagationOf({ mountPropagation }: VolumeMount): PlannedMount["propagation"] {
  return mountPropagation === "HostToContainer" || mountPropagation === "Bidirectional"
    ? mountPropagation
    : "None";
}

/** The place in the volume; what variables put into it is checked as if it had been written there. */
function subPathOf(
  { subPath = "", subPathExpr = "" }: VolumeMount,
  env: readonly EnvEntry[],
): string | ReturnType<typeof fault> {
  let path = subPath;
  if (subPathExpr !== "") {
    const values = new Map(env.map(({ name, value }) => [name, value]));
    const missing = new Set<string>();
    path = expandVariables(subPathExpr, (name) => {
      const value = values.get(name) ?? "";
      if (value === "") missing.add(name);
      return value;
    });
    if (missing.size > 0) return fault(`missing value for ${[...missing].toSorted().join(", ")}`);
  }
  if (path.startsWith("/")) return fault(`error SubPath \`${path}\` must not be an absolute path`);
  if (path.split("/").includes(".."))
    return fault(`unable to provision SubPath \`${path}\`: must not contain '..'`);
  return path;
}

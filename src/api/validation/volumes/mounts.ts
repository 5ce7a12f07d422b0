// pure

import {
  duplicate,
  forbidden,
  invalid,
  notFound,
  required,
  unsupported,
} from "../../decode/field-problem.ts";
import type { Container, Volume, VolumeDevice, VolumeMount } from "../../generated/types.ts";
import {
  child,
  descendingPath,
  eachOf,
  entry,
  FINE,
  noBacksteps,
  type Problems,
} from "../fields.ts";

const PROPAGATIONS = ["Bidirectional", "HostToContainer", "None"] as const;
const BIND_OPTIONS = ["nodev", "noexec", "nosuid"] as const;
const RECURSIVE_READ_ONLY = ["Disabled", "Enabled", "IfPossible"] as const;

function propagationProblems(mount: VolumeMount, container: Container, path: string): Problems {
  const { mountPropagation: propagation } = mount;
  if (propagation === undefined) return FINE;
  if (!(PROPAGATIONS as readonly string[]).includes(propagation))
    return [unsupported(path, propagation, PROPAGATIONS)];
  return propagation === "Bidirectional" && container.securityContext?.privileged !== true
    ? [
        forbidden(
          path,
          "Bidirectional mount propagation is available only to privileged containers",
        ),
      ]
    : FINE;
}

function recursiveReadOnlyProblems(mount: VolumeMount, path: string): Problems {
  const { recursiveReadOnly: mode, readOnly, mountPropagation = "None" } = mount;
  if (mode === undefined || mode === "Disabled") return FINE;
  if (!(RECURSIVE_READ_ONLY as readonly string[]).includes(mode))
    return [unsupported(path, mode, RECURSIVE_READ_ONLY)];
  return [
    ...(readOnly === true ? [] : [forbidden(path, "may only be specified when readOnly is true")]),
    ...(mountPropagation === "None"
      ? []
      : [forbidden(path, "may only be specified when mountPropagation is None or not specified")]),
  ];
}

function bindOptionProblems(
  { bindMountOptions: options = [] }: VolumeMount,
  volume: Volume | undefined,
  path: string,
): Problems {
  if (options.length > 0 && volume?.image !== undefined)
    return [forbidden(path, "may not be specified for image volumes")];
  return options.flatMap((option, i) => {
    if (!(BIND_OPTIONS as readonly string[]).includes(option))
      return [unsupported(entry(path, i), option, BIND_OPTIONS)];
    return options.indexOf(option) < i ? [duplicate(entry(path, i), option)] : FINE;
  });
}

function subPathProblems({ subPath = "", subPathExpr = "" }: VolumeMount, path: string): Problems {
  return [
    ...(subPath === "" ? FINE : descendingPath(child(path, "subPath"), subPath)),
    ...(subPath !== "" && subPathExpr !== ""
      ? [
          invalid(
            child(path, "subPathExpr"),
            subPathExpr,
            "subPathExpr and subPath are mutually exclusive",
          ),
        ]
      : []),
    ...(subPathExpr === "" ? FINE : descendingPath(child(path, "subPathExpr"), subPathExpr)),
  ];
}

/** A container's mounts: each of a volume of the pod, each at a place of its own. */
export function mountProblems(
  container: Container,
  volumes: ReadonlyMap<string, Volume>,
  path: string,
): Problems {
  const devices = container.volumeDevices ?? [];
  const places = new Set<string>();
  return eachOf(container.volumeMounts, path, (mount, at) => {
    const { name, mountPath } = mount;
    const taken = places.has(mountPath);
    places.add(mountPath);
    const wrong = (field: string, value: string, message: string) => [
      invalid(child(at, field), value, message),
    ];
    return [
      ...(name === "" ? [required(child(at, "name"))] : []),
      ...(volumes.has(name) ? [] : [notFound(child(at, "name"), name)]),
      ...(mountPath === "" ? [required(child(at, "mountPath"))] : []),
      ...(taken ? wrong("mountPath", mountPath, "must be unique") : []),
      ...(devices.some((device) => device.name === name)
        ? wrong("name", name, "must not already exist in volumeDevices")
        : []),
      ...(devices.some(({ devicePath }) => devicePath === mountPath)
        ? wrong("mountPath", mountPath, "must not already exist as a path in volumeDevices")
        : []),
      ...subPathProblems(mount, at),
      ...propagationProblems(mount, container, child(at, "mountPropagation")),
      ...recursiveReadOnlyProblems(mount, child(at, "recursiveReadOnly")),
      ...bindOptionProblems(mount, volumes.get(name), child(at, "bindMountOptions")),
    ];
  });
}

function deviceSourceProblems(
  { name }: VolumeDevice,
  volumes: ReadonlyMap<string, Volume>,
  path: string,
): Problems {
  const volume = volumes.get(name);
  if (volume === undefined) return [notFound(path, name)];
  return volume.persistentVolumeClaim === undefined && volume.ephemeral === undefined
    ? [
        invalid(
          path,
          name,
          "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
        ),
      ]
    : FINE;
}

/** A container's block devices: claims only, each at a place of its own. */
export function deviceProblems(
  container: Container,
  volumes: ReadonlyMap<string, Volume>,
  path: string,
): Problems {
  const mounts = container.volumeMounts ?? [];
  const names = new Set<string>();
  const places = new Set<string>();
  return eachOf(container.volumeDevices, path, (device, at) => {
    const { name, devicePath } = device;
    const [namePath, placePath] = [child(at, "name"), child(at, "devicePath")];
    const backsteps = devicePath !== "" && noBacksteps(placePath, devicePath).length > 0;
    const problems = [
      ...(name === "" ? [required(namePath)] : []),
      ...(names.has(name) ? [invalid(namePath, name, "must be unique")] : []),
      ...deviceSourceProblems(device, volumes, namePath),
      ...(devicePath === "" ? [required(placePath)] : []),
      ...(places.has(devicePath) ? [invalid(placePath, devicePath, "must be unique")] : []),
      ...(backsteps ? [invalid(placePath, devicePath, "can not contain backsteps ('..')")] : []),
      ...(mounts.some((mount) => mount.name === name)
        ? [invalid(namePath, name, "must not already exist in volumeMounts")]
        : []),
      ...(mounts.some(({ mountPath }) => mountPath === devicePath)
        ? [invalid(placePath, devicePath, "must not already exist as a path in volumeMounts")]
        : []),
    ];
    if (name !== "") names.add(name);
    if (!backsteps) places.add(devicePath);
    return problems;
  });
}

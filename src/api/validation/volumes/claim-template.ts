// pure

import { forbidden, invalid, required, unsupported } from "../../decode/field-problem.ts";
import type {
  PersistentVolumeClaimSpec,
  PersistentVolumeClaimTemplate,
  TypedLocalObjectReference,
} from "../../generated/types.ts";
import { dns1123SubdomainFaults } from "../../text/names.ts";
import { child, entry, FINE, faultsAt, ifSet, isNotPositive, type Problems } from "../fields.ts";
import { annotationProblems, labelProblems } from "../metadata.ts";
import { labelSelectorProblems } from "../scheduling.ts";

const ACCESS_MODES = [
  "ReadOnlyMany",
  "ReadWriteMany",
  "ReadWriteOnce",
  "ReadWriteOncePod",
] as const;
const VOLUME_MODES = ["Block", "Filesystem"] as const;

function accessModeProblems(modes: readonly string[], path: string): Problems {
  const known = modes.filter((mode) => (ACCESS_MODES as readonly string[]).includes(mode));
  return [
    ...(modes.length === 0 ? [required(path, "at least 1 access mode is required")] : []),
    ...modes
      .filter((mode) => !(ACCESS_MODES as readonly string[]).includes(mode))
      .map((mode) => unsupported(path, mode, ACCESS_MODES)),
    ...(known.includes("ReadWriteOncePod") && known.some((mode) => mode !== "ReadWriteOncePod")
      ? [forbidden(path, "may not use ReadWriteOncePod with other access modes")]
      : []),
  ];
}

function dataSourceProblems(source: TypedLocalObjectReference, path: string): Problems {
  const group = source.apiGroup ?? "";
  return [
    ...(source.name === "" ? [required(child(path, "name"))] : []),
    ...(source.kind === "" ? [required(child(path, "kind"))] : []),
    ...(group === "" && source.kind !== "PersistentVolumeClaim" && source.kind !== ""
      ? [
          invalid(
            path,
            source.kind,
            "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
          ),
        ]
      : []),
    ...(group === ""
      ? FINE
      : faultsAt(child(path, "apiGroup"), group, dns1123SubdomainFaults(group))),
  ];
}

function claimSpecProblems(spec: PersistentVolumeClaimSpec, path: string): Problems {
  const storagePath = entry(child(path, "resources"), "storage");
  const storage = spec.resources?.requests?.["storage"];
  const className = (name: "storageClassName" | "volumeAttributesClassName"): Problems => {
    const text = spec[name] ?? "";
    return text === "" ? FINE : faultsAt(child(path, name), text, dns1123SubdomainFaults(text));
  };
  return [
    ...accessModeProblems(spec.accessModes ?? [], child(path, "accessModes")),
    ...ifSet(spec.selector, (selector) => labelSelectorProblems(selector, child(path, "selector"))),
    ...(storage === undefined
      ? [required(storagePath)]
      : isNotPositive(storage)
        ? [invalid(storagePath, storage, "must be greater than zero")]
        : []),
    ...className("storageClassName"),
    ...(spec.volumeMode === undefined ||
    (VOLUME_MODES as readonly string[]).includes(spec.volumeMode)
      ? []
      : [unsupported(child(path, "volumeMode"), spec.volumeMode, VOLUME_MODES)]),
    ...ifSet(spec.dataSource, (source) => dataSourceProblems(source, child(path, "dataSource"))),
    ...ifSet(spec.dataSourceRef, (source) =>
      dataSourceProblems(source, child(path, "dataSourceRef")),
    ),
    ...className("volumeAttributesClassName"),
  ];
}

/** The claim an ephemeral volume makes for itself: labels, annotations and a whole claim spec. */
export function claimTemplateProblems(
  template: PersistentVolumeClaimTemplate,
  path: string,
): Problems {
  const { labels, annotations, ...rest } = template.metadata ?? {};
  const metadataPath = child(path, "metadata");
  return [
    ...annotationProblems(annotations, child(metadataPath, "annotations")),
    ...labelProblems(labels, child(metadataPath, "labels")),
    ...Object.keys(rest).map((name) => forbidden(child(metadataPath, name), "cannot be set")),
    ...claimSpecProblems(template.spec, child(path, "spec")),
  ];
}

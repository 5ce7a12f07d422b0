// pure

import { invalid, required, tooLong } from "../decode/field-problem.ts";
import type { ObjectMeta, OwnerReference, Pod } from "../generated/types.ts";
import { allContainers } from "../pod/pod.ts";
import {
  byteLength,
  dns1123LabelFaults,
  dns1123SubdomainFaults,
  type Faults,
  labelValueFaults,
  qualifiedNameFaults,
} from "../text/names.ts";
import {
  child,
  descendingPath,
  entry,
  FINE,
  faultsAt,
  notNegative,
  type Problems,
  sortedEntries,
} from "./fields.ts";

const MAX_ANNOTATIONS_BYTES = 256 * 1024;
const STANDARD_FINALIZERS = new Set(["kubernetes", "orphan", "foregroundDeletion"]);
const MIRROR_ANNOTATION = "kubernetes.io/config.mirror";
const DELETION_COST_ANNOTATION = "controller.kubernetes.io/pod-deletion-cost";
const SECCOMP_POD_ANNOTATION = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER_PREFIX = "container.seccomp.security.alpha.kubernetes.io/";
const APPARMOR_PREFIX = "container.apparmor.security.beta.kubernetes.io/";

/** Labels, and node selectors, which are labels too. */
export const labelProblems = (
  labels: Readonly<Record<string, string>> | undefined,
  path: string,
): Problems =>
  sortedEntries(labels).flatMap(([key, value]) => [
    ...faultsAt(path, key, qualifiedNameFaults(key)),
    ...faultsAt(path, value, labelValueFaults(value)),
  ]);

/** Annotations: keys are names in any case, values free, the whole bounded. */
export function annotationProblems(
  annotations: Readonly<Record<string, string>> | undefined,
  path: string,
): Problems {
  const entries = sortedEntries(annotations);
  const bytes = entries.reduce((sum, [k, v]) => sum + byteLength(k) + byteLength(v), 0);
  return [
    ...entries.flatMap(([key]) => faultsAt(path, key, qualifiedNameFaults(key.toLowerCase()))),
    ...(bytes > MAX_ANNOTATIONS_BYTES ? [tooLong(path, MAX_ANNOTATIONS_BYTES)] : []),
  ];
}

function ownerProblems(owner: OwnerReference, path: string): Problems {
  const version = owner.apiVersion.split("/").at(-1) ?? "";
  const empty = (name: keyof OwnerReference) =>
    owner[name] === "" ? [invalid(child(path, name), "", "must not be empty")] : [];
  return [
    ...(version === ""
      ? [invalid(child(path, "apiVersion"), owner.apiVersion, "version must not be empty")]
      : []),
    ...empty("kind"),
    ...empty("name"),
    ...empty("uid"),
    ...(owner.apiVersion === "v1" && owner.kind === "Event"
      ? [invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner")]
      : []),
  ];
}

function ownersProblems(owners: readonly OwnerReference[] | undefined, path: string): Problems {
  const controllers = (owners ?? []).filter(({ controller }) => controller === true);
  const [first, ...others] = controllers.map(({ kind, name }) => `${kind}/${name}`);
  return [
    ...(owners ?? []).flatMap((owner) => ownerProblems(owner, path)),
    ...others.map((other) =>
      invalid(
        path,
        owners,
        `Only one reference can have Controller set to true. Found "true" in references for ${first} and ${other}`,
      ),
    ),
  ];
}

function finalizerProblems(finalizers: readonly string[] | undefined, path: string): Problems {
  const list = finalizers ?? [];
  const both = ["orphan", "foregroundDeletion"].every((name) => list.includes(name));
  return [
    ...list.flatMap((name) => faultsAt(path, name, qualifiedNameFaults(name))),
    ...(both
      ? [invalid(path, list, "finalizer orphan and foregroundDeletion cannot be both set")]
      : []),
    ...list.flatMap((name, i) =>
      name.includes("/") || STANDARD_FINALIZERS.has(name)
        ? []
        : [
            invalid(
              entry(path, i),
              name,
              "name is neither a standard finalizer name nor is it fully qualified",
            ),
          ],
    ),
  ];
}

/** A prefix for generated names may end in dashes; what follows replaces them. */
const prefixFaults = (prefix: string): Faults =>
  dns1123SubdomainFaults(
    prefix.endsWith("-") && prefix.length > 1 ? `${prefix.slice(0, -1)}a` : prefix,
  );

/** Metadata of a namespaced object whose name is a DNS name. */
export function metadataProblems(metadata: ObjectMeta, path: string): Problems {
  const { name = "", generateName = "", namespace = "" } = metadata;
  return [
    ...(generateName === ""
      ? FINE
      : faultsAt(child(path, "generateName"), generateName, prefixFaults(generateName))),
    ...(name === ""
      ? [required(child(path, "name"), "name or generateName is required")]
      : faultsAt(child(path, "name"), name, dns1123SubdomainFaults(name))),
    ...(namespace === ""
      ? [required(child(path, "namespace"))]
      : faultsAt(child(path, "namespace"), namespace, dns1123LabelFaults(namespace))),
    ...notNegative(child(path, "generation"), metadata.generation),
    ...labelProblems(metadata.labels, child(path, "labels")),
    ...annotationProblems(metadata.annotations, child(path, "annotations")),
    ...ownersProblems(metadata.ownerReferences, child(path, "ownerReferences")),
    ...finalizerProblems(metadata.finalizers, child(path, "finalizers")),
  ];
}

const DELETION_COST = /^(?:0|-?[1-9][0-9]{0,9})$/;

function isDeletionCost(text: string): boolean {
  const cost = Number(text);
  return DELETION_COST.test(text) && cost >= -(2 ** 31) && cost < 2 ** 31;
}

function seccompAnnotationProblems(profile: string, path: string): Problems {
  if (["runtime/default", "docker/default", "unconfined"].includes(profile)) return FINE;
  return profile.startsWith("localhost/")
    ? descendingPath(path, profile.slice("localhost/".length))
    : [invalid(path, profile, "must be a valid seccomp profile")];
}

function appArmorAnnotationProblems(pod: Pod, key: string, profile: string): Problems {
  const path = entry("metadata.annotations", key);
  const name = key.slice(APPARMOR_PREFIX.length);
  const known = allContainers(pod).some(({ container }) => container.name === name);
  const valid =
    ["", "runtime/default", "unconfined"].includes(profile) || profile.startsWith("localhost/");
  return [
    ...(known ? [] : [invalid(path, name, "container not found")]),
    ...(valid ? [] : [invalid(path, profile, `invalid AppArmor profile name: "${profile}"`)]),
  ];
}

/** Annotations that mean something for pods. */
export function podAnnotationProblems(pod: Pod): Problems {
  const path = "metadata.annotations";
  return sortedEntries(pod.metadata?.annotations).flatMap(([key, value]): Problems => {
    if (key === MIRROR_ANNOTATION && (pod.spec?.nodeName ?? "") === "")
      return [
        invalid(entry(path, key), value, "must set spec.nodeName if mirror pod annotation is set"),
      ];
    if (key === DELETION_COST_ANNOTATION && !isDeletionCost(value))
      return [invalid(entry(path, key), value, "must be a 32bit integer")];
    if (key === SECCOMP_POD_ANNOTATION || key.startsWith(SECCOMP_CONTAINER_PREFIX))
      return seccompAnnotationProblems(value, child(path, key));
    return key.startsWith(APPARMOR_PREFIX) ? appArmorAnnotationProblems(pod, key, value) : FINE;
  });
}

/** The profiles a container may have by annotation, which must agree with the field. */
export const PROFILE_ANNOTATIONS = {
  seccompPod: SECCOMP_POD_ANNOTATION,
  seccompContainer: SECCOMP_CONTAINER_PREFIX,
  appArmorContainer: APPARMOR_PREFIX,
} as const;

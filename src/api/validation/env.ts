// pure

import { invalid, notFound, required, unsupported } from "../decode/field-problem.ts";
import type {
  EnvFromSource,
  EnvVar,
  EnvVarSource,
  FileKeySelector,
  ObjectFieldSelector,
  PodSpec,
  ResourceFieldSelector,
} from "../generated/types.ts";
import {
  configMapKeyFaults,
  dns1123LabelFaults,
  dns1123SubdomainFaults,
  environmentNameFaults,
  qualifiedNameFaults,
} from "../text/names.ts";
import { formatQuantity, isZeroQuantity } from "../text/quantity.ts";
import {
  child,
  eachOf,
  FINE,
  faultsAt,
  ifSet,
  noBacksteps,
  type Problems,
  quantityOf,
} from "./fields.ts";

/** Fields of the pod that environment variables can take their value from. */
const ENV_FIELDS = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
] as const;

/** Fields of the pod that files can take their content from. */
export const FILE_FIELDS = [
  "metadata.annotations",
  "metadata.labels",
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
] as const;

/** Fields the API can name at all. */
const KNOWN_FIELDS = new Set<string>([
  ...ENV_FIELDS,
  ...FILE_FIELDS,
  "spec.restartPolicy",
  "spec.schedulerName",
  "status.phase",
]);

const RESOURCE_FIELDS = [
  "limits.cpu",
  "limits.ephemeral-storage",
  "limits.memory",
  "requests.cpu",
  "requests.ephemeral-storage",
  "requests.memory",
] as const;
const HUGE_PAGES_FIELDS = ["requests.hugepages-", "limits.hugepages-"] as const;

const SUBSCRIPT = /^([^[]*)\['([\s\S]*)'\]$/;

/** A selector of a field of the pod; `allowed` are the fields that make sense in this place. */
export function fieldSelectorProblems(
  selector: ObjectFieldSelector,
  path: string,
  allowed: readonly string[],
): Problems {
  const { apiVersion = "", fieldPath } = selector;
  const at = child(path, "fieldPath");
  if (apiVersion === "") return [required(child(path, "apiVersion"))];
  if (fieldPath === "") return [required(at)];
  const conversion = (reason: string) => [
    invalid(at, fieldPath, `error converting fieldPath: ${reason}`),
  ];
  if (apiVersion !== "v1") return conversion(`unsupported pod version: ${apiVersion}`);
  const subscript = SUBSCRIPT.exec(fieldPath);
  if (subscript !== null) {
    const [, map = "", key = ""] = subscript;
    if (map === "metadata.annotations")
      return faultsAt(path, key.toLowerCase(), qualifiedNameFaults(key.toLowerCase()));
    if (map === "metadata.labels") return faultsAt(path, key, qualifiedNameFaults(key));
    return conversion(`field label does not support subscript: ${fieldPath}`);
  }
  const field = fieldPath === "spec.host" ? "spec.nodeName" : fieldPath;
  if (!KNOWN_FIELDS.has(field)) return conversion(`field label not supported: ${fieldPath}`);
  return allowed.includes(field) ? FINE : [unsupported(at, field, allowed)];
}

const CPU_DIVISORS = new Set(["1m", "1"]);
const SIZE_DIVISORS = new Set("1 1k 1M 1G 1T 1P 1E 1Ki 1Mi 1Gi 1Ti 1Pi 1Ei".split(" "));
const SIZES = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei";

function divisorProblems({ resource, divisor }: ResourceFieldSelector, path: string): Problems {
  const quantity = divisor === undefined ? undefined : quantityOf(divisor);
  if (quantity === undefined || isZeroQuantity(quantity)) return FINE;
  const text = formatQuantity(quantity);
  const wrong = (values: string, what: string) => [
    invalid(
      child(path, "divisor"),
      resource,
      `only divisor's values ${values} are supported with the ${what} resource`,
    ),
  ];
  const kind = resource.replace(/^(limits|requests)\./, "");
  if (kind === "cpu") return CPU_DIVISORS.has(text) ? FINE : wrong("1m and 1", "cpu");
  if (SIZE_DIVISORS.has(text)) return FINE;
  if (kind === "memory") return wrong(SIZES, "memory");
  if (kind === "ephemeral-storage") return wrong(SIZES, "local ephemeral storage");
  return kind.startsWith("hugepages-") ? wrong(SIZES, "hugepages") : FINE;
}

/** A selector of a container's resources; files must say whose. */
export function resourceSelectorProblems(
  selector: ResourceFieldSelector,
  path: string,
  needsContainer: boolean,
): Problems {
  const { containerName = "", resource } = selector;
  const known =
    (RESOURCE_FIELDS as readonly string[]).includes(resource) ||
    HUGE_PAGES_FIELDS.some((prefix) => resource.startsWith(prefix));
  const problems =
    needsContainer && containerName === ""
      ? [required(child(path, "containerName"))]
      : resource === ""
        ? [required(child(path, "resource"))]
        : known
          ? []
          : [unsupported(child(path, "resource"), resource, RESOURCE_FIELDS)];
  return [...problems, ...divisorProblems(selector, path)];
}

function keySelectorProblems(
  { name = "", key }: { readonly name?: string; readonly key: string },
  path: string,
): Problems {
  return [
    ...faultsAt(child(path, "name"), name, dns1123SubdomainFaults(name)),
    ...(key === ""
      ? [required(child(path, "key"))]
      : faultsAt(child(path, "key"), key, configMapKeyFaults(key))),
  ];
}

function fileKeyProblems(selector: FileKeySelector, path: string): Problems {
  const { key, volumeName, path: file } = selector;
  return [
    ...(key === ""
      ? [required(child(path, "key"))]
      : faultsAt(child(path, "key"), key, environmentNameFaults(key))),
    ...(volumeName === ""
      ? [required(child(path, "volumeName"))]
      : faultsAt(child(path, "volumeName"), volumeName, dns1123LabelFaults(volumeName))),
    ...(file === "" ? [required(child(path, "path"))] : noBacksteps(child(path, "path"), file)),
  ];
}

function valueFromProblems(from: EnvVarSource, value: string, path: string): Problems {
  const sources = Object.values(from).filter((source) => source !== undefined).length;
  const problems = [
    ...ifSet(from.fieldRef, (ref) =>
      fieldSelectorProblems(ref, child(path, "fieldRef"), ENV_FIELDS),
    ),
    ...ifSet(from.resourceFieldRef, (ref) =>
      resourceSelectorProblems(ref, child(path, "resourceFieldRef"), false),
    ),
    ...ifSet(from.configMapKeyRef, (ref) =>
      keySelectorProblems(ref, child(path, "configMapKeyRef")),
    ),
    ...ifSet(from.secretKeyRef, (ref) => keySelectorProblems(ref, child(path, "secretKeyRef"))),
    ...ifSet(from.fileKeyRef, (ref) => fileKeyProblems(ref, child(path, "fileKeyRef"))),
  ];
  if (sources === 0)
    problems.push(
      invalid(
        path,
        "",
        "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
      ),
    );
  else if (value !== "")
    problems.push(invalid(path, "", "may not be specified when `value` is not empty"));
  else if (sources > 1)
    problems.push(invalid(path, "", "may not have more than one field specified at a time"));
  return problems;
}

/** Environment variables of a container. */
export const envProblems = (env: readonly EnvVar[] | undefined, path: string): Problems =>
  eachOf(env, path, ({ name, value = "", valueFrom }, at) => [
    ...(name === ""
      ? [required(child(at, "name"))]
      : faultsAt(child(at, "name"), name, environmentNameFaults(name))),
    ...ifSet(valueFrom, (from) => valueFromProblems(from, value, child(at, "valueFrom"))),
  ]);

/** A name that is the beginning of generated ones may end in a dash. */
const referenceProblems = ({ name = "" }: { readonly name?: string }, path: string): Problems =>
  name === ""
    ? [required(child(path, "name"))]
    : faultsAt(
        child(path, "name"),
        name,
        dns1123SubdomainFaults(
          name.endsWith("-") && name.length > 1 ? `${name.slice(0, -1)}a` : name,
        ),
      );

/** Whole config maps and secrets as environment. */
export const envFromProblems = (
  sources: readonly EnvFromSource[] | undefined,
  path: string,
): Problems =>
  eachOf(sources, path, ({ prefix = "", configMapRef, secretRef }, at) => {
    const count = (configMapRef === undefined ? 0 : 1) + (secretRef === undefined ? 0 : 1);
    return [
      ...(prefix === ""
        ? FINE
        : faultsAt(child(at, "prefix"), prefix, environmentNameFaults(prefix))),
      ...ifSet(configMapRef, (ref) => referenceProblems(ref, child(at, "configMapRef"))),
      ...ifSet(secretRef, (ref) => referenceProblems(ref, child(at, "secretRef"))),
      ...(count === 0
        ? [invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")]
        : []),
      ...(count > 1
        ? [invalid(path, "", "may not have more than one field specified at a time")]
        : []),
    ];
  });

/** Variables read from files need an empty directory as volume. */
export function fileKeyVolumeProblems(
  spec: PodSpec,
  env: readonly EnvVar[] | undefined,
  path: string,
): Problems {
  return eachOf(env, path, ({ valueFrom }, at) =>
    ifSet(valueFrom?.fileKeyRef, ({ volumeName }) => {
      const namePath = child(at, "valueFrom.fileKeyRef.volumeName");
      const volume = spec.volumes?.find(({ name }) => name === volumeName);
      if (volume === undefined) return [notFound(namePath, volumeName)];
      return volume.emptyDir === undefined
        ? [invalid(namePath, volumeName, "referenced volume must be of type emptyDir")]
        : FINE;
    }),
  );
}

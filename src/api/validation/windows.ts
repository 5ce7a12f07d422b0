// pure

import { forbidden, invalid } from "../decode/field-problem.ts";
import type { PodSpec, WindowsSecurityContextOptions } from "../generated/types.ts";
import { allContainers, CONTAINER_FIELDS, type PlacedContainer } from "../pod/pod.ts";
import { byteLength, dns1123SubdomainFaults } from "../text/names.ts";
import { child, entry, FINE, faultsAt, ifSet, type Problems } from "./fields.ts";

const MAX_CREDENTIAL_KIB = 64;
const MAX_DOMAIN_LENGTH = 256;
const MAX_USER_LENGTH = 104;

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is searched for
const CONTROL = /[\u0000-\u001f\u007f]/;
const NETBIOS = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const DNS_LABEL = /^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$/;
const USER_FORBIDDEN = /["/\\:;|=,+*?<>@[\]]/;

function userNameFaults(name: string): readonly string[] {
  if (name === "") return ["runAsUserName cannot be an empty string"];
  if (CONTROL.test(name)) return ["runAsUserName cannot contain control characters"];
  const parts = name.split("\\", 3);
  if (parts.length > 2) return ["runAsUserName cannot contain more than one backslash"];
  const domain = parts.length === 2 ? parts[0] : undefined;
  const user = parts.at(-1) ?? "";
  const faults: string[] = [];
  if (domain !== undefined && byteLength(domain) >= MAX_DOMAIN_LENGTH)
    faults.push(`runAsUserName's Domain length must be under ${MAX_DOMAIN_LENGTH} characters`);
  if (
    domain !== undefined &&
    !NETBIOS.test(domain) &&
    !domain.split(".").every((label) => DNS_LABEL.test(label))
  )
    faults.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
  if (user === "") faults.push("runAsUserName's User cannot be empty");
  else if (byteLength(user) > MAX_USER_LENGTH)
    faults.push(
      `runAsUserName's User length must not be longer than ${MAX_USER_LENGTH} characters`,
    );
  if (/^[. ]+$/.test(user))
    faults.push("runAsUserName's User cannot contain only periods or spaces");
  if (USER_FORBIDDEN.test(user))
    faults.push(`runAsUserName's User cannot contain the following characters: "/\\:;|=,+*?<>@[]`);
  return faults;
}

function credentialFaults(spec: string): readonly string[] {
  if (spec === "") return ["gmsaCredentialSpec cannot be an empty string"];
  return byteLength(spec) > MAX_CREDENTIAL_KIB * 1024
    ? [`gmsaCredentialSpec size must be under ${MAX_CREDENTIAL_KIB} KiB`]
    : [];
}

/** Settings that only mean something on Windows, which must be well-formed all the same. */
export const windowsOptionsProblems = (
  options: WindowsSecurityContextOptions,
  path: string,
): Problems => [
  ...ifSet(options.gmsaCredentialSpecName, (name) =>
    faultsAt(child(path, "gmsaCredentialSpecName"), name, dns1123SubdomainFaults(name)),
  ),
  ...ifSet(options.gmsaCredentialSpec, (spec) =>
    faultsAt(child(path, "gmsaCredentialSpec"), spec, credentialFaults(spec)),
  ),
  ...ifSet(options.runAsUserName, (name) =>
    faultsAt(child(path, "runAsUserName"), name, userNameFaults(name)),
  ),
];

/** Field path of a container of the pod. */
export const containerPath = ({ kind, index }: PlacedContainer): string =>
  entry(child("spec", CONTAINER_FIELDS[kind]), index);

/** Host process containers: all or none, and in the node's network. */
export function hostProcessProblems(spec: PodSpec, allowPrivileged: boolean): Problems {
  const ofPod = spec.securityContext?.windowsOptions?.hostProcess;
  const containers = allContainers({ spec });
  const own = containers.map(
    ({ container }) => container.securityContext?.windowsOptions?.hostProcess,
  );
  const conflicts = containers.flatMap((placed, i) =>
    ofPod !== undefined && own[i] !== undefined && own[i] !== ofPod
      ? [
          invalid(
            child(containerPath(placed), "securityContext.windowsOptions.hostProcess"),
            own[i],
            `pod hostProcess value must be identical if both are specified, was ${ofPod}`,
          ),
        ]
      : [],
  );
  const count = own.filter((value) => value ?? ofPod ?? false).length;
  if (count === 0) return conflicts;
  return [
    ...conflicts,
    ...(count === containers.length
      ? []
      : [
          invalid(
            "spec",
            "",
            "If pod contains any hostProcess containers then all containers must be HostProcess containers",
          ),
        ]),
    ...(spec.hostNetwork === true
      ? []
      : [
          invalid(
            "spec.hostNetwork",
            false,
            "hostNetwork must be true if pod contains any hostProcess containers",
          ),
        ]),
    ...(allowPrivileged
      ? []
      : [forbidden("spec", "hostProcess containers are disallowed by cluster policy")]),
  ];
}

const LINUX_POD_FIELDS = ["hostUsers", "shareProcessNamespace"] as const;
const LINUX_POD_FLAGS = ["hostPID", "hostIPC"] as const;
const LINUX_POD_CONTEXT = [
  "appArmorProfile",
  "seLinuxOptions",
  "seccompProfile",
  "fsGroup",
  "fsGroupChangePolicy",
  "sysctls",
  "runAsUser",
  "runAsGroup",
  "supplementalGroups",
  "supplementalGroupsPolicy",
  "seLinuxChangePolicy",
] as const;
const LINUX_CONTEXT = [
  "appArmorProfile",
  "seLinuxOptions",
  "seccompProfile",
  "capabilities",
  "readOnlyRootFilesystem",
  "privileged",
  "allowPrivilegeEscalation",
  "procMount",
  "runAsUser",
  "runAsGroup",
] as const;

const notOnWindows = (path: string) => forbidden(path, "cannot be set for a windows pod");

/** Fields that a pod for Windows cannot have. */
export function windowsPodProblems(spec: PodSpec): Problems {
  const context = spec.securityContext ?? {};
  return [
    ...LINUX_POD_CONTEXT.filter((name) => context[name] !== undefined).map((name) =>
      notOnWindows(`spec.securityContext.${name}`),
    ),
    ...LINUX_POD_FIELDS.filter((name) => spec[name] !== undefined).map((name) =>
      notOnWindows(`spec.${name}`),
    ),
    ...LINUX_POD_FLAGS.filter((name) => spec[name] === true).map((name) =>
      notOnWindows(`spec.${name}`),
    ),
    ...allContainers({ spec }).flatMap((placed) =>
      LINUX_CONTEXT.filter((name) => placed.container.securityContext?.[name] !== undefined).map(
        (name) => notOnWindows(child(containerPath(placed), `securityContext.${name}`)),
      ),
    ),
  ];
}

/** Fields that a pod for Linux cannot have. */
export function linuxPodProblems(spec: PodSpec): Problems {
  const message = "windows options cannot be set for a linux pod";
  return [
    ...(spec.securityContext?.windowsOptions === undefined
      ? FINE
      : [forbidden("spec.securityContext.windowsOptions", message)]),
    ...allContainers({ spec }).flatMap((placed) =>
      placed.container.securityContext?.windowsOptions === undefined
        ? []
        : [forbidden(child(containerPath(placed), "securityContext.windowsOptions"), message)],
    ),
  ];
}

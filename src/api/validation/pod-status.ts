// pure
/** Validates a new status of a pod (pkg/apis/core/validation ValidatePodStatusUpdate, Kubernetes 1.36). */

import { duplicate, forbidden, invalid, unsupported } from "../decode/field-problem.ts";
import type {
  Container,
  ContainerStatus,
  Pod,
  PodCondition,
  PodStatus,
  ResourceStatus,
} from "../generated/types.ts";
import { mayRestartAll, restartVerdict } from "../pod/pod.ts";
import { inclusiveRange, qualifiedNameFaults } from "../text/names.ts";
import { child, eachOf, entry, FINE, faultsAt, ifSet, type Problems } from "./fields.ts";
import { ipProblems } from "./ip.ts";

/** The lists of container statuses, with the containers of the spec that they are of. */
const LISTS = {
  containerStatuses: "containers",
  initContainerStatuses: "initContainers",
  ephemeralContainerStatuses: "ephemeralContainers",
} as const;

/** A list of container statuses. */
type StatusList = keyof typeof LISTS;

/** Their names. */
export const STATUS_LISTS = Object.keys(LISTS) as readonly StatusList[];

/** Errors of a status that replaces the previous one; all rules of the API for `pods/status`. */
export function podStatusProblems(now: Pod, before: Pod): Problems {
  const status = now.status ?? {};
  return [
    ...generationProblems(status),
    ...eachOf(status.conditions, "status.conditions", conditionProblems),
    ...bindingProblems(now, before),
    ...STATUS_LISTS.flatMap((list) => transitionProblems(before, status, list)),
    ...STATUS_LISTS.flatMap((list) => containerStatusProblems(now, list)),
    ...addressProblems(now, before),
    ...claimProblems(now),
  ];
}

/** The pod with the QoS class it was given, where the new status leaves it out (pod strategy of the API server). */
export function withQosClass(now: Pod, before: Pod): Pod {
  const { qosClass } = before.status ?? {};
  if ((now.status?.qosClass ?? "") !== "" || qosClass === undefined) return now;
  return { ...now, status: { ...now.status, qosClass } };
}

/** A pod whose `podIP` is the first of `podIPs`: one that is missing is filled in, and where both differ `podIP` counts. */
export function withAgreeingIps(pod: Pod): Pod {
  const { podIP = "", podIPs = [] } = pod.status ?? {};
  const first = podIPs[0]?.ip ?? "";
  if (podIP === first) return pod;
  const agreed = podIP === "" ? { podIP: first } : { podIPs: [{ ip: podIP }] };
  return { ...pod, status: { ...pod.status, ...agreed } };
}

/** A container that the API says has terminated for good, and that a new status says has not. */
interface RefusedTransition {
  readonly list: StatusList;
  /** Position in the status before. */
  readonly index: number;
  readonly name: string;
}

/** The containers of a list that may not leave `terminated` but do in the new status. */
export function refusedTransitions(
  before: Pod,
  now: PodStatus,
  list: StatusList,
): readonly RefusedTransition[] {
  return (before.status?.[list] ?? []).flatMap((old, index) => {
    const exitCode = old.state?.terminated?.exitCode;
    if (exitCode === undefined) return [];
    const next = now[list]?.find(({ name }) => name === old.name);
    if (next === undefined || next.state?.terminated !== undefined) return [];
    return mayRestart(before, list, old.name, exitCode) ? [] : [{ list, index, name: old.name }];
  });
}

function mayRestart(pod: Pod, list: StatusList, name: string, exitCode: number): boolean {
  if (list === "ephemeralContainerStatuses") return false;
  if (mayRestartAll(pod)) return true;
  const container = pod.spec?.[LISTS[list]]?.find((each) => each.name === name);
  return container !== undefined && restartVerdict(pod, container, exitCode) !== "stay";
}

const transitionProblems = (before: Pod, now: PodStatus, list: StatusList): Problems =>
  refusedTransitions(before, now, list).map(({ index }) =>
    forbidden(
      child(entry(child("status", list), index), "state"),
      "may not be transitioned to non-terminated state",
    ),
  );

function generationProblems({ observedGeneration }: PodStatus): Problems {
  return generationAt("status.observedGeneration", observedGeneration);
}

const generationAt = (path: string, generation: number | undefined): Problems =>
  ifSet(generation, (value) =>
    value < 0 ? [invalid(path, value, "must be a non-negative integer")] : FINE,
  );

/** Types that are no qualified names but always were there. */
const OLD_TYPES: ReadonlySet<string> = new Set(["PodScheduled", "Ready", "Initialized"]);

const conditionProblems = ({ type, observedGeneration }: PodCondition, path: string): Problems => [
  ...generationAt(child(path, "observedGeneration"), observedGeneration),
  ...(OLD_TYPES.has(type) ? FINE : faultsAt(child(path, "Type"), type, qualifiedNameFaults(type))),
];

function bindingProblems(now: Pod, before: Pod): Problems {
  const [status = {}, old = {}] = [now.status, before.status];
  const nominated = status.nominatedNodeName ?? "";
  const isNew = nominated !== "" && nominated !== (old.nominatedNodeName ?? "");
  return [
    ...((now.spec?.nodeName ?? "") === (before.spec?.nodeName ?? "")
      ? FINE
      : [forbidden("status.nodeName", "may not be changed directly")]),
    ...(isNew && (before.spec?.nodeName ?? "") !== ""
      ? [
          forbidden(
            "status.nominatedNodeName",
            "may not be set on pods that are already bound to a node",
          ),
        ]
      : FINE),
    ...((old.qosClass ?? "") === "" || status.qosClass === old.qosClass
      ? FINE
      : [invalid("status.qosClass", status.qosClass, "field is immutable")]),
  ];
}

function containerStatusProblems(pod: Pod, list: StatusList): Problems {
  const containers: readonly Container[] = pod.spec?.[LISTS[list]] ?? [];
  return eachOf(pod.status?.[list], child("status", list), (status, path) => [
    ...userProblems(status, path),
    ...deviceProblems(
      status,
      list === "ephemeralContainerStatuses"
        ? "none"
        : containers.find(({ name }) => name === status.name),
      child(path, "allocatedResourcesStatus"),
    ),
  ]);
}

/** Largest uid and gid. */
const MAX_ID = 2 ** 31 - 1;

function userProblems({ user }: ContainerStatus, path: string): Problems {
  const { linux } = user ?? {};
  if (!linux) return FINE;
  const at = child(child(path, "user"), "linux");
  const inRange = (id: number, where: string): Problems =>
    id >= 0 && id <= MAX_ID ? FINE : [invalid(where, id, inclusiveRange(0, MAX_ID))];
  return [
    ...inRange(linux.uid, child(at, "uid")),
    ...inRange(linux.gid, child(at, "gid")),
    ...eachOf(linux.supplementalGroups, child(at, "supplementalGroups"), inRange),
  ];
}

const HEALTHS = ["Healthy", "Unhealthy", "Unknown"];

/** A status of a container that the spec does not have is let be; ephemeral ones have no resources. */
function deviceProblems(
  { allocatedResourcesStatus }: ContainerStatus,
  container: Container | "none" | undefined,
  path: string,
): Problems {
  if (container === "none")
    return allocatedResourcesStatus === undefined
      ? FINE
      : [forbidden(path, "cannot be set for a container status")];
  return eachOf(allocatedResourcesStatus, path, (status, at) => [
    ...(container ? resourceNameProblems(status, container, child(at, "name")) : FINE),
    ...healthProblems(status, child(at, "resources")),
  ]);
}

function resourceNameProblems(
  { name }: ResourceStatus,
  { resources }: Container,
  path: string,
): Problems {
  if (!name.startsWith("claim:"))
    return Object.hasOwn(resources?.requests ?? {}, name)
      ? FINE
      : [invalid(path, name, "must match one of the container's resource requests")];
  const known = (resources?.claims ?? []).some(
    ({ name: claim, request = "" }) =>
      name === (request === "" ? `claim:${claim}` : `claim:${claim}/${request}`),
  );
  const message =
    "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty";
  return known ? FINE : [invalid(path, name, message)];
}

function healthProblems({ resources }: ResourceStatus, path: string): Problems {
  const seen = new Set<string>();
  return eachOf(resources, path, ({ resourceID, health = "" }, at) => {
    const isRepeated = seen.has(resourceID);
    seen.add(resourceID);
    return [
      ...(HEALTHS.includes(health) ? FINE : [unsupported(child(at, "health"), health, HEALTHS)]),
      ...(isRepeated ? [duplicate(child(at, "resourceID"), resourceID)] : FINE),
    ];
  });
}

function addressProblems({ status = {} }: Pod, before: Pod): Problems {
  const [first] = status.hostIPs ?? [];
  return [
    ...ipListProblems("status.podIPs", status.podIPs, before.status?.podIPs),
    ...(first && (first.ip ?? "") !== (status.hostIP ?? "")
      ? [invalid("status.hostIPs[0].ip", first.ip, "must be equal to `hostIP`")]
      : FINE),
    ...ipListProblems("status.hostIPs", status.hostIPs, before.status?.hostIPs),
  ];
}

type Addresses = readonly { readonly ip?: string }[] | undefined;

/** New addresses are well-formed; of each family there is one at most. */
function ipListProblems(path: string, now: Addresses, before: Addresses): Problems {
  const ips = (now ?? []).map(({ ip = "" }) => ip);
  const isIpv6 = (ip: string) => ip.includes(":");
  const isPair = ips.length === 2 && ips.filter(isIpv6).length === 1;
  return [
    ...eachOf(ips, path, (ip, at) =>
      before?.some((old) => old.ip === ip) ? FINE : ipProblems(at, ip),
    ),
    ...(ips.length < 2 || isPair
      ? FINE
      : [invalid(path, now, "may specify no more than one IP for each IP family")]),
  ];
}

function claimProblems({ spec, status }: Pod): Problems {
  const seen = new Set<string>();
  return eachOf(status?.resourceClaimStatuses, "status.resourceClaimStatuses", ({ name }, path) => {
    const isRepeated = seen.has(name);
    seen.add(name);
    return [
      ...(spec?.resourceClaims?.some((claim) => claim.name === name)
        ? FINE
        : [
            invalid(
              child(path, "name"),
              name,
              "must match the name of an entry in `spec.resourceClaims`",
            ),
          ]),
      ...(isRepeated ? [duplicate(child(path, "name"), name)] : FINE),
    ];
  });
}

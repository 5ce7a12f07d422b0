// pure
import type { Container } from "../../../api/generated/types.ts";
import { sidecarsOf } from "../../../api/pod/pod.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import type { ProbeTarget } from "../../../api/probe-target.ts";
import { newestSandbox } from "./observed.ts";
import { derivePhase } from "./phase.ts";
import type { PodRecord } from "./record.ts";
import { type ContainerStanding, standingsOf } from "./standing.ts";

/** A pod with its containers to probe. */
interface PodToProbe {
  readonly pod: IdentifiedPod;
  readonly ip: string | undefined;
  readonly ended: boolean;
  readonly ending: boolean;
  readonly containers: readonly ProbeTarget[];
}

/**
 * The probes a pod shall have now; `undefined` when it shall have none. Derived on every turn: the probes
 * module starts and stops what differs.
 */
export function probeTargets(
  record: PodRecord,
  hostIp: string | undefined,
): PodToProbe | undefined {
  const { life, pod } = record;
  if (life.kind !== "running" && life.kind !== "terminating") return undefined;
  if (![...(pod.spec?.containers ?? []), ...sidecarsOf(pod)].some(hasProbe)) return undefined;
  const standings = standingsOf(record);
  const sidecars = standings.init.filter(({ kind }) => kind === "sidecar");
  const probed = [...standings.regular, ...sidecars].filter(({ container }) => hasProbe(container));
  const phase = derivePhase(record, standings);
  return {
    pod,
    ip: pod.spec?.hostNetwork === true ? hostIp : newestSandbox(record.observed)?.ips[0],
    ended: phase === "Succeeded" || phase === "Failed",
    ending: life.kind === "terminating",
    containers: probed.map((standing) => target(record, standing)),
  };
}

function hasProbe({ livenessProbe, readinessProbe, startupProbe }: Container): boolean {
  return livenessProbe !== undefined || readinessProbe !== undefined || startupProbe !== undefined;
}

function target(
  { life }: PodRecord,
  { container, kind, latest, verdicts, started, restart }: ContainerStanding,
): ProbeTarget {
  return {
    spec: container,
    kind: kind === "sidecar" ? "sidecar" : "regular",
    containerId: latest?.id,
    running: latest?.state === "running",
    startedAtMs: latest?.startedAtMs,
    started,
    confirmed: {
      startup: verdicts?.startup === "success",
      readiness: verdicts?.readiness === "success",
    },
    comesBack: life.kind === "running" && (!latest || restart?.restart !== false),
  };
}

// pure
import type { Container } from "../../../api/generated/types.ts";
import type { PodUid } from "../../../api/observation.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import type { ProbeTarget } from "../../../api/probe-target.ts";
import { latestAttempt, newestSandbox } from "./observed.ts";
import { derivePhase, isStarted } from "./phase.ts";
import type { PodRecord } from "./record.ts";
import { decideRestart, initContainers, regularContainers, type SpecContainer } from "./restart.ts";

/** A pod with its containers to probe. */
interface PodToProbe {
  readonly uid: PodUid;
  readonly pod: IdentifiedPod;
  readonly ip: string | undefined;
  readonly ended: boolean;
  readonly ending: boolean;
  readonly containers: readonly ProbeTarget[];
}

/**
 * The probes a pod shall have now; `undefined` when it shall have none. Said on every turn: the probes
 * module starts and stops what differs.
 */
export function probeTargets(
  record: PodRecord,
  hostIp: string | undefined,
): PodToProbe | undefined {
  const { life, pod } = record;
  if (life.kind !== "running" && life.kind !== "terminating") return undefined;
  const sidecars = initContainers(pod).filter(({ kind }) => kind === "sidecar");
  const specs = [...regularContainers(pod), ...sidecars].filter(({ container }) =>
    hasProbe(container),
  );
  if (specs.length === 0) return undefined;
  const phase = derivePhase(record);
  return {
    uid: record.uid,
    pod,
    ip: pod.spec?.hostNetwork === true ? hostIp : newestSandbox(record.observed)?.ips[0],
    ended: phase === "Succeeded" || phase === "Failed",
    ending: life.kind === "terminating",
    containers: specs.map((spec) => target(record, spec)),
  };
}

function hasProbe({ livenessProbe, readinessProbe, startupProbe }: Container): boolean {
  return livenessProbe !== undefined || readinessProbe !== undefined || startupProbe !== undefined;
}

function target(record: PodRecord, spec: SpecContainer): ProbeTarget {
  const attempt = latestAttempt(record.observed, spec.container.name);
  const ended = attempt?.state === "exited" ? attempt : undefined;
  const known = record.tracked.probes[spec.container.name];
  const verdicts = known?.containerId === attempt?.id ? known : undefined;
  return {
    spec: spec.container,
    kind: spec.kind === "sidecar" ? "sidecar" : "regular",
    containerId: attempt?.id,
    running: attempt?.state === "running",
    startedAtMs: attempt?.startedAtMs,
    started: attempt?.state === "running" && isStarted(record, spec),
    confirmed: {
      startup: verdicts?.startup === "success",
      readiness: verdicts?.readiness === "success",
    },
    comesBack:
      record.life.kind === "running" && (!ended || decideRestart(record.pod, spec, ended).restart),
  };
}

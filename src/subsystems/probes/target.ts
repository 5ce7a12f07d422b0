// pure
import type { Container, Probe } from "../../api/generated/types.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { ProbeKind } from "../../api/probe-result.ts";
import type { ProbeTarget } from "../../api/probe-target.ts";
import { type ProbeSettings, settingKey } from "./settings.ts";
import type { ProbeFacts, ProbeRules } from "./verdict.ts";

/** A pod whose containers are probed, as it is now. */
export interface ProbedPod {
  readonly pod: IdentifiedPod;
  /** Primary address; `undefined` while there is none. */
  readonly ip: string | undefined;
  /** The phase is Succeeded or Failed. */
  readonly ended: boolean;
  /** Deletion was asked for, or the pod is ended for another cause: liveness and startup stop, but for sidecars. */
  readonly ending: boolean;
}

/** One container as the module knows it. */
export interface Watched extends ProbedPod {
  readonly target: ProbeTarget;
  readonly settings: ProbeSettings;
}

const KINDS: readonly ProbeKind[] = ["startup", "readiness", "liveness"];

/** The probe of a kind, if the container has one. */
export function probeOf(container: Container, kind: ProbeKind): Probe | undefined {
  switch (kind) {
    case "startup":
      return container.startupProbe;
    case "readiness":
      return container.readinessProbe;
    case "liveness":
      return container.livenessProbe;
    default:
      return kind satisfies never;
  }
}

/** The kinds of probes a container has, in the order in which the Go kubelet makes their workers. */
export function kindsOf(container: Container): readonly ProbeKind[] {
  return KINDS.filter((kind) => probeOf(container, kind) !== undefined);
}

/**
 * Numbers of a container's probe, with the API's defaults for what is missing or out of range, and what
 * the pod's annotations say in their place.
 */
export function rulesOf(
  container: Container,
  kind: ProbeKind,
  settings: Pick<ProbeSettings, "periodsMs" | "timeoutsMs">,
): ProbeRules {
  const probe = probeOf(container, kind) ?? {};
  const key = settingKey(container.name, kind);
  return {
    kind,
    periodMs: atLeastOne(probe.periodSeconds, 10) * 1000,
    finePeriodMs: settings.periodsMs.get(key),
    timeoutMs: settings.timeoutsMs.get(key) ?? atLeastOne(probe.timeoutSeconds, 1) * 1000,
    initialDelaySeconds: Math.max(0, probe.initialDelaySeconds ?? 0),
    successThreshold: atLeastOne(probe.successThreshold, 1),
    failureThreshold: atLeastOne(probe.failureThreshold, 3),
  };
}

function atLeastOne(value: number | undefined, fallback: number): number {
  return value === undefined || value < 1 ? fallback : value;
}

/**
 * Inputs of `consider` from pod and container. Sidecars serve the other containers until these have ended: all
 * their probes go on (prober_manager.go StopLivenessAndStartup).
 */
export function probeFactsOf({ target, ended, ending }: Watched, kind: ProbeKind): ProbeFacts {
  return {
    podEnded: ended,
    podEnding: ending && target.kind !== "sidecar",
    containerId: target.containerId,
    running: target.running,
    startedAtMs: target.startedAtMs,
    started: target.started,
    confirmed: kind !== "liveness" && target.confirmed[kind],
    comesBack: target.comesBack,
  };
}

/** A port by number or by name, which a number in quotes is too; what cannot be a port is an error text. */
export function resolvePort(
  port: number | string,
  container: Container,
): { readonly port: number } | { readonly error: string } {
  const number =
    typeof port === "number"
      ? port
      : container.ports?.find(({ name }) => name === port)?.containerPort;
  if (number === undefined) return { error: `port ${JSON.stringify(port)} not found` };
  return number > 0 && number < 65_536
    ? { port: number }
    : { error: `invalid port number: ${number}` };
}

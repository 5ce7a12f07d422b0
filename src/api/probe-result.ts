// pure
/** The three probes a container may have. */
export type ProbeKind = "liveness" | "readiness" | "startup";

/** The result of a probe; `unknown` only before the first result of a startup probe. */
export type ProbeResult = "success" | "failure" | "unknown";

/** The result that holds for a container until its first probe has one (prober/worker.go newWorker). */
export const INITIAL_PROBE_RESULT: Readonly<Record<ProbeKind, ProbeResult>> = {
  readiness: "failure",
  liveness: "success",
  startup: "unknown",
};

/** The probe result of one attempt of a container. */
export interface ContainerProbeResult {
  readonly container: string;
  readonly containerId: string;
  readonly probe: ProbeKind;
  readonly result: ProbeResult;
}

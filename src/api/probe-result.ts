// pure
/** The three probes a container may have. */
export type ProbeKind = "liveness" | "readiness" | "startup";

/** What a probe says of a container; `unknown` only before the first word of a startup probe. */
export type ProbeResult = "success" | "failure" | "unknown";

// pure

import { forbidden, invalid, required, unsupported } from "../decode/field-problem.ts";
import type {
  Container,
  HTTPGetAction,
  Lifecycle,
  LifecycleHandler,
  Pod,
  Probe,
} from "../generated/types.ts";
import type { ProbeHandlerName } from "../pod/probe-handlers.ts";
import { httpHeaderNameFaults, portNameFaults, portNumberFaults } from "../text/names.ts";
import { child, FINE, faultsAt, ifSet, notNegative, type Problems } from "./fields.ts";

const portProblems = (port: number | string, path: string): Problems =>
  faultsAt(path, port, typeof port === "number" ? portNumberFaults(port) : portNameFaults(port));

const HTTP_SCHEMES = ["HTTP", "HTTPS"] as const;
const HTTP_PROTOCOLS = ["HTTP1", "HTTP2"] as const;
const GRPC_MODES = ["Plaintext", "TLS"] as const;

function protocolProblems({ protocol, scheme, host }: HTTPGetAction, path: string): Problems {
  const at = child(path, "protocol");
  if (protocol === undefined) return FINE;
  if (!(HTTP_PROTOCOLS as readonly string[]).includes(protocol))
    return [unsupported(at, protocol, HTTP_PROTOCOLS)];
  if (protocol !== "HTTP2") return FINE;
  return [
    ...(scheme === "HTTPS" ? [invalid(at, protocol, "is only supported with HTTP (H2C)")] : []),
    ...(host ? [forbidden(child(path, "host"), "may not be set with the protocol HTTP2")] : []),
  ];
}

const modeProblems = (mode: string | undefined, path: string): Problems =>
  mode === undefined || (GRPC_MODES as readonly string[]).includes(mode)
    ? FINE
    : [unsupported(path, mode, GRPC_MODES)];

function httpGetProblems(action: HTTPGetAction, path: string): Problems {
  const { path: target = "", scheme = "", httpHeaders = [] } = action;
  return [
    ...(target === "" ? [required(child(path, "path"))] : []),
    ...portProblems(action.port, child(path, "port")),
    ...((HTTP_SCHEMES as readonly string[]).includes(scheme)
      ? []
      : [unsupported(child(path, "scheme"), scheme, HTTP_SCHEMES)]),
    ...protocolProblems(action, path),
    ...httpHeaders.flatMap(({ name }) =>
      faultsAt(child(path, "httpHeaders"), name, httpHeaderNameFaults(name)),
    ),
  ];
}

type Handler = LifecycleHandler & Pick<Probe, ProbeHandlerName>;

type HandlerName = ProbeHandlerName | keyof LifecycleHandler;

/** Validators of each handler of a probe or hook; `graceSeconds` are those of the pod. */
const HANDLER_CHECKS: {
  readonly [K in HandlerName]: (
    action: NonNullable<Handler[K]>,
    path: string,
    graceSeconds: number | undefined,
  ) => Problems;
} = {
  exec: ({ command = [] }, path) =>
    command.length === 0 ? [required(child(path, "command"))] : FINE,
  httpGet: httpGetProblems,
  tcpSocket: ({ port }, path) => portProblems(port, child(path, "port")),
  grpc: ({ port, mode }, path) => [
    ...portProblems(port, child(path, "port")),
    ...modeProblems(mode, child(path, "mode")),
  ],
  sleep: ({ seconds = 0 }, path, graceSeconds) =>
    graceSeconds !== undefined && (seconds < 0 || seconds > graceSeconds)
      ? [
          invalid(
            path,
            seconds,
            `must be non-negative and less than terminationGracePeriodSeconds (${graceSeconds})`,
          ),
        ]
      : FINE,
};

const HANDLER_NAMES = Object.keys(HANDLER_CHECKS) as HandlerName[];

const handlerKindProblems = <K extends HandlerName>(
  handler: Handler,
  kind: K,
  path: string,
  graceSeconds: number | undefined,
): Problems => HANDLER_CHECKS[kind](handler[kind] as NonNullable<Handler[K]>, path, graceSeconds);

function handlerProblems(
  handler: Handler,
  path: string,
  graceSeconds: number | undefined,
): Problems {
  const set = HANDLER_NAMES.filter((kind) => handler[kind] !== undefined);
  if (set.length === 0) return [required(path, "must specify a handler type")];
  return set.flatMap((kind, i) =>
    i === 0
      ? handlerKindProblems(handler, kind, child(path, kind), graceSeconds)
      : [forbidden(child(path, kind), "may not specify more than 1 handler type")],
  );
}

function probeProblems(probe: Probe, path: string, graceSeconds: number | undefined): Problems {
  const { terminationGracePeriodSeconds: grace } = probe;
  return [
    ...handlerProblems(probe, path, graceSeconds),
    ...notNegative(child(path, "initialDelaySeconds"), probe.initialDelaySeconds),
    ...notNegative(child(path, "timeoutSeconds"), probe.timeoutSeconds),
    ...notNegative(child(path, "periodSeconds"), probe.periodSeconds),
    ...notNegative(child(path, "successThreshold"), probe.successThreshold),
    ...notNegative(child(path, "failureThreshold"), probe.failureThreshold),
    ...(grace !== undefined && grace <= 0
      ? [invalid(child(path, "terminationGracePeriodSeconds"), grace, "must be greater than 0")]
      : []),
  ];
}

/** One success is enough to be alive or started. */
const onlyOneSuccess = ({ successThreshold = 0 }: Probe, path: string): Problems =>
  successThreshold === 1
    ? FINE
    : [invalid(child(path, "successThreshold"), successThreshold, "must be 1")];

const noOwnGrace = ({ terminationGracePeriodSeconds: grace }: Probe, path: string): Problems =>
  grace === undefined
    ? FINE
    : [
        invalid(
          child(path, "terminationGracePeriodSeconds"),
          grace,
          "must not be set for readinessProbes",
        ),
      ];

const LINUX_SIGNALS: readonly string[] = [
  ..."ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT RTMAX"
    .split(" ")
    .concat(Array.from({ length: 14 }, (_, i) => `RTMAX-${i + 1}`))
    .concat(["RTMIN"])
    .concat(Array.from({ length: 15 }, (_, i) => `RTMIN+${i + 1}`))
    .concat(
      "SEGV STKFLT STOP SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ".split(
        " ",
      ),
    )
    .map((name) => `SIG${name}`),
].sort();
const WINDOWS_SIGNALS: readonly string[] = ["SIGKILL", "SIGTERM"];

function stopSignalProblems(signal: string, os: string | undefined, path: string): Problems {
  if (os === undefined)
    return [forbidden(path, "may not be set for containers with empty `spec.os.name`")];
  const signals = os === "windows" ? WINDOWS_SIGNALS : LINUX_SIGNALS;
  return signals.includes(signal) ? FINE : [unsupported(path, signal, signals)];
}

function lifecycleProblems(lifecycle: Lifecycle, path: string, pod: Pod): Problems {
  const grace = pod.spec?.terminationGracePeriodSeconds;
  return [
    ...ifSet(lifecycle.postStart, (hook) => handlerProblems(hook, child(path, "postStart"), grace)),
    ...ifSet(lifecycle.preStop, (hook) => handlerProblems(hook, child(path, "preStop"), grace)),
    ...ifSet(lifecycle.stopSignal, (signal) =>
      stopSignalProblems(signal, pod.spec?.os?.name, child(path, "stopSignal")),
    ),
  ];
}

/** Hooks and probes of a container that stays: regular ones and sidecars. */
export function watchProblems(pod: Pod, container: Container, path: string): Problems {
  const grace = pod.spec?.terminationGracePeriodSeconds;
  const probe = (
    name: "livenessProbe" | "readinessProbe" | "startupProbe",
    also: (probe: Probe, path: string) => Problems,
  ): Problems =>
    ifSet(container[name], (value) => {
      const at = child(path, name);
      return [...probeProblems(value, at, grace), ...also(value, at)];
    });
  return [
    ...ifSet(container.lifecycle, (hooks) =>
      lifecycleProblems(hooks, child(path, "lifecycle"), pod),
    ),
    ...probe("livenessProbe", onlyOneSuccess),
    ...probe("readinessProbe", noOwnGrace),
    ...probe("startupProbe", onlyOneSuccess),
  ];
}

const WATCHES = ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] as const;

/** An init container that runs to its end has nothing to be watched for. */
export const noWatchProblems = (container: Container, path: string): Problems =>
  WATCHES.filter((name) => container[name] !== undefined).map((name) =>
    forbidden(child(path, name), "may not be set for init containers without restartPolicy=Always"),
  );

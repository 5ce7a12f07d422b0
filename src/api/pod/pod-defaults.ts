// pure
import type {
  Container,
  ContainerPort,
  EnvVar,
  EphemeralContainer,
  HTTPGetAction,
  Lifecycle,
  LifecycleHandler,
  Pod,
  PodSpec,
  Probe,
} from "../generated/types.ts";
import { defaultPullPolicy } from "../text/image-reference.ts";
import { requestsFromLimits, roundedList, roundedResources } from "./resource-defaults.ts";
import { defaultFieldSelector, defaultVolume } from "./volume-defaults.ts";

/** Default of `terminationGracePeriodSeconds`. */
const DEFAULT_TERMINATION_GRACE_SECONDS = 30;
/** Default of `terminationMessagePath`. */
const DEFAULT_TERMINATION_MESSAGE_PATH = "/dev/termination-log";
const DEFAULT_SCHEDULER = "default-scheduler";

/** `{ [key]: change(source[key]) }` where there is something to change. */
function mapped<T extends object, K extends keyof T>(
  source: T,
  key: K,
  change: (value: NonNullable<T[K]>) => NonNullable<T[K]>,
): { [P in K]?: NonNullable<T[K]> } {
  const value = source[key];
  return value === undefined || value === null
    ? {}
    : ({ [key]: change(value) } as { [P in K]?: NonNullable<T[K]> });
}

const defaultHttpGet = (action: HTTPGetAction): HTTPGetAction => ({
  ...action,
  path: action.path || "/",
  scheme: action.scheme || "HTTP",
});

const defaultProbe = (probe: Probe): Probe => ({
  ...probe,
  timeoutSeconds: probe.timeoutSeconds || 1,
  periodSeconds: probe.periodSeconds || 10,
  successThreshold: probe.successThreshold || 1,
  failureThreshold: probe.failureThreshold || 3,
  ...mapped(probe, "httpGet", defaultHttpGet),
  ...mapped(probe, "grpc", (grpc) => ({ ...grpc, service: grpc.service ?? "" })),
});

const defaultHandler = (handler: LifecycleHandler): LifecycleHandler => ({
  ...handler,
  ...mapped(handler, "httpGet", defaultHttpGet),
});

const defaultLifecycle = (lifecycle: Lifecycle): Lifecycle => ({
  ...lifecycle,
  ...mapped(lifecycle, "postStart", defaultHandler),
  ...mapped(lifecycle, "preStop", defaultHandler),
});

const defaultPort = (port: ContainerPort): ContainerPort => ({
  ...port,
  protocol: port.protocol || "TCP",
});

const defaultEnv = (variable: EnvVar): EnvVar => ({
  ...variable,
  ...mapped(variable, "valueFrom", (from) => ({
    ...from,
    ...mapped(from, "fieldRef", defaultFieldSelector),
    ...mapped(from, "fileKeyRef", (file) => ({ ...file, optional: file.optional ?? false })),
  })),
});

function defaultContainer<C extends Container | EphemeralContainer>(container: C): C {
  const plain: Container = container;
  return {
    ...container,
    imagePullPolicy: plain.imagePullPolicy || defaultPullPolicy(plain.image ?? ""),
    terminationMessagePath: plain.terminationMessagePath || DEFAULT_TERMINATION_MESSAGE_PATH,
    terminationMessagePolicy: plain.terminationMessagePolicy || "File",
    ...mapped(plain, "ports", (ports) => ports.map(defaultPort)),
    ...mapped(plain, "env", (env) => env.map(defaultEnv)),
    resources: roundedResources(plain.resources ?? {}),
    ...mapped(plain, "livenessProbe", defaultProbe),
    ...mapped(plain, "readinessProbe", defaultProbe),
    ...mapped(plain, "startupProbe", defaultProbe),
    ...mapped(plain, "lifecycle", defaultLifecycle),
  };
}

/** In the node's network a container's port is the node's port. */
const hostPorts = (ports: readonly ContainerPort[]): readonly ContainerPort[] =>
  ports.map((port) => ({ ...port, hostPort: port.hostPort || port.containerPort }));

function defaultMainContainer(container: Container, hostNetwork: boolean): Container {
  const completed = defaultContainer({
    ...container,
    ...mapped(container, "resources", requestsFromLimits),
  });
  return hostNetwork ? { ...completed, ...mapped(completed, "ports", hostPorts) } : completed;
}

/** Two names for the same account; the newer one wins. */
function serviceAccount(spec: PodSpec): Partial<PodSpec> {
  const name = spec.serviceAccountName || spec.serviceAccount;
  return name === undefined || name === ""
    ? {}
    : { serviceAccountName: name, serviceAccount: name };
}

function defaultSpec(spec: PodSpec): PodSpec {
  const hostNetwork = spec.hostNetwork === true;
  const main = (containers: readonly Container[]) =>
    containers.map((container) => defaultMainContainer(container, hostNetwork));
  const completed: PodSpec = {
    ...spec,
    ...serviceAccount(spec),
    dnsPolicy: spec.dnsPolicy || "ClusterFirst",
    restartPolicy: spec.restartPolicy || "Always",
    securityContext: spec.securityContext ?? {},
    terminationGracePeriodSeconds:
      spec.terminationGracePeriodSeconds ?? DEFAULT_TERMINATION_GRACE_SECONDS,
    schedulerName: spec.schedulerName || DEFAULT_SCHEDULER,
    enableServiceLinks: spec.enableServiceLinks ?? true,
    containers: main(spec.containers),
    ...mapped(spec, "initContainers", main),
    ...mapped(spec, "ephemeralContainers", (list) => list.map(defaultContainer)),
    ...mapped(spec, "volumes", (volumes) => volumes.map(defaultVolume)),
    ...mapped(spec, "overhead", roundedList),
  };
  return { ...completed, ...mapped(completed, "resources", roundedResources) };
}

/**
 * The pod with the defaults that the API server and the kubelet share. Done again it changes nothing; the argument stays as
 * it is. What only the API server fills in (`withPodLevelDefaults`), and what admission plugins add (tolerations, priority,
 * tokens), is not part of it. Source: `pkg/apis/core/v1/defaults.go`.
 */
export const defaultPod = (pod: Pod): Pod =>
  pod.spec === undefined ? pod : { ...pod, spec: defaultSpec(pod.spec) };

// pure

import {
  duplicate,
  type FieldProblem,
  forbidden,
  invalid,
  notFound,
  required,
  tooMany,
  unsupported,
} from "../decode/field-problem.ts";
import type {
  Container,
  ContainerPort,
  ContainerResizePolicy,
  EphemeralContainer,
  Pod,
  PodSpec,
  Volume,
} from "../generated/types.ts";
import { isRestartableInit } from "../pod/pod.ts";
import { dns1123LabelFaults, portNameFaults, portNumberFaults } from "../text/names.ts";
import { envFromProblems, envProblems, fileKeyVolumeProblems } from "./env.ts";
import { child, eachOf, entry, FINE, faultsAt, ifSet, type Problems } from "./fields.ts";
import { noWatchProblems, watchProblems } from "./probes.ts";
import { containerResourceProblems } from "./resources.ts";
import { securityContextProblems } from "./security.ts";
import { deviceProblems, mountProblems } from "./volumes/mounts.ts";
import { pullPolicyProblems } from "./volumes/volume-files.ts";

interface ContainerContext {
  readonly pod: Pod;
  readonly spec: PodSpec;
  readonly volumes: ReadonlyMap<string, Volume>;
  readonly allowPrivileged: boolean;
}

const PROTOCOLS = ["SCTP", "TCP", "UDP"] as const;
const MESSAGE_POLICIES = ["File", "FallbackToLogsOnError"] as const;
const RESIZE_RESOURCES = ["cpu", "memory"] as const;
const RESIZE_POLICIES = ["NotRequired", "RestartContainer"] as const;
const RESTART_POLICIES = ["Always", "Never", "OnFailure"] as const;
const RULE_ACTIONS = ["Restart", "RestartAllContainers"] as const;
const RULE_OPERATORS = ["In", "NotIn"] as const;
const MAX_RULES = 20;
const MAX_EXIT_CODES = 255;

const includes = (list: readonly string[], value: string): boolean => list.includes(value);

function portProblems(ports: readonly ContainerPort[] | undefined, path: string): Problems {
  const names = new Set<string>();
  return eachOf(ports, path, ({ name = "", containerPort, hostPort = 0, protocol = "" }, at) => {
    const faults = name === "" ? [] : portNameFaults(name);
    const again = name !== "" && faults.length === 0 && names.has(name);
    names.add(name);
    return [
      ...faultsAt(child(at, "name"), name, faults),
      ...(again ? [duplicate(child(at, "name"), name)] : []),
      ...(containerPort === 0
        ? [required(child(at, "containerPort"))]
        : faultsAt(child(at, "containerPort"), containerPort, portNumberFaults(containerPort))),
      ...(hostPort === 0
        ? FINE
        : faultsAt(child(at, "hostPort"), hostPort, portNumberFaults(hostPort))),
      ...(protocol === ""
        ? [required(child(at, "protocol"))]
        : includes(PROTOCOLS, protocol)
          ? []
          : [unsupported(child(at, "protocol"), protocol, PROTOCOLS)]),
    ];
  });
}

/** Ports of the node that are asked for twice. */
function hostPortProblems(containers: readonly Container[], path: string, first = 0): Problems {
  const taken = new Set<string>();
  return containers.flatMap(({ ports }, i) =>
    eachOf(ports, child(entry(path, first + i), "ports"), (port, at) => {
      if ((port.hostPort ?? 0) === 0) return FINE;
      const key = `${port.protocol ?? ""}/${port.hostIP ?? ""}/${port.hostPort}`;
      const again = taken.has(key);
      taken.add(key);
      return again ? [duplicate(child(at, "hostPort"), key)] : FINE;
    }),
  );
}

function resizeProblems(
  policies: readonly ContainerResizePolicy[] | undefined,
  path: string,
  podPolicy: string | undefined,
): Problems {
  const seen = new Set<string>();
  const one = (value: string, at: string, supported: readonly string[]): Problems =>
    value === ""
      ? [required(at)]
      : includes(supported, value)
        ? FINE
        : [unsupported(at, value, supported)];
  return eachOf(policies, path, ({ resourceName, restartPolicy }, at) => {
    const again = seen.has(resourceName);
    seen.add(resourceName);
    return [
      ...(again ? [duplicate(at, resourceName)] : []),
      ...one(resourceName, child(at, "resourceName"), RESIZE_RESOURCES),
      ...one(restartPolicy, child(at, "restartPolicy"), RESIZE_POLICIES),
      ...(podPolicy === "Never" && restartPolicy !== "NotRequired"
        ? [
            invalid(
              child(at, "restartPolicy"),
              restartPolicy,
              "must be 'NotRequired' when pod `restartPolicy` is 'Never'",
            ),
          ]
        : []),
    ];
  });
}

/** A container's own restart policy and the rules that come before it. */
function restartProblems({ restartPolicy, restartPolicyRules }: Container, path: string): Problems {
  const rules = restartPolicyRules ?? [];
  const policyPath = child(path, "restartPolicy");
  const rulesPath = child(path, "restartPolicyRules");
  const policy =
    restartPolicy === undefined
      ? rules.length > 0
        ? [required(policyPath, "must specify restartPolicy when restart rules are used")]
        : []
      : includes(RESTART_POLICIES, restartPolicy)
        ? []
        : [unsupported(policyPath, restartPolicy, RESTART_POLICIES)];
  return [
    ...policy,
    ...(rules.length > MAX_RULES ? [tooMany(rulesPath, rules.length, MAX_RULES)] : []),
    ...eachOf(rules, rulesPath, ({ action, exitCodes }, at) => {
      const codes = exitCodes?.values?.length ?? 0;
      const codesPath = child(at, "exitCodes");
      return [
        ...(includes(RULE_ACTIONS, action)
          ? []
          : [unsupported(child(at, "action"), action, RULE_ACTIONS)]),
        ...(exitCodes === undefined ? [required(codesPath, "must be specified")] : []),
        ...(exitCodes === undefined || includes(RULE_OPERATORS, exitCodes.operator)
          ? []
          : [unsupported(child(codesPath, "operator"), exitCodes.operator, RULE_OPERATORS)]),
        ...(codes > MAX_EXIT_CODES
          ? [tooMany(child(codesPath, "values"), codes, MAX_EXIT_CODES)]
          : []),
      ];
    }),
  ];
}

function commonProblems(container: Container, path: string, context: ContainerContext): Problems {
  const { spec, volumes } = context;
  const { name, image = "", terminationMessagePolicy: policy = "" } = container;
  const policyPath = child(path, "terminationMessagePolicy");
  const claims = new Set((spec.resourceClaims ?? []).map((claim) => claim.name).filter(Boolean));
  return [
    ...(name === ""
      ? [required(child(path, "name"))]
      : faultsAt(child(path, "name"), name, dns1123LabelFaults(name))),
    ...(image === "" ? [required(child(path, "image"))] : []),
    ...(image === image.trim()
      ? []
      : [invalid(child(path, "image"), image, "must not have leading or trailing whitespace")]),
    ...(policy === ""
      ? [required(policyPath)]
      : includes(MESSAGE_POLICIES, policy)
        ? []
        : [unsupported(policyPath, policy, MESSAGE_POLICIES)]),
    ...portProblems(container.ports, child(path, "ports")),
    ...envProblems(container.env, child(path, "env")),
    ...envFromProblems(container.envFrom, child(path, "envFrom")),
    ...mountProblems(container, volumes, child(path, "volumeMounts")),
    ...deviceProblems(container, volumes, child(path, "volumeDevices")),
    ...pullPolicyProblems(container.imagePullPolicy, child(path, "imagePullPolicy")),
    ...containerResourceProblems(container.resources ?? {}, claims, child(path, "resources")),
    ...resizeProblems(container.resizePolicy, child(path, "resizePolicy"), spec.restartPolicy),
    ...ifSet(container.securityContext, (security) =>
      securityContextProblems(security, child(path, "securityContext"), {
        allowPrivileged: context.allowPrivileged,
        hostUsers: spec.hostUsers !== false,
      }),
    ),
    ...fileKeyVolumeProblems(spec, container.env, child(path, "env")),
    ...(spec.hostUsers === false && (container.volumeDevices ?? []).length > 0
      ? [forbidden(child(path, "volumeDevices"), "when `hostUsers` is false")]
      : []),
  ];
}

const nameAgain = (seen: Set<string>, name: string, path: string): readonly FieldProblem[] => {
  const again = name !== "" && seen.has(name);
  seen.add(name);
  return again ? [duplicate(child(path, "name"), name)] : [];
};

function regularProblems(context: ContainerContext): Problems {
  const path = "spec.containers";
  const { containers } = context.spec;
  const names = new Set<string>();
  if (containers.length === 0) return [required(path)];
  return [
    ...eachOf(containers, path, (container, at) => [
      ...commonProblems(container, at, context),
      ...nameAgain(names, container.name, at),
      ...watchProblems(context.pod, container, at),
      ...restartProblems(container, at),
    ]),
    ...hostPortProblems(containers, path),
  ];
}

/** An init container is run again as a whole; there is nothing to resize by restarting it. */
const initResizeProblems = ({ resizePolicy }: Container, path: string): Problems =>
  eachOf(resizePolicy, child(path, "resizePolicy"), ({ restartPolicy }, at) =>
    restartPolicy === "RestartContainer"
      ? [
          invalid(
            child(at, "restartPolicy"),
            restartPolicy,
            "must not be set to 'RestartContainer' for non-sidecar initContainers",
          ),
        ]
      : FINE,
  );

function initProblems(context: ContainerContext): Problems {
  const path = "spec.initContainers";
  const names = new Set(context.spec.containers.map(({ name }) => name));
  return eachOf(context.spec.initContainers, path, (container, at, i) => [
    ...commonProblems(container, at, context),
    ...restartProblems(container, at),
    ...nameAgain(names, container.name, at),
    // They run one after the other, so only ports within one of them can collide.
    ...hostPortProblems([container], path, i),
    ...(isRestartableInit(container)
      ? watchProblems(context.pod, container, at)
      : [...noWatchProblems(container, at), ...initResizeProblems(container, at)]),
  ]);
}

/** Fields not allowed in an ephemeral container. */
const EPHEMERAL_FORBIDDEN = [
  "ports",
  "resources",
  "resizePolicy",
  "restartPolicy",
  "restartPolicyRules",
  "livenessProbe",
  "readinessProbe",
  "startupProbe",
  "lifecycle",
] as const;

/** Values that Go cannot distinguish from none when they are empty: texts, lists and plain structs. */
const EMPTY_IS_NONE: ReadonlySet<string> = new Set([
  "ports",
  "resources",
  "resizePolicy",
  "restartPolicyRules",
  "subPath",
  "subPathExpr",
]);

const isSet = <T extends object>(source: T, name: keyof T & string): boolean => {
  const value: unknown = source[name];
  return (
    value !== undefined && !(EMPTY_IS_NONE.has(name) && Object.keys(Object(value)).length === 0)
  );
};

function ephemeralProblems(context: ContainerContext): Problems {
  const { containers, initContainers = [], ephemeralContainers } = context.spec;
  const others = new Set([...containers, ...initContainers].map(({ name }) => name));
  const names = new Set(others);
  const message = "cannot be set for an Ephemeral Container";
  return eachOf(ephemeralContainers, "spec.ephemeralContainers", (container, at) => {
    const { targetContainerName: target = "" } = container;
    return [
      ...commonProblems(container satisfies EphemeralContainer, at, context),
      ...nameAgain(names, container.name, at),
      ...(target !== "" && !others.has(target)
        ? [notFound(child(at, "targetContainerName"), target)]
        : []),
      ...EPHEMERAL_FORBIDDEN.filter((name) => isSet(container, name)).map((name) =>
        forbidden(child(at, name), message),
      ),
      ...eachOf(container.volumeMounts, child(at, "volumeMounts"), (mount, mountPath) =>
        (["subPath", "subPathExpr"] as const)
          .filter((name) => isSet(mount, name))
          .map((name) => forbidden(child(mountPath, name), message)),
      ),
    ];
  });
}

/** All containers of the pod: regular, init, ephemeral. */
export const containersProblems = (context: ContainerContext): Problems => [
  ...regularProblems(context),
  ...initProblems(context),
  ...ephemeralProblems(context),
];

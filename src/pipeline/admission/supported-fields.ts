// pure
import type { Container, Pod } from "../../api/generated/types.ts";
import { SERVED_SOURCES } from "../../api/pod/volume-sources.ts";

/** A field of the pod that this version cannot honour, and what it would need. */
interface UnsupportedField {
  readonly path: string;
  readonly why: string;
}

interface Table {
  readonly fields: FieldTable;
  readonly unknown?: string;
}

type FieldTable = Readonly<Record<string, "yes" | "elsewhere" | typeof WITH_CLAIMS | string>>;

/** Of a field that the node serves where it can read claims. */
const WITH_CLAIMS = "with-claims";

/** Claims are objects of an API, and static pods cannot name such. */
const NO_CLAIMS = "resource claims require an API server, and no static pod";

/**
 * Every field of a pod's spec: `yes` is done here, `elsewhere` is no concern of the node, anything else
 * says why a pod that sets it is refused. A field missing here is refused too.
 */
const POD_FIELDS: FieldTable = {
  activeDeadlineSeconds: "yes",
  affinity: "elsewhere",
  automountServiceAccountToken: "elsewhere",
  containers: "yes",
  dnsConfig: "yes",
  dnsPolicy: "yes",
  enableServiceLinks: "yes",
  ephemeralContainers: "yes",
  hostAliases: "yes",
  hostIPC: "yes",
  hostNetwork: "yes",
  hostPID: "yes",
  hostUsers: "yes",
  hostname: "yes",
  hostnameOverride: "yes",
  imagePullSecrets: "yes",
  initContainers: "yes",
  nodeName: "yes",
  nodeSelector: "elsewhere",
  os: "yes",
  overhead: "yes",
  preemptionPolicy: "elsewhere",
  priority: "yes",
  priorityClassName: "elsewhere",
  readinessGates: "yes",
  resourceClaims: WITH_CLAIMS,
  resources: "yes",
  restartPolicy: "yes",
  runtimeClassName: "yes",
  schedulerName: "elsewhere",
  schedulingGates: "elsewhere",
  schedulingGroup: "elsewhere",
  securityContext: "yes",
  serviceAccount: "elsewhere",
  serviceAccountName: "elsewhere",
  setHostnameAsFQDN: "yes",
  shareProcessNamespace: "yes",
  subdomain: "yes",
  terminationGracePeriodSeconds: "yes",
  tolerations: "elsewhere",
  topologySpreadConstraints: "elsewhere",
  volumes: "yes",
};

const CONTAINER_FIELDS: FieldTable = {
  args: "yes",
  command: "yes",
  env: "yes",
  envFrom: "yes",
  image: "yes",
  imagePullPolicy: "yes",
  lifecycle: "yes",
  livenessProbe: "yes",
  name: "yes",
  ports: "yes",
  readinessProbe: "yes",
  resizePolicy: "yes",
  resources: "yes",
  restartPolicy: "yes",
  restartPolicyRules: "yes",
  securityContext: "yes",
  startupProbe: "yes",
  stdin: "yes",
  stdinOnce: "yes",
  targetContainerName: "yes",
  terminationMessagePath: "yes",
  terminationMessagePolicy: "yes",
  tty: "yes",
  volumeDevices: "yes",
  volumeMounts: "yes",
  workingDir: "yes",
};

const POD_SECURITY_FIELDS: FieldTable = {
  appArmorProfile: "yes",
  fsGroup: "yes",
  fsGroupChangePolicy: "yes",
  runAsGroup: "yes",
  runAsNonRoot: "yes",
  runAsUser: "yes",
  seLinuxChangePolicy: "elsewhere",
  seLinuxOptions: "yes",
  seccompProfile: "yes",
  supplementalGroups: "yes",
  supplementalGroupsPolicy: "yes",
  sysctls: "yes",
  windowsOptions: "elsewhere",
};

const SECURITY_FIELDS: FieldTable = {
  allowPrivilegeEscalation: "yes",
  appArmorProfile: "yes",
  capabilities: "yes",
  privileged: "yes",
  procMount: "yes",
  readOnlyRootFilesystem: "yes",
  runAsGroup: "yes",
  runAsNonRoot: "yes",
  runAsUser: "yes",
  seLinuxOptions: "yes",
  seccompProfile: "yes",
  windowsOptions: "elsewhere",
};

const MOUNT_FIELDS: FieldTable = {
  mountPath: "yes",
  mountPropagation: "yes",
  name: "yes",
  readOnly: "yes",
  recursiveReadOnly: "yes",
  subPath: "yes",
  subPathExpr: "yes",
};

const VOLUMES: Table = {
  unknown: "volumes of this kind are not supported",
  fields: { name: "yes", ...Object.fromEntries(SERVED_SOURCES.map((name) => [name, "yes"])) },
};

const PROJECTED_SOURCES: Table = {
  unknown: "this source of projected volumes is not supported",
  fields: {
    clusterTrustBundle: "yes",
    configMap: "yes",
    downwardAPI: "yes",
    podCertificate: "yes",
    secret: "yes",
    serviceAccountToken: "yes",
  },
};

/** Every field of the pod that cannot be honoured; empty when the pod can run as it is meant. */
export function unsupportedFields(
  pod: Pod,
  { claims }: { readonly claims: boolean },
): readonly UnsupportedField[] {
  const problems: UnsupportedField[] = [];
  const spec = pod.spec;
  if (!spec) return [];
  check(spec, { fields: POD_FIELDS }, "spec", problems);
  if (spec.securityContext)
    check(spec.securityContext, { fields: POD_SECURITY_FIELDS }, "spec.securityContext", problems);
  for (const kind of ["initContainers", "containers", "ephemeralContainers"] as const) {
    for (const [i, container] of (spec[kind] ?? []).entries())
      checkContainer(container, `spec.${kind}[${i}]`, problems);
  }
  for (const [i, volume] of (spec.volumes ?? []).entries()) {
    check(volume, VOLUMES, `spec.volumes[${i}]`, problems);
    for (const [j, source] of (volume.projected?.sources ?? []).entries())
      check(source, PROJECTED_SOURCES, `spec.volumes[${i}].projected.sources[${j}]`, problems);
  }
  return problems.flatMap((problem) => {
    if (problem.why !== WITH_CLAIMS) return [problem];
    return claims ? [] : [{ ...problem, why: NO_CLAIMS }];
  });
}

function checkContainer(container: Container, path: string, problems: UnsupportedField[]): void {
  check(container, { fields: CONTAINER_FIELDS }, path, problems);
  if (container.securityContext)
    check(
      container.securityContext,
      { fields: SECURITY_FIELDS },
      `${path}.securityContext`,
      problems,
    );
  for (const [i, mount] of (container.volumeMounts ?? []).entries()) {
    check(mount, { fields: MOUNT_FIELDS }, `${path}.volumeMounts[${i}]`, problems);
  }
  if ((container.resources?.claims ?? []).length > 0) {
    problems.push({ path: `${path}.resources.claims`, why: WITH_CLAIMS });
  }
}

/** Checks the fields of one object; those the table does not name are `unknown`. */
function check(
  value: object,
  { fields, unknown = "unknown field" }: Table,
  path: string,
  problems: UnsupportedField[],
): void {
  for (const [field, content] of Object.entries(value)) {
    const support = fields[field] ?? unknown;
    if (support === "yes" || support === "elsewhere" || isEmpty(content)) continue;
    problems.push({ path: `${path}.${field}`, why: support });
  }
}

/** Defaulting leaves empty objects and lists that ask for nothing. */
function isEmpty(content: unknown): boolean {
  if (content === undefined || content === null || content === false) return true;
  if (Array.isArray(content)) return content.length === 0;
  return typeof content === "object" && Object.keys(content).length === 0;
}

/** A manifest that uses many fields, as YAML. */
export const MANIFEST_YAML = `apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app: web}
spec:
  terminationGracePeriodSeconds: 5
  containers:
    - name: main
      image: registry.example/web:1
      command: ["sh", "-c", "exec serve"]
      ports: [{containerPort: 8080, hostPort: 80}]
      resources: {limits: {cpu: 500m, memory: 64Mi}}
`;

const SPEC = {
  hostNetwork: false,
  shareProcessNamespace: true,
  restartPolicy: "OnFailure",
  activeDeadlineSeconds: 60,
  dnsConfig: {
    nameservers: ["192.0.2.1"],
    searches: ["a.example"],
    options: [{ name: "ndots", value: "2" }],
  },
  hostAliases: [{ ip: "192.0.2.7", hostnames: ["db"] }],
  securityContext: {
    runAsUser: 1000,
    fsGroup: 2000,
    sysctls: [{ name: "net.core.somaxconn", value: "1" }],
  },
  tolerations: [{ key: "a", operator: "Exists", effect: "NoExecute", tolerationSeconds: 30 }],
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "In", values: ["b"] }] }],
      },
    },
  },
  initContainers: [{ name: "init", image: "a:1", restartPolicy: "Always", args: ["$(POD)"] }],
  containers: [
    {
      name: "main",
      image: "registry.example/web:1",
      env: [
        { name: "A", value: "1" },
        { name: "B", valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
        { name: "C", valueFrom: { resourceFieldRef: { resource: "limits.cpu", divisor: "1m" } } },
      ],
      ports: [{ name: "http", containerPort: 8080, protocol: "TCP" }],
      resources: {
        requests: { cpu: "100m" },
        limits: { cpu: "1", memory: "64Mi", "hugepages-2Mi": "4Mi" },
      },
      livenessProbe: {
        httpGet: { path: "/", port: "http", httpHeaders: [{ name: "A", value: "b" }] },
        periodSeconds: 1,
      },
      readinessProbe: { grpc: { port: 1, service: "a" } },
      startupProbe: { exec: { command: ["true"] }, failureThreshold: 30 },
      lifecycle: { preStop: { sleep: { seconds: 1 } }, postStart: { exec: { command: ["true"] } } },
      securityContext: {
        capabilities: { add: ["NET_ADMIN"], drop: ["ALL"] },
        seccompProfile: { type: "RuntimeDefault" },
      },
      volumeMounts: [{ name: "data", mountPath: "/data", subPathExpr: "$(A)/b", readOnly: true }],
      volumeDevices: [{ name: "raw", devicePath: "/dev/x" }],
    },
  ],
  volumes: [
    { name: "data", emptyDir: { sizeLimit: "1Gi" } },
    { name: "raw", persistentVolumeClaim: { claimName: "raw" } },
    { name: "host", hostPath: { path: "/var/log", type: "DirectoryOrCreate" } },
    {
      name: "all",
      projected: {
        defaultMode: 420,
        sources: [
          { downwardAPI: { items: [{ path: "a", fieldRef: { fieldPath: "metadata.name" } }] } },
        ],
      },
    },
  ],
};

/** A pod that uses many fields. */
export const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name: "web",
    namespace: "shop",
    labels: { app: "web" },
    annotations: { "a.example/b": "c" },
  },
  spec: SPEC,
};

/** What POD says, as JSON. */
export const POD_JSON = JSON.stringify(POD);

/** Names of fields and values of pods. */
export const POD_WORDS: readonly string[] = [
  ...["apiVersion", "kind", "metadata", "spec", "status", "containers", "initContainers", "name"],
  ...[
    "ephemeralContainers",
    "volumes",
    "emptyDir",
    "configMap",
    "secret",
    "items",
    "optional",
    "mode",
  ],
  ...["Always", "Never", "IfNotPresent", "Memory", "Localhost", "Unconfined", "Exists", "In", "Lt"],
  ...[
    "10Mi",
    "1e3",
    "-1",
    "0.5",
    "2001:db8::1",
    "a".repeat(64),
    "a/b",
    "A_B",
    "*",
    "$(A)",
    "limits.cpu",
  ],
];

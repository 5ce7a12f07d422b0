// pure

/** First lines of every configuration file. */
export const HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";

/** Main file, drop-ins by name, flags, a path, the value that must win and where it came from. */
export const PRECEDENCE: readonly {
  readonly name: string;
  readonly base?: string;
  readonly dropIns?: Readonly<Record<string, string>>;
  readonly argv?: readonly string[];
  readonly path: string;
  readonly value: unknown;
  readonly origin: string;
}[] = [
  { name: "default", path: "maxPods", value: 110, origin: "default" },
  {
    name: "file over default",
    base: "maxPods: 50",
    path: "maxPods",
    value: 50,
    origin: "/work/c.yaml",
  },
  {
    name: "drop-in over file",
    base: "maxPods: 50",
    dropIns: { "a.conf": "maxPods: 60" },
    path: "maxPods",
    value: 60,
    origin: "/work/d/a.conf",
  },
  {
    name: "flag over drop-in",
    base: "maxPods: 50",
    dropIns: { "a.conf": "maxPods: 60" },
    argv: ["--max-pods=70"],
    path: "maxPods",
    value: 70,
    origin: "--max-pods",
  },
  {
    name: "later name wins",
    dropIns: { "20.conf": "maxPods: 2", "10.conf": "maxPods: 1" },
    path: "maxPods",
    value: 2,
    origin: "/work/d/20.conf",
  },
  {
    name: "names are text, not numbers",
    dropIns: { "9.conf": "maxPods: 9", "10.conf": "maxPods: 10" },
    path: "maxPods",
    value: 9,
    origin: "/work/d/9.conf",
  },
  {
    name: "folders in their place",
    dropIns: { "a/z.conf": "maxPods: 1", "b.conf": "maxPods: 2" },
    path: "maxPods",
    value: 2,
    origin: "/work/d/b.conf",
  },
  {
    name: "folders in their place too",
    dropIns: { "c/a.conf": "maxPods: 1", "b.conf": "maxPods: 2" },
    path: "maxPods",
    value: 1,
    origin: "/work/d/c/a.conf",
  },
  {
    name: "only .conf",
    dropIns: { "a.conf": "maxPods: 1", "b.yaml": "maxPods: 2", "c.conf.bak": "maxPods: 3" },
    path: "maxPods",
    value: 1,
    origin: "/work/d/a.conf",
  },
  {
    name: "null gives the default back",
    base: "maxPods: 50",
    dropIns: { "a.conf": "maxPods: null" },
    path: "maxPods",
    value: 110,
    origin: "default",
  },
  {
    name: "null of a group",
    base: "authorization: {mode: AlwaysAllow}",
    dropIns: { "a.conf": "authorization: null" },
    path: "authorization.mode",
    value: "Webhook",
    origin: "default",
  },
  {
    name: "zero in a drop-in is not set",
    base: "port: 1",
    dropIns: { "a.conf": "port: 0" },
    path: "port",
    value: 10250,
    origin: "/work/d/a.conf",
  },
  {
    name: "lists replace",
    base: "clusterDNS: [10.0.0.1, 10.0.0.2]",
    dropIns: { "a.conf": "clusterDNS: [10.0.0.3]" },
    path: "clusterDNS",
    value: ["10.0.0.3"],
    origin: "/work/d/a.conf",
  },
  {
    name: "maps merge",
    base: "kubeReserved: {cpu: 100m}",
    dropIns: { "a.conf": "kubeReserved: {memory: 1Gi}" },
    path: "kubeReserved",
    value: { cpu: "100m", memory: "1Gi" },
    origin: "/work/d/a.conf",
  },
  {
    name: "an entry is taken away",
    base: "kubeReserved: {cpu: 100m, memory: 1Gi}",
    dropIns: { "a.conf": "kubeReserved: {cpu: null}" },
    path: "kubeReserved",
    value: { memory: "1Gi" },
    origin: "/work/d/a.conf",
  },
  {
    name: "a flag replaces the map",
    base: "kubeReserved: {cpu: 100m}",
    argv: ["--kube-reserved=memory=1Gi"],
    path: "kubeReserved",
    value: { memory: "1Gi" },
    origin: "--kube-reserved",
  },
  {
    name: "a flag replaces the list",
    base: "clusterDNS: [10.0.0.1]",
    argv: ["--cluster-dns=10.0.0.2"],
    path: "clusterDNS",
    value: ["10.0.0.2"],
    origin: "--cluster-dns",
  },
  {
    name: "gates of file and flag are merged, the flag wins",
    base: "featureGates: {PodsAPI: true, MemoryQoS: true}",
    dropIns: { "a.conf": "featureGates: {QOSReserved: true}" },
    argv: ["--feature-gates=PodsAPI=false,EventedPLEG=true"],
    path: "featureGates",
    value: { PodsAPI: false, MemoryQoS: true, QOSReserved: true, EventedPLEG: true },
    origin: "--feature-gates",
  },
  {
    name: "the main file naming one threshold drops the others",
    base: "evictionHard: {pid.available: 5%}",
    path: "evictionHard",
    value: { "pid.available": "5%" },
    origin: "/work/c.yaml",
  },
  {
    name: "a drop-in naming one threshold keeps the others",
    base: "maxPods: 1",
    dropIns: { "a.conf": "evictionHard: {memory.available: 5%}" },
    path: "evictionHard",
    value: {
      "memory.available": "5%",
      "nodefs.available": "10%",
      "nodefs.inodesFree": "5%",
      "imagefs.available": "15%",
      "imagefs.inodesFree": "5%",
    },
    origin: "/work/d/a.conf",
  },
  {
    name: "without a main file a drop-in keeps them too",
    dropIns: { "a.conf": "evictionHard: {memory.available: 5%}" },
    path: "evictionHard",
    value: {
      "memory.available": "5%",
      "nodefs.available": "10%",
      "nodefs.inodesFree": "5%",
      "imagefs.available": "15%",
      "imagefs.inodesFree": "5%",
    },
    origin: "/work/d/a.conf",
  },
  {
    name: "a flag drops the others",
    argv: ["--eviction-hard=pid.available<5%"],
    path: "evictionHard",
    value: { "pid.available": "5%" },
    origin: "--eviction-hard",
  },
  {
    name: "the report frequency follows in the main file",
    base: "nodeStatusUpdateFrequency: 30s",
    path: "nodeStatusReportFrequency",
    value: 30_000,
    origin: "default",
  },
  {
    name: "and no more in a drop-in",
    base: "maxPods: 1",
    dropIns: { "a.conf": "nodeStatusUpdateFrequency: 30s" },
    path: "nodeStatusReportFrequency",
    value: 300_000,
    origin: "default",
  },
  {
    name: "a gate of a drop-in decides on a default",
    base: "maxPods: 1",
    dropIns: { "a.conf": "featureGates: {KubeletCrashLoopBackOffMax: false}" },
    path: "crashLoopBackOff",
    value: {},
    origin: "",
  },
  {
    name: "a zero of a flag counts",
    argv: ["--event-burst=0"],
    path: "eventBurst",
    value: 0,
    origin: "--event-burst",
  },
  {
    name: "no legacy defaults",
    path: "authentication.anonymous.enabled",
    value: false,
    origin: "default",
  },
  {
    name: "legacy values by flag",
    argv: ["--anonymous-auth=true"],
    path: "authentication.anonymous.enabled",
    value: true,
    origin: "--anonymous-auth",
  },
];

/** Flags, files, and what is wrong with them. */
export const FAILURES: readonly (readonly [
  argv: readonly string[],
  texts: Record<string, string | Error>,
  problems: readonly string[],
])[] = [
  [["--config=missing"], {}, ["/work/missing: there is no such file (check --config)"]],
  [
    ["--config=/c"],
    { "/c": new Error("permission denied") },
    ["/c: the file cannot be read: permission denied (check --config)"],
  ],
  [
    ["--config=/c"],
    { "/c": "x".repeat(1024 * 1024 + 1) },
    ["/c: the file cannot be read: too long (check --config)"],
  ],
  [["--config-dir=/d"], {}, ["/d: there is no such folder (check --config-dir)"]],
  [
    ["--config-dir=/d"],
    { "/d/a.conf": "maxPods: 1" },
    [
      '/d/a.conf: apiVersion: Required value: every configuration file must have it (start it with "apiVersion: kubelet.config.k8s.io/v1beta1" and "kind: KubeletConfiguration")',
      '/d/a.conf: kind: Required value: every configuration file must have it (start it with "apiVersion: kubelet.config.k8s.io/v1beta1" and "kind: KubeletConfiguration")',
    ],
  ],
  [
    ["--config=/c"],
    { "/c": `${HEAD}port: 70000\n` },
    [
      "/c:3: port: Invalid value: 70000: must be between 1 and 65535, inclusive (the usual port is 10250)",
    ],
  ],
  [
    ["--port=70000"],
    {},
    [
      "--port: port: Invalid value: 70000: must be between 1 and 65535, inclusive (the usual port is 10250)",
    ],
  ],
  [
    ["--port=0"],
    {},
    [
      "--port: port: Invalid value: 0: must be between 1 and 65535, inclusive (the usual port is 10250)",
    ],
  ],
  [
    ["--config=/c", "--feature-gates=Nope=true"],
    { "/c": HEAD },
    [
      "--feature-gates: featureGates[Nope]: unrecognized feature gate: Nope (remove it: Kubernetes 1.37 has no such gate)",
    ],
  ],
  [
    ["--config=/c"],
    { "/c": `${HEAD}kubeReserved:\n  cpu: 100m\n  gpu: "1"\n` },
    [
      '/c:5: kubeReserved[gpu]: Invalid value: "gpu": cannot reserve "gpu" resource (did you mean cpu?)',
    ],
  ],
  [
    ["--config=/c", "--config-dir=/d"],
    { "/c": `${HEAD}maxPods: 5\n`, "/d/a.conf": `${HEAD}maxParallelImagePulls: 5\n` },
    [
      "/d/a.conf:3: maxParallelImagePulls: Invalid value: 5: cannot be larger than 1 unless serializeImagePulls is set to false (set serializeImagePulls: false in the same place)",
    ],
  ],
  [
    ["--runonce"],
    {},
    [
      "--runonce: runOnce: Forbidden: Runonce mode has been deprecated and should not be set (remove it)",
    ],
  ],
  [
    ["--config=/c"],
    { "/c": "a: b: c" },
    [
      "/c:1: line 1, column 5: bad indentation of a mapping entry; align it with its neighbours, and quote values that contain `: `",
    ],
  ],
  [
    ["--container-runtime-endpoint="],
    {},
    [
      "--container-runtime-endpoint: containerRuntimeEndpoint: Required value: the containerRuntimeEndpoint was not specified or empty (the usual one is unix:///run/containerd/containerd.sock)",
    ],
  ],
  [
    ["--config=/c"],
    { "/c": `${HEAD}systemCgroups: /s\n` },
    [
      "cgroupRoot: Required value: systemCgroups was specified and cgroupRoot was not specified (set cgroupRoot: /)",
    ],
  ],
];

/** A main file and the advice that it gives. */
export const ADVICE: readonly (readonly [body: string, advice: RegExp])[] = [
  ["authorization: {mode: AlwaysAllow}", /lets every authenticated caller/],
  [
    "authorization: {mode: AlwaysAllow}\nauthentication: {anonymous: {enabled: true}}",
    /anyone who reaches the HTTPS port/,
  ],
  ["readOnlyPort: 10255", /shows pods and metrics to anyone/],
  ["clusterDNS: [dns.example]", /invalid IP address "dns.example" is ignored/],
  ["containerRuntimeEndpoint: /run/x.sock", /write unix:\/\/\/run\/x\.sock/],
  ["kubeletCgroups: /a\nkubeReservedCgroup: /b", /kubeletCgroups is not within kubeReservedCgroup/],
  ["evictionHard: {containerfs.available: 5%}", /containerfs follows nodefs or imagefs/],
  ["qosReserved: {memory: 50%}", /without the feature gate QOSReserved/],
  [
    "registerNode: false\nregisterWithTaints: [{key: a, effect: NoExecute}]",
    /registerNode is false/,
  ],
];

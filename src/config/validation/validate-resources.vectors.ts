// pure

/** Addresses, paths, endpoints and CPUs. */
export const PLACES: readonly (readonly [body: string, problem: string])[] = [
  [
    "address: example.com",
    'address: Invalid value: "example.com": must be a valid IP address (use 0.0.0.0 or :: for all interfaces)',
  ],
  [
    "healthzBindAddress: 127.0.0.256",
    'healthzBindAddress: Invalid value: "127.0.0.256": must be a valid IP address or host name (use 0.0.0.0 or :: for all interfaces)',
  ],
  [
    "healthzPort: 10250",
    "healthzPort: Invalid value: 10250: is already the value of port (use another port)",
  ],
  [
    "readOnlyPort: 10250",
    "readOnlyPort: Invalid value: 10250: is already the value of port (use another port)",
  ],
  [
    "tlsCertFile: /x",
    "tlsPrivateKeyFile: Required value: tlsCertFile has no effect without it (set tlsPrivateKeyFile too)",
  ],
  [
    "tlsPrivateKeyFile: /x",
    "tlsCertFile: Required value: tlsPrivateKeyFile has no effect without it (set tlsCertFile too)",
  ],
  [
    "systemCgroups: /system",
    "cgroupRoot: Required value: systemCgroups was specified and cgroupRoot was not specified (set cgroupRoot: /)",
  ],
  [
    "systemCgroups: /\ncgroupRoot: /",
    'systemCgroups: Invalid value: "/": the system\'s cgroup cannot be the root (name a cgroup below it, as /system)',
  ],
  [
    "containerRuntimeEndpoint: tcp://localhost:3735",
    'containerRuntimeEndpoint: Invalid value: "tcp://localhost:3735": protocol "tcp" not supported (use unix:///path/to/runtime.sock)',
  ],
  [
    "imageServiceEndpoint: npipe:////./pipe/x",
    'imageServiceEndpoint: Invalid value: "npipe:////./pipe/x": protocol "npipe" not supported (use unix:///path/to/runtime.sock)',
  ],
  ["podLogsDir: logs", 'podLogsDir: Invalid value: "logs": must be absolute path'],
  [
    "podLogsDir: /var//log",
    'podLogsDir: Invalid value: "/var//log": must be normalized (write it without //, /./, /../ and without a slash at the end)',
  ],
  [
    "podLogsDir: /var/log/",
    'podLogsDir: Invalid value: "/var/log/": must be normalized (write it without //, /./, /../ and without a slash at the end)',
  ],
  [
    "podLogsDir: /var/l\u00f6g",
    'podLogsDir: Invalid value: "/var/l\u00f6g": must contain ASCII characters only',
  ],
  [
    "containerLogMaxSize: 10K",
    'containerLogMaxSize: Invalid value: "10K": unable to parse quantity\'s suffix',
  ],
  [
    "allowedUnsafeSysctls: [kernel.panic]",
    'allowedUnsafeSysctls[0]: Invalid value: "kernel.panic": the sysctl is not known to be namespaced (only kernel.shm*, kernel.msg*, kernel.sem, fs.mqueue.*, net.*, user.* and kernel.domainname belong to a pod)',
  ],
  [
    'allowedUnsafeSysctls: ["net.*.x"]',
    'allowedUnsafeSysctls[0]: Invalid value: "net.*.x": is neither a sysctl name nor a prefix of one that ends in *',
  ],
  [
    "reservedSystemCPUs: 0-a",
    'reservedSystemCPUs: Invalid value: "0-a": unable to parse reservedSystemCPUs: "0-a" is neither a CPU number nor a range (e.g. 0-3,8)',
  ],
  [
    "reservedSystemCPUs: 3-1",
    'reservedSystemCPUs: Invalid value: "3-1": unable to parse reservedSystemCPUs: invalid range "3-1" (1 < 3) (e.g. 0-3,8)',
  ],
  [
    'reservedSystemCPUs: "0"\nkubeReservedCgroup: /k',
    "reservedSystemCPUs: Forbidden: can't use reservedSystemCPUs with systemReservedCgroup or kubeReservedCgroup (remove one of them)",
  ],
];

/** Reservations, taints and their enforcement. */
export const RESOURCES: readonly (readonly [body: string, problem: string])[] = [
  [
    "kubeReserved: {cpus: 100m}",
    'kubeReserved[cpus]: Invalid value: "cpus": cannot reserve "cpus" resource (did you mean cpu?)',
  ],
  [
    'kubeReserved: {nvidia.com/gpu: "1"}',
    'kubeReserved[nvidia.com/gpu]: Invalid value: "nvidia.com/gpu": cannot reserve "nvidia.com/gpu" resource (the resources are cpu, memory, ephemeral-storage, pid)',
  ],
  [
    "systemReserved: {memory: 1K}",
    'systemReserved[memory]: Invalid value: "1K": unable to parse quantity\'s suffix',
  ],
  [
    "systemReserved: {memory: -1Gi}",
    'systemReserved[memory]: Invalid value: "-1Gi": resource quantity for "memory" cannot be negative: -1Gi',
  ],
  [
    'systemReserved: {memory: ""}',
    "systemReserved[memory]: Invalid value: \"\": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  ],
  [
    "qosReserved: {cpu: 50%}",
    'qosReserved[cpu]: Invalid value: "cpu": cannot reserve "cpu" resource (only memory can be reserved)',
  ],
  [
    'qosReserved: {memory: "50"}',
    'qosReserved[memory]: Invalid value: "50": percentage expected, such as 50%',
  ],
  [
    "qosReserved: {memory: 101%}",
    'qosReserved[memory]: Invalid value: "101%": percentage must be between 0 and 100',
  ],
  [
    "reservedMemory: [{numaNode: 0, limits: {cpu: 1}}]",
    'reservedMemory[0].limits[cpu]: Invalid value: "cpu": the limit type "cpu" for NUMA node 0 is not supported, only [memory hugepages-<HugePageSize>] is accepted',
  ],
  [
    "reservedMemory: [{numaNode: 0, limits: {memory: 0}}]",
    'reservedMemory[0].limits[memory]: Invalid value: "0": reserved memory may not be zero for NUMA node 0 and resource "memory"',
  ],
  [
    "reservedMemory: [{numaNode: 0, limits: {memory: 1}}, {numaNode: 0, limits: {memory: 2}}]",
    'reservedMemory[1].limits[memory]: Invalid value: "2": the reserved memory has a duplicate value for NUMA node 0 and resource "memory"',
  ],
  [
    "registerWithTaints: [{key: a, effect: Evict}]",
    'registerWithTaints[0].effect: Unsupported value: "Evict": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
  ],
  [
    "registerWithTaints: [{key: /a, effect: NoExecute}]",
    'registerWithTaints[0].key: Invalid value: "/a": prefix part must be non-empty',
  ],
  [
    'registerWithTaints: [{key: a, value: "b c", effect: NoExecute}]',
    "registerWithTaints[0].value: Invalid value: \"b c\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
  ],
  [
    "registerWithTaints: [{key: a, effect: NoExecute, timeAdded: 2020-01-01T00:00:00Z}]",
    "registerWithTaints[0].timeAdded: Forbidden: taint.TimeAdded is not nil (remove it)",
  ],
  [
    "enforceNodeAllocatable: [pod]",
    'enforceNodeAllocatable[0]: Unsupported value: "pod": supported values: "pods", "system-reserved", "system-reserved-compressible", "kube-reserved", "kube-reserved-compressible", "none"',
  ],
  [
    "enforceNodeAllocatable: [pods, pods]",
    'enforceNodeAllocatable[1]: Duplicate value: "pods" (remove it)',
  ],
  [
    "enforceNodeAllocatable: [none, pods]",
    'enforceNodeAllocatable[0]: Forbidden: may not contain additional enforcements when "none" is specified (keep either none or the others)',
  ],
  [
    "enforceNodeAllocatable: [system-reserved]",
    'systemReservedCgroup: Required value: must be specified when "system-reserved" or "system-reserved-compressible" included in enforceNodeAllocatable (e.g. systemReservedCgroup: /system-reserved.slice)',
  ],
  [
    "enforceNodeAllocatable: [kube-reserved-compressible]",
    'kubeReservedCgroup: Required value: must be specified when "kube-reserved" or "kube-reserved-compressible" included in enforceNodeAllocatable (e.g. kubeReservedCgroup: /kube-reserved.slice)',
  ],
  [
    "enforceNodeAllocatable: [kube-reserved, kube-reserved-compressible]\nkubeReservedCgroup: /k",
    'enforceNodeAllocatable: Forbidden: both "kube-reserved" and "kube-reserved-compressible" cannot be specified together (keep one of them)',
  ],
  [
    "cgroupsPerQOS: false",
    'cgroupsPerQOS: Invalid value: false: must be set to true when "pods" contained in enforceNodeAllocatable (set cgroupsPerQOS: true, or enforceNodeAllocatable: [none])',
  ],
];

/** Eviction thresholds. */
export const EVICTION: readonly (readonly [body: string, problem: string])[] = [
  [
    "evictionHard: {memory.availabel: 1Gi}",
    'evictionHard[memory.availabel]: Invalid value: "memory.availabel": unsupported eviction signal memory.availabel (did you mean memory.available?)',
  ],
  [
    "evictionHard: {memory.available: 1K}",
    'evictionHard[memory.available]: Invalid value: "1K": unable to parse quantity\'s suffix (e.g. 100Mi or 10%)',
  ],
  [
    'evictionHard: {memory.available: "0"}',
    'evictionHard[memory.available]: Invalid value: "0": eviction threshold memory.available must be positive (e.g. 100Mi or 10%)',
  ],
  [
    "evictionHard: {memory.available: -1Gi}",
    'evictionHard[memory.available]: Invalid value: "-1Gi": eviction threshold memory.available must be positive (e.g. 100Mi or 10%)',
  ],
  [
    "evictionHard: {memory.available: -1%}",
    'evictionHard[memory.available]: Invalid value: "-1%": eviction percentage threshold memory.available must be >= 0% (e.g. 100Mi or 10%)',
  ],
  [
    "evictionHard: {memory.available: 101%}",
    'evictionHard[memory.available]: Invalid value: "101%": eviction percentage threshold memory.available must be <= 100% (e.g. 100Mi or 10%)',
  ],
  [
    "evictionHard: {memory.available: x%}",
    'evictionHard[memory.available]: Invalid value: "x%": invalid percentage (e.g. 100Mi or 10%)',
  ],
  [
    "evictionSoft: {memory.available: 1Gi}",
    "evictionSoftGracePeriod[memory.available]: Required value: grace period must be specified for the soft eviction threshold memory.available (e.g. evictionSoftGracePeriod: {memory.available: 1m30s})",
  ],
  [
    'evictionSoftGracePeriod: {memory.available: "30"}',
    'evictionSoftGracePeriod[memory.available]: Invalid value: "30": time: missing unit in duration "30" (e.g. 1m30s)',
  ],
  [
    "evictionSoftGracePeriod: {memory.available: -1s}",
    'evictionSoftGracePeriod[memory.available]: Invalid value: "-1s": must be a positive value',
  ],
  [
    "evictionSoftGracePeriod: {mem: 1s}",
    'evictionSoftGracePeriod[mem]: Invalid value: "mem": unsupported eviction signal mem (the signals are memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree, containerfs.available, containerfs.inodesFree, allocatableMemory.available, pid.available)',
  ],
  [
    "evictionMinimumReclaim: {nodefs.available: -1Gi}",
    'evictionMinimumReclaim[nodefs.available]: Invalid value: "-1Gi": negative eviction minimum reclaim specified for nodefs.available',
  ],
  [
    "evictionMinimumReclaim: {nodefs.available: 0%}",
    'evictionMinimumReclaim[nodefs.available]: Invalid value: "0%": eviction percentage minimum reclaim nodefs.available must be positive',
  ],
  [
    "evictionMinimumReclaim: {nodefs: 1Gi}",
    'evictionMinimumReclaim[nodefs]: Invalid value: "nodefs": unsupported eviction signal nodefs (did you mean nodefs.available?)',
  ],
  [
    "evictionMinimumReclaim: {nodefs.available: 1K}",
    'evictionMinimumReclaim[nodefs.available]: Invalid value: "1K": unable to parse quantity\'s suffix (e.g. 500Mi or 5%)',
  ],
];

/** Bodies without a problem. */
export const VALID: readonly string[] = [
  "port: 65535",
  "port: 1",
  "readOnlyPort: 10255",
  "healthzPort: 0",
  "oomScoreAdj: -1000",
  "nodeStatusMaxImages: -1",
  'address: "::"',
  "healthzBindAddress: ::1\naddress: 10.0.0.1\nhealthzPort: 10250",
  "enableServer: false\nhealthzPort: 10250",
  "cpuCFSQuotaPeriod: 1ms",
  "cpuCFSQuotaPeriod: 1s",
  "imageMaximumGCAge: 121s",
  "imageGCHighThresholdPercent: 100\nimageGCLowThresholdPercent: 99",
  "crashLoopBackOff: {maxContainerRestartPeriod: 1s}",
  "crashLoopBackOff: {maxContainerRestartPeriod: 300s}",
  "shutdownGracePeriod: 30s\nshutdownGracePeriodCriticalPods: 10s",
  "shutdownGracePeriodByPodPriority: [{priority: 100, shutdownGracePeriodSeconds: 10}]",
  "memorySwap: {swapBehavior: LimitedSwap}",
  "memoryReservationPolicy: TieredReservation\nfeatureGates: {MemoryQoS: true}",
  "logging: {format: json, verbosity: 5}",
  "logging: {vmodule: [{filePattern: pod*, verbosity: 4}]}",
  "logging: {options: {text: {splitStream: true}}}\nfeatureGates: {LoggingAlphaOptions: true}",
  "maxParallelImagePulls: 1",
  "maxParallelImagePulls: 5",
  "enforceNodeAllocatable: []\ncgroupsPerQOS: false",
  "enforceNodeAllocatable: [none]\ncgroupsPerQOS: false",
  "enforceNodeAllocatable: [pods, system-reserved, kube-reserved-compressible]\nsystemReservedCgroup: /s\nkubeReservedCgroup: /k",
  "reservedSystemCPUs: 0-3,8",
  'kubeReserved: {cpu: 100m, memory: 1Gi, ephemeral-storage: 1Gi, pid: "1000"}',
  "qosReserved: {memory: 100%}\nfeatureGates: {QOSReserved: true}",
  "reservedMemory: [{numaNode: 0, limits: {memory: 1Gi, hugepages-2Mi: 64Mi}}, {numaNode: 1, limits: {memory: 1Gi}}]",
  "registerWithTaints: [{key: example.com/a, value: b, effect: NoSchedule}, {key: c, effect: NoExecute}]",
  "evictionHard: {memory.available: 0%, nodefs.available: 100%, pid.available: 5.5%}",
  "evictionSoft: {memory.available: 1Gi}\nevictionSoftGracePeriod: {memory.available: 1m30s}",
  "evictionMinimumReclaim: {imagefs.available: 2Gi, nodefs.available: 5%}",
  'allowedUnsafeSysctls: ["kernel.msg*", net.ipv4.route.min_pmtu, "net.*", net/ipv4/tcp_syncookies]',
  'imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\npreloadedImagesVerificationAllowlist: [registry.example.com/team/*, "localhost:5000/app", app]',
  "containerRuntimeEndpoint: /run/crio/crio.sock",
  "tlsCertFile: /c\ntlsPrivateKeyFile: /k\ntlsMinVersion: VersionTLS13\ntlsCipherSuites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]\ntlsCurvePreferences: [29, 4588]",
  "podLogsDir: /",
  "userNamespaces: {idsPerPod: 131072}",
  'tracing: {endpoint: "localhost:4317", samplingRatePerMillion: 100}',
  "systemCgroups: /system\ncgroupRoot: /",
  'showHiddenMetricsForVersion: "1.36"',
  "enableSystemLogQuery: true",
  'containerLogMaxSize: "-1"',
];

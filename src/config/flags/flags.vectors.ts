// pure

/** A command line and the configuration fields it sets, in file form. */
export const SETTINGS: readonly (readonly [
  argv: readonly string[],
  settings: Readonly<Record<string, unknown>>,
])[] = [
  [[], {}],
  [["--max-pods", "5"], { maxPods: 5 }],
  [["--max-pods=5"], { maxPods: 5 }],
  [["--max_pods=5"], { maxPods: 5 }],
  [["--max-pods=5", "--max-pods=6"], { maxPods: 6 }],
  [["--max-pods=0x10"], { maxPods: 16 }],
  [["--max-pods=0o17"], { maxPods: 15 }],
  [["--max-pods=017"], { maxPods: 15 }],
  [["--max-pods=0b11"], { maxPods: 3 }],
  [["--max-pods=1_000"], { maxPods: 1000 }],
  [["--max-pods=-5"], { maxPods: -5 }],
  [["--max-pods", "-5"], { maxPods: -5 }],
  [["--max-pods=+5"], { maxPods: 5 }],
  [["--port=0"], { port: 0 }],
  [["--pod-max-pids=9223372036854775807"], { podPidsLimit: 2 ** 63 }],
  [["--fail-swap-on"], { failSwapOn: true }],
  [["--fail-swap-on=false"], { failSwapOn: false }],
  [["--fail-swap-on=0"], { failSwapOn: false }],
  [["--fail-swap-on=T"], { failSwapOn: true }],
  [["--fail-swap-on=False"], { failSwapOn: false }],
  [["--fail-swap-on", "--max-pods=5"], { failSwapOn: true, maxPods: 5 }],
  [["-v", "3"], { "logging.verbosity": 3 }],
  [["-v=3"], { "logging.verbosity": 3 }],
  [["-v3"], { "logging.verbosity": 3 }],
  [["--v", "3"], { "logging.verbosity": 3 }],
  [["--v=3"], { "logging.verbosity": 3 }],
  [["-v", "3", "-v=5"], { "logging.verbosity": 5 }],
  [["--sync-frequency=1h30m"], { syncFrequency: "1h30m0s" }],
  [["--sync-frequency", "90s"], { syncFrequency: "1m30s" }],
  [["--address=::"], { address: "::" }],
  [["--address="], { address: "" }],
  [["--cluster-dns=10.0.0.10,10.0.0.11"], { clusterDNS: ["10.0.0.10", "10.0.0.11"] }],
  [["--cluster-dns=a", "--cluster-dns", "b,c"], { clusterDNS: ["a", "b", "c"] }],
  [["--cluster-dns="], { clusterDNS: [] }],
  [['--cluster-dns="a,b",c'], { clusterDNS: ["a,b", "c"] }],
  [['--cluster-dns="a""b"'], { clusterDNS: ['a"b'] }],
  [["--tls-curve-preferences=29,0x17"], { tlsCurvePreferences: [29, 23] }],
  [["--kube-reserved=cpu=100m,memory=1Gi"], { kubeReserved: { cpu: "100m", memory: "1Gi" } }],
  [
    ["--kube-reserved", "cpu=1", "--kube-reserved", "memory=2"],
    { kubeReserved: { cpu: "1", memory: "2" } },
  ],
  [["--kube-reserved= cpu = 1 ,,"], { kubeReserved: { cpu: "1" } }],
  [["--kube-reserved=a=b=c"], { kubeReserved: { a: "b=c" } }],
  [["--kube-reserved="], { kubeReserved: {} }],
  [["--cpu-manager-policy-options=a=1,2"], { cpuManagerPolicyOptions: { a: "1,2" } }],
  [
    ["--feature-gates=A=true,B=false", "--feature-gates=C=1"],
    { featureGates: { A: true, B: false, C: true } },
  ],
  [
    ["--eviction-hard=memory.available<100Mi,nodefs.available<10%"],
    { evictionHard: { "memory.available": "100Mi", "nodefs.available": "10%" } },
  ],
  [["--eviction-hard="], { evictionHard: {} }],
  [
    ["--eviction-soft-grace-period=memory.available=1m30s"],
    { evictionSoftGracePeriod: { "memory.available": "1m30s" } },
  ],
  [
    ["--manifest-url-header=a:hello,b:again", "--manifest-url-header=b:beautiful,c:x:y"],
    { staticPodURLHeader: { a: ["hello"], b: ["again", "beautiful"], c: ["x:y"] } },
  ],
  [
    ["--reserved-memory=0:memory=1Gi,hugepages-2Mi=64Mi;1:memory=2Gi"],
    {
      reservedMemory: [
        { numaNode: 0, limits: { memory: "1Gi", "hugepages-2Mi": "64Mi" } },
        { numaNode: 1, limits: { memory: "2Gi" } },
      ],
    },
  ],
  [
    ["--reserved-memory=0:memory=1Gi", "--reserved-memory=1:memory=2Gi"],
    {
      reservedMemory: [
        { numaNode: 0, limits: { memory: "1Gi" } },
        { numaNode: 1, limits: { memory: "2Gi" } },
      ],
    },
  ],
  [
    ["--register-with-taints=a=b:NoSchedule,c:NoExecute"],
    {
      registerWithTaints: [
        { key: "a", value: "b", effect: "NoSchedule" },
        { key: "c", effect: "NoExecute" },
      ],
    },
  ],
  [
    ["--register-with-taints=a=:NoSchedule"],
    { registerWithTaints: [{ key: "a", value: "", effect: "NoSchedule" }] },
  ],
  [
    ["--vmodule=pod*=4,kubelet=2"],
    {
      "logging.vmodule": [
        { filePattern: "pod*", verbosity: 4 },
        { filePattern: "kubelet", verbosity: 2 },
      ],
    },
  ],
  [["--log-json-info-buffer-size=2Ki"], { "logging.options.json.infoBufferSize": "2Ki" }],
  [["--rotate-server-certificates"], { serverTLSBootstrap: true }],
  [["--anonymous-auth=false"], { "authentication.anonymous.enabled": false }],
  [["--pod-manifest-path=/m"], { staticPodPath: "/m" }],
  [["--pod-manifest-path", ""], { staticPodPath: "" }],
  [["--pod-manifest-path", "--max-pods=1"], { staticPodPath: "--max-pods=1" }],
  [["--runonce=false"], { runOnce: false }],
  [["--seccomp-default"], { seccompDefault: true }],
  [["--experimental-qos-reserved=memory=50%"], { qosReserved: { memory: "50%" } }],
  [["--experimental-fail-swap-on=false"], { failSwapOn: false }],
  [["--fail-swap-on=true", "--experimental-fail-swap-on=false"], { failSwapOn: false }],
  [["--experimental-fail-swap-on=false", "--fail-swap-on=true"], { failSwapOn: true }],
  [
    ["--fail-swap-on=true", "--experimental-fail-swap-on=false", "--fail-swap-on=true"],
    { failSwapOn: true },
  ],
  [["--iptables-drop-bit=3"], { iptablesDropBit: 3 }],
  [["--"], {}],
  [["--max-pods=5", "--"], { maxPods: 5 }],
  [
    [
      "--container-runtime=remote",
      "--network-plugin=cni",
      "--cni-bin-dir",
      "/opt",
      "--pod-infra-container-image=pause",
    ],
    {},
  ],
  [["--logtostderr", "--docker-only=true", "--dynamic-config-dir="], {}],
];

/** A command line and what is wrong with it. */
export const PROBLEMS: readonly (readonly [
  argv: readonly string[],
  problems: readonly string[],
])[] = [
  [["--max-pod=5"], ["--max-pod: unknown flag: --max-pod (did you mean --max-pods?)"]],
  [["--maxPods=5"], ["--maxPods: unknown flag: --maxPods (did you mean --max-pods?)"]],
  [["--frobnicate"], ["--frobnicate: unknown flag: --frobnicate"]],
  [["--frobnicate", "x", "--max-pods=5"], ["--frobnicate: unknown flag: --frobnicate"]],
  [["-x"], ["-x: unknown shorthand flag: 'x' in -x"]],
  [["-max-pods=5"], ["-max-pods=5: unknown shorthand flag: 'm' in -max-pods=5 (write --max-pods)"]],
  [["--max-pods"], ["--max-pods: flag needs an argument: --max-pods"]],
  [["-v"], ["--v: flag needs an argument: 'v' in -v"]],
  [["--=5"], ["--=5: bad flag syntax: --=5"]],
  [["---max-pods=5"], ["---max-pods=5: bad flag syntax: ---max-pods=5"]],
  [["run"], ["unknown command run (unexpected argument: only flags are accepted)"]],
  [["-"], ["unknown command - (unexpected argument: only flags are accepted)"]],
  [
    ["--fail-swap-on", "false"],
    ["unknown command false (write --fail-swap-on=false: a boolean flag takes its value after =)"],
  ],
  [["--", "x"], ["unknown command x (unexpected argument: only flags are accepted)"]],
  [
    ["--max-pods=abc"],
    [
      '--max-pods: invalid argument "abc" for "--max-pods" flag: strconv.ParseInt: parsing "abc": invalid syntax',
    ],
  ],
  [
    ["--max-pods="],
    [
      '--max-pods: invalid argument "" for "--max-pods" flag: strconv.ParseInt: parsing "": invalid syntax',
    ],
  ],
  [
    ["--max-pods=1.5"],
    [
      '--max-pods: invalid argument "1.5" for "--max-pods" flag: strconv.ParseInt: parsing "1.5": invalid syntax',
    ],
  ],
  [
    ["--max-pods=08"],
    [
      '--max-pods: invalid argument "08" for "--max-pods" flag: strconv.ParseInt: parsing "08": invalid syntax',
    ],
  ],
  [
    ["--max-pods=1__0"],
    [
      '--max-pods: invalid argument "1__0" for "--max-pods" flag: strconv.ParseInt: parsing "1__0": invalid syntax',
    ],
  ],
  [
    ["--max-pods=2147483648"],
    [
      '--max-pods: invalid argument "2147483648" for "--max-pods" flag: strconv.ParseInt: parsing "2147483648": value out of range',
    ],
  ],
  [
    ["--pod-max-pids=9223372036854775808"],
    [
      '--pod-max-pids: invalid argument "9223372036854775808" for "--pod-max-pids" flag: strconv.ParseInt: parsing "9223372036854775808": value out of range',
    ],
  ],
  [
    ["-v=-1"],
    [
      '--v: invalid argument "-1" for "-v, --v" flag: strconv.ParseUint: parsing "-1": invalid syntax',
    ],
  ],
  [
    ["-v=0x1"],
    [
      '--v: invalid argument "0x1" for "-v, --v" flag: strconv.ParseUint: parsing "0x1": invalid syntax',
    ],
  ],
  [
    ["--v=2147483648"],
    [
      '--v: invalid argument "2147483648" for "-v, --v" flag: strconv.ParseUint: parsing "2147483648": value out of range',
    ],
  ],
  [
    ["--fail-swap-on=yes"],
    [
      '--fail-swap-on: invalid argument "yes" for "--fail-swap-on" flag: strconv.ParseBool: parsing "yes": invalid syntax (write --fail-swap-on=true or --fail-swap-on=false)',
    ],
  ],
  [
    ["--sync-frequency=60"],
    [
      '--sync-frequency: invalid argument "60" for "--sync-frequency" flag: time: missing unit in duration "60" (write 60s)',
    ],
  ],
  [
    ["--sync-frequency=x"],
    [
      '--sync-frequency: invalid argument "x" for "--sync-frequency" flag: time: invalid duration "x" (e.g. 30s or 1h30m)',
    ],
  ],
  [
    ["--address=localhost"],
    [
      '--address: invalid argument "localhost" for "--address" flag: "localhost" is not a valid IP address',
    ],
  ],
  [
    ["--kube-reserved=cpu"],
    [
      '--kube-reserved: invalid argument "cpu" for "--kube-reserved" flag: malformed pair, expect string=string (e.g. --kube-reserved=name=value,name=value)',
    ],
  ],
  [
    ["--eviction-hard=memory.available=1Gi"],
    [
      '--eviction-hard: invalid argument "memory.available=1Gi" for "--eviction-hard" flag: malformed pair, expect string<string (e.g. --eviction-hard=\'memory.available<100Mi,nodefs.available<10%\')',
    ],
  ],
  [
    ["--feature-gates=A"],
    [
      '--feature-gates: invalid argument "A" for "--feature-gates" flag: malformed pair, expect string=bool (e.g. --feature-gates=SomeFeature=true)',
    ],
  ],
  [
    ["--feature-gates=A=maybe"],
    [
      '--feature-gates: invalid argument "A=maybe" for "--feature-gates" flag: invalid value of A: maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax (e.g. --feature-gates=SomeFeature=true)',
    ],
  ],
  [
    ["--manifest-url-header=a"],
    [
      '--manifest-url-header: invalid argument "a" for "--manifest-url-header" flag: malformed pair, expect string:string',
    ],
  ],
  [
    ['--cluster-dns="a'],
    [
      '--cluster-dns: invalid argument "\\"a" for "--cluster-dns" flag: parse error on line 1: extraneous or missing " in quoted-field',
    ],
  ],
  [
    ['--cluster-dns=a"b'],
    [
      '--cluster-dns: invalid argument "a\\"b" for "--cluster-dns" flag: parse error on line 1: bare " in non-quoted-field',
    ],
  ],
  [
    ["--tls-curve-preferences=a"],
    [
      '--tls-curve-preferences: invalid argument "a" for "--tls-curve-preferences" flag: strconv.ParseInt: parsing "a": invalid syntax',
    ],
  ],
  [
    ["--reserved-memory=memory=1Gi"],
    [
      '--reserved-memory: invalid argument "memory=1Gi" for "--reserved-memory" flag: the reserved memory has incorrect format, expected numaNodeID:type=quantity[,type=quantity...][;numaNodeID:...], got memory=1Gi',
    ],
  ],
  [
    ["--reserved-memory=0:memory=1K"],
    [
      '--reserved-memory: invalid argument "0:memory=1K" for "--reserved-memory" flag: failed to parse the quantity for the resource memory: unable to parse quantity\'s suffix',
    ],
  ],
  [
    ["--register-with-taints=a"],
    [
      '--register-with-taints: invalid argument "a" for "--register-with-taints" flag: invalid taint spec: a, expected key=value:effect',
    ],
  ],
  [
    ["--vmodule=a"],
    [
      '--vmodule: invalid argument "a" for "--vmodule" flag: "a" does not have the pattern=N format',
    ],
  ],
  [
    ["--vmodule=a=x"],
    [
      '--vmodule: invalid argument "a=x" for "--vmodule" flag: parsing verbosity in "a=x": strconv.ParseUint: parsing "x": invalid syntax',
    ],
  ],
  [
    ["--log-text-info-buffer-size=x"],
    [
      '--log-text-info-buffer-size: invalid argument "x" for "--log-text-info-buffer-size" flag: quantities must match the regular expression \'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$\'',
    ],
  ],
  [
    ["--version=maybe"],
    [
      '--version: invalid argument "maybe" for "--version" flag: strconv.ParseBool: parsing "maybe": invalid syntax',
    ],
  ],
  [
    ["--container-runtime=docker"],
    [
      '--container-runtime: the flag was removed from Kubernetes and "docker" cannot be honoured (point --container-runtime-endpoint to containerd or another CRI runtime)',
    ],
  ],
  [
    ["--network-plugin=kubenet"],
    [
      '--network-plugin: the flag was removed from Kubernetes and "kubenet" cannot be honoured (set up a CNI network in the container runtime)',
    ],
  ],
  [
    ["--dynamic-config-dir=/x"],
    [
      '--dynamic-config-dir: the flag was removed from Kubernetes and "/x" cannot be honoured (use --config and --config-dir)',
    ],
  ],
  [
    ["--api-servers=http://x"],
    [
      '--api-servers: the flag was removed from Kubernetes and "http://x" cannot be honoured (use --kubeconfig)',
    ],
  ],
  [
    ["--seccomp-profile-root=/x"],
    [
      '--seccomp-profile-root: the flag was removed from Kubernetes and "/x" cannot be honoured (put the profiles into <root-dir>/seccomp, by default /var/lib/kubelet/seccomp)',
    ],
  ],
  [
    ["--max-pods=a", "--port=b", "--c"],
    [
      '--max-pods: invalid argument "a" for "--max-pods" flag: strconv.ParseInt: parsing "a": invalid syntax',
      '--port: invalid argument "b" for "--port" flag: strconv.ParseInt: parsing "b": invalid syntax',
      "--c: unknown flag: --c",
    ],
  ],
];

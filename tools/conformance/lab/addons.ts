/** Objects of what every cluster runs as pods: kube-proxy on each node, and CoreDNS at the address of the cluster's DNS. */
import { COREDNS_IMAGE, KUBE_PROXY_IMAGE } from "../images/cluster-images.ts";

/** Address that kubelets give to pods as their DNS server. */
export const DNS_ADDRESS = "10.96.0.10";
const TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount";
const LABELS = {
  proxy: { "k8s-app": "kube-proxy" },
  dns: { "k8s-app": "kube-dns" },
} as const;
const COREFILE = `.:53 {
  errors
  health {
    lameduck 5s
  }
  ready
  kubernetes cluster.local in-addr.arpa ip6.arpa {
    pods insecure
    fallthrough in-addr.arpa ip6.arpa
    ttl 30
  }
  cache 30
  loadbalance
}
`;

/** What to know of the cluster. */
export interface Addresses {
  /** The API server, as nodes reach it. */
  readonly apiServer: string;
  readonly podRange: string;
}

/** All objects, for `kubectl apply`. */
export function addons(addresses: Addresses): object {
  return { apiVersion: "v1", kind: "List", items: [...proxy(addresses), ...dns()] };
}

const system = (name: string) => ({ name, namespace: "kube-system" });

function account(name: string, role: string): object[] {
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: system(name) },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: `lab:${name}` },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
      subjects: [{ kind: "ServiceAccount", ...system(name) }],
    },
  ];
}

function configMap(name: string, data: Readonly<Record<string, string>>): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: system(name), data };
}

function proxy({ apiServer, podRange }: Addresses): object[] {
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      { name: "c", cluster: { server: apiServer, "certificate-authority": `${TOKEN}/ca.crt` } },
    ],
    users: [{ name: "u", user: { tokenFile: `${TOKEN}/token` } }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    "current-context": "c",
  };
  const config = {
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    mode: "iptables",
    clusterCIDR: podRange,
    clientConnection: { kubeconfig: "/var/lib/kube-proxy/kubeconfig.conf" },
    // Limits of connections are the machine's, not the namespace's.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
  };
  return [
    ...account("kube-proxy", "system:node-proxier"),
    configMap("kube-proxy", {
      "config.conf": JSON.stringify(config),
      "kubeconfig.conf": JSON.stringify(kubeconfig),
    }),
    {
      apiVersion: "apps/v1",
      kind: "DaemonSet",
      metadata: { ...system("kube-proxy"), labels: LABELS.proxy },
      spec: {
        selector: { matchLabels: LABELS.proxy },
        template: { metadata: { labels: LABELS.proxy }, spec: proxyPod() },
      },
    },
  ];
}

function proxyPod(): object {
  return {
    serviceAccountName: "kube-proxy",
    priorityClassName: "system-node-critical",
    hostNetwork: true,
    tolerations: [{ operator: "Exists" }],
    containers: [
      {
        name: "kube-proxy",
        image: KUBE_PROXY_IMAGE,
        args: ["--config=/var/lib/kube-proxy/config.conf", "--hostname-override=$(NODE_NAME)"],
        env: [{ name: "NODE_NAME", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } }],
        securityContext: { privileged: true },
        volumeMounts: [
          { name: "config", mountPath: "/var/lib/kube-proxy" },
          { name: "lock", mountPath: "/run/xtables.lock" },
        ],
      },
    ],
    volumes: [
      { name: "config", configMap: { name: "kube-proxy" } },
      { name: "lock", hostPath: { path: "/run/xtables.lock", type: "FileOrCreate" } },
    ],
  };
}

function dns(): object[] {
  return [
    ...account("coredns", "lab:coredns"),
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "lab:coredns" },
      rules: [
        {
          apiGroups: [""],
          resources: ["services", "pods", "namespaces"],
          verbs: ["list", "watch"],
        },
        {
          apiGroups: ["discovery.k8s.io"],
          resources: ["endpointslices"],
          verbs: ["list", "watch"],
        },
      ],
    },
    configMap("coredns", { Corefile: COREFILE }),
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { ...system("coredns"), labels: LABELS.dns },
      spec: {
        replicas: 2,
        selector: { matchLabels: LABELS.dns },
        template: { metadata: { labels: LABELS.dns }, spec: dnsPod() },
      },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { ...system("kube-dns"), labels: LABELS.dns },
      spec: {
        selector: LABELS.dns,
        clusterIP: DNS_ADDRESS,
        ports: [
          { name: "dns", port: 53, protocol: "UDP" },
          { name: "dns-tcp", port: 53, protocol: "TCP" },
          { name: "metrics", port: 9153, protocol: "TCP" },
        ],
      },
    },
  ];
}

function dnsPod(): object {
  const onePerNode = {
    maxSkew: 1,
    topologyKey: "kubernetes.io/hostname",
    whenUnsatisfiable: "DoNotSchedule",
    labelSelector: { matchLabels: LABELS.dns },
  };
  return {
    serviceAccountName: "coredns",
    priorityClassName: "system-cluster-critical",
    dnsPolicy: "Default",
    topologySpreadConstraints: [onePerNode],
    containers: [
      {
        name: "coredns",
        image: COREDNS_IMAGE,
        args: ["-conf", "/etc/coredns/Corefile"],
        resources: { requests: { cpu: "100m", memory: "70Mi" }, limits: { memory: "170Mi" } },
        livenessProbe: {
          httpGet: { path: "/health", port: 8080 },
          initialDelaySeconds: 60,
          timeoutSeconds: 5,
        },
        readinessProbe: { httpGet: { path: "/ready", port: 8181 } },
        volumeMounts: [{ name: "config", mountPath: "/etc/coredns", readOnly: true }],
      },
    ],
    volumes: [{ name: "config", configMap: { name: "coredns" } }],
  };
}

// Programs written in Go on which tests stand. Each family has a module file of its own beside this one, which pins
// them and all they are built from: what one family requires, another cannot have.

const KUBERNETES = {
  module: "k8s.io/kubernetes",
  /** Without these the programs call themselves v0.0.0-master. */
  variables(version) {
    const [, major, minor] = /^v(\d+)\.(\d+)\./.exec(version);
    return ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"].flatMap((name) => [
      [`${name}.gitVersion`, version],
      [`${name}.gitMajor`, major],
      [`${name}.gitMinor`, minor],
      [`${name}.gitTreeState`, "archive"],
    ]);
  },
};

const CONTAINERD = "github.com/containerd/containerd/v2";
const CNI = "github.com/containernetworking/plugins";

/**
 * By folder of the module file: the module that gives the family its version, the packages of its programs by name, and
 * the variables that the linker sets. A name that ends in `.test` is a package's tests. `file` is the name of the only program where the compiler would call it otherwise,
 * `tags` are build tags, `cgo` is what the compiler of C code needs.
 */
export const FAMILIES = {
  kubernetes: {
    ...KUBERNETES,
    programs: Object.fromEntries(
      ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kubelet"].map(
        (name) => [name, `k8s.io/kubernetes/cmd/${name}`],
      ),
    ),
  },
  "kubernetes-suites": {
    ...KUBERNETES,
    programs: {
      "e2e_node.test": "k8s.io/kubernetes/test/e2e_node",
      "e2e.test": "k8s.io/kubernetes/test/e2e",
      ginkgo: "github.com/onsi/ginkgo/v2/ginkgo",
      "kube-proxy": "k8s.io/kubernetes/cmd/kube-proxy",
      "sample-apiserver": "k8s.io/sample-apiserver",
      ...Object.fromEntries(
        [
          "agnhost",
          "nonewprivs",
          "regression-issue-74839",
          "resource-consumer",
          "resource-consumer/consume-cpu",
          "sample-device-plugin",
        ].map((path) => [path.split("/").at(-1), `k8s.io/kubernetes/test/images/${path}`]),
      ),
    },
  },
  kubeadm: {
    ...KUBERNETES,
    programs: { kubeadm: "k8s.io/kubernetes/cmd/kubeadm" },
  },
  coredns: {
    module: "github.com/coredns/coredns",
    programs: { coredns: "nodelet.test/tools/coredns" },
  },
  "kubernetes-1.36": {
    ...KUBERNETES,
    programs: Object.fromEntries(
      [
        "kubelet",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "kube-proxy",
        "kubeadm",
      ].map((name) => [`${name}-1.36`, `k8s.io/kubernetes/cmd/${name}`]),
    ),
  },
  etcd: {
    module: "go.etcd.io/etcd/server/v3",
    programs: { etcd: "go.etcd.io/etcd/server/v3" },
    file: "etcd",
  },
  // That which the release of Kubernetes before asks for; a data folder of it is upgraded.
  "etcd-3.6": {
    module: "go.etcd.io/etcd/server/v3",
    programs: { "etcd-3.6": "go.etcd.io/etcd/server/v3" },
    file: "etcd",
  },
  "etcd-tools": {
    module: "go.etcd.io/etcd/etcdutl/v3",
    programs: {
      etcdctl: "go.etcd.io/etcd/etcdctl/v3",
      etcdutl: "go.etcd.io/etcd/etcdutl/v3",
    },
  },
  containerd: {
    module: CONTAINERD,
    programs: Object.fromEntries(
      ["containerd", "containerd-shim-runc-v2", "ctr"].map((name) => [
        name,
        `${CONTAINERD}/cmd/${name}`,
      ]),
    ),
    variables: (version) => [[`${CONTAINERD}/version.Version`, version]],
  },
  runc: {
    module: "github.com/opencontainers/runc",
    programs: { runc: "github.com/opencontainers/runc" },
    // Without the tag a container's seccomp profile would be refused.
    tags: ["seccomp"],
    cgo: ["gcc", "pkg-config", "libseccomp-dev"],
  },
  "cni-plugins": {
    module: CNI,
    programs: {
      bridge: `${CNI}/plugins/main/bridge`,
      loopback: `${CNI}/plugins/main/loopback`,
      "host-local": `${CNI}/plugins/ipam/host-local`,
      bandwidth: `${CNI}/plugins/meta/bandwidth`,
      portmap: `${CNI}/plugins/meta/portmap`,
    },
    variables: (version) => [[`${CNI}/pkg/utils/buildversion.BuildVersion`, version]],
  },
};

/** What `go build` calls a package's program: the last part of its path that is no major version. */
export function builtName(packagePath) {
  return packagePath
    .split("/")
    .filter((part) => !/^v\d+$/.test(part))
    .at(-1);
}

/** Whether a program is a suite of tests, which `go test -c` makes of a package, not `go build`. */
export function isSuite(program) {
  return program.endsWith(".test");
}

/** The folder of the family that has the program; throws for an unknown one. */
export function familyOf(program) {
  for (const [family, { programs }] of Object.entries(FAMILIES))
    if (program in programs) return family;
  const known = Object.values(FAMILIES).flatMap(({ programs }) => Object.keys(programs));
  throw new Error(`${program} is none of ${known.join(", ")}`);
}

// What an administrator writes: configuration, flags, kubeconfig, credential providers.
import type { JsonValue } from "../../../src/api/generated/types.ts";
import { parseYamlDocument, YamlError } from "../../../src/api/text/yaml.ts";
import { assembleConfig } from "../../../src/config/assemble.ts";
import { parseFlags } from "../../../src/config/flags/flags.ts";
import { readImagePolicy } from "../../../src/config/image-policy.ts";
import { formatConfigProblem } from "../../../src/config/problem.ts";
import { UsageError } from "../../../src/kit/errors.ts";
import { readKubeconfig } from "../../../src/outside/kube/kubeconfig.ts";
import {
  matchesImage,
  parseDockerConfig,
} from "../../../src/subsystems/images/credentials/keyring.ts";
import {
  readProviderAnswer,
  readProviderConfig,
} from "../../../src/subsystems/images/credentials/provider-config.ts";
import { same } from "../check.ts";
import { textTarget } from "../target.ts";

const CONFIG = {
  apiVersion: "kubelet.config.k8s.io/v1beta1",
  kind: "KubeletConfiguration",
  address: "0.0.0.0",
  port: 10250,
  authentication: { x509: { clientCAFile: "ca.crt" }, webhook: { cacheTTL: "2m0s" } },
  authorization: { mode: "Webhook" },
  clusterDNS: ["10.96.0.10"],
  evictionHard: { "memory.available": "100Mi", "nodefs.available": "10%" },
  evictionSoft: { "imagefs.inodesFree": "5%" },
  evictionSoftGracePeriod: { "imagefs.inodesFree": "1m" },
  featureGates: { AllAlpha: false, PodLevelResources: true },
  kubeReserved: { cpu: "100m", memory: "64Mi", pid: "1000" },
  reservedSystemCPUs: "0-1,3",
  shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 10 }],
  tlsCipherSuites: ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"],
  userNamespaces: { idsPerPod: 65536 },
  logging: { verbosity: 2, vmodule: [{ filePattern: "a", verbosity: 3 }] },
};

const KUBECONFIG = {
  apiVersion: "v1",
  kind: "Config",
  "current-context": "a",
  contexts: [{ name: "a", context: { cluster: "c", user: "u", namespace: "n" } }],
  clusters: [
    {
      name: "c",
      cluster: {
        server: "https://192.0.2.1:6443",
        "certificate-authority-data": "YQ==",
        "tls-server-name": "x",
      },
    },
  ],
  users: [
    { name: "u", user: { token: "t", "client-certificate": "a.crt", "client-key": "a.key" } },
    {
      name: "v",
      user: {
        exec: {
          apiVersion: "client.authentication.k8s.io/v1",
          command: "a",
          args: ["b"],
          env: [{ name: "A", value: "b" }],
          interactiveMode: "Never",
        },
      },
    },
  ],
};

const PROVIDERS = {
  kind: "CredentialProviderConfig",
  apiVersion: "kubelet.config.k8s.io/v1",
  providers: [
    {
      name: "a",
      matchImages: ["*.example/a", "b:5000"],
      defaultCacheDuration: "12h",
      apiVersion: "credentialprovider.kubelet.k8s.io/v1",
      args: ["x"],
      env: [{ name: "A", value: "b" }],
      tokenAttributes: {
        serviceAccountTokenAudience: "a",
        requireServiceAccount: true,
        cacheType: "Token",
      },
    },
  ],
};

const read = readProviderConfig(PROVIDERS as unknown as JsonValue);
const PROVIDER = read.kind === "providers" ? read.providers[0] : undefined;
const ANSWER = {
  kind: "CredentialProviderResponse",
  apiVersion: "credentialprovider.kubelet.k8s.io/v1",
  cacheKeyType: "Registry",
  cacheDuration: "5m0s",
  auth: { "*.example": { username: "u", password: "p" } },
};

const FLAGS = parseFlags([]);
const PATH = "/etc/nodelet/config.yaml";

/** Every decoder of configuration. */
export const CONFIG_TARGETS = [
  textTarget({
    name: "kubelet-configuration",
    layout: "json",
    files: ["src/config/"],
    share: 0.1,
    words: [
      ...Object.keys(CONFIG),
      "10%",
      "1h",
      "0-3",
      "100Mi",
      "-1",
      "memory.available",
      "enabled",
    ],
    seeds: [JSON.stringify(CONFIG)],
    run: (text) => {
      const base = { path: PATH, text };
      const dropIns = [{ path: "/etc/nodelet/conf.d/a.conf", text }];
      const { problems } = assembleConfig({ flags: FLAGS, base, dropIns, cwd: "/" });
      for (const problem of problems) same(formatConfigProblem(problem).length > 0, true);
    },
  }),
  textTarget({
    name: "flags",
    files: ["config/flags/"],
    words: [
      ...[
        "--",
        "--config=",
        "-v",
        "-v=",
        "--node-ip=",
        "--feature-gates=",
        "--register-node",
        "=false",
      ],
      ...[
        "--node-labels=",
        "--system-reserved=",
        "--eviction-hard=",
        "--address=",
        ",",
        "=",
        "\n",
        "_",
      ],
    ],
    seeds: [
      "--config=/a\n--node-ip=192.0.2.1\n-v3\n--node-labels=a=b,c=d\n--feature-gates=A=true\n--register-node=false",
    ],
    // A command line is root's, and each unknown flag is compared with all known ones.
    run: (text) => void parseFlags(text.split("\n").slice(0, 500)),
  }),
  textTarget({
    name: "kubeconfig",
    layout: "json",
    files: ["outside/kube/kubeconfig.ts"],
    words: [
      "token",
      "tokenFile",
      "exec",
      "server",
      "insecure-skip-tls-verify",
      "proxy-url",
      "http://a",
      "https://[::1]:1",
    ],
    seeds: [JSON.stringify(KUBECONFIG)],
    refuses: [UsageError],
    run: (text) => void readKubeconfig(text, "/etc/nodelet/kubeconfig"),
  }),
  textTarget({
    name: "image-policy",
    layout: "json",
    files: ["config/image-policy.ts"],
    seeds: [
      '{"apiVersion":"v1","keep":["registry.example/*"],"rules":[{"image":"a","minAge":"1h"}]}',
    ],
    run: (text) => void readImagePolicy(text),
  }),
  textTarget({
    name: "credential-providers",
    layout: "json",
    files: ["images/credentials/provider-config.ts", "images/credentials/token-attributes.ts"],
    words: ["*", "*.*", "a:1", "ServiceAccount", "Token", "matchImages"],
    seeds: [JSON.stringify(PROVIDERS)],
    refuses: [YamlError],
    run: (text) => void readProviderConfig(parseYamlDocument(text).value as JsonValue),
  }),
  textTarget({
    name: "credential-provider-answer",
    layout: "json",
    files: ["images/credentials/provider-config.ts"],
    words: ["Image", "Global", "Registry", "1h", "-1s", "auth"],
    seeds: [JSON.stringify(ANSWER)],
    refuses: [SyntaxError],
    run: (text) => PROVIDER && void readProviderAnswer(PROVIDER, text),
  }),
  textTarget({
    name: "docker-config",
    layout: "json",
    files: ["images/credentials/keyring.ts"],
    words: ["auth", "dTpw", "username", "password", "https://index.docker.io/v1/"],
    seeds: [
      '{"auths":{"registry.example":{"auth":"dTpw"},"b:5000/c":{"username":"u","password":"p"}}}',
    ],
    refuses: [SyntaxError],
    run: (text) => {
      parseDockerConfig(text, "config.json");
      parseDockerConfig(text, "dockercfg");
    },
  }),
  textTarget({
    name: "image-globs",
    files: ["images/credentials/keyring.ts"],
    words: ["*", "*.", ":5000", "/", "https://"],
    seeds: ["*.example\nregistry.example/a", "a.*.b:5000/c\na.x.b:5000/c/d"],
    run: (text) => {
      const [glob = "", image = ""] = text.split("\n");
      matchesImage(glob, image);
    },
  }),
];

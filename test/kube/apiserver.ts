/**
 * A real control plane for tests: kube-apiserver with etcd, RBAC, the node authorizer, NodeRestriction,
 * bootstrap tokens and service account keys. On the machine's loopback, or inside a box, where pods and
 * agent reach it on the node's address. See README.md in this folder.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { apiServerObstacle, controlPlanePrograms } from "../../tools/go/control-plane.mjs";
import type { Box } from "../box/box.ts";
import { type AdminReply, type AdminRequest, type AdminTarget, adminRequest } from "./admin.ts";
import { Authority, type Identity, type User } from "./pki.ts";
import { boxPlace, loopbackPlace, type Place, type Running, readLog } from "./place.ts";
import { Signer, type SignerOptions } from "./signer.ts";

export type { AdminReply, AdminRequest } from "./admin.ts";
export type { Identity, User } from "./pki.ts";
export { apiServerObstacle };

export interface ApiServerOptions {
  /** Runs inside this box; without, on the machine's loopback. */
  readonly box?: Box;
  /** Flags of kube-apiserver beside the usual ones. */
  readonly flags?: readonly string[] | ((folder: string) => readonly string[]);
  /**
   * Whether pods need a service account and are given its token. Default false: there is no controller
   * that would make accounts for namespaces; `prepareNamespace` does it.
   */
  readonly serviceAccounts?: boolean;
  /** How long kube-apiserver may take until it is ready; default 90 s. */
  readonly startTimeoutMs?: number;
}

const ADMIN: User = { name: "admin", groups: ["system:masters"] };
const START_TIMEOUT_MS = 90_000;
const START_ATTEMPTS = 3;
const POLL_MS = 100;
const SERVICE_ADDRESS = "10.96.0.1";
const SERVICE_RANGE = "10.96.0.0/16";
const API_PORT = 6443;
const ETCD_PORT = 2379;
const ETCD_PEER_PORT = 2380;

/** Starts etcd and kube-apiserver; resolves when the API is ready. */
export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const obstacle = apiServerObstacle();
  if (obstacle) throw new Error(`cannot start an API server: ${obstacle}`);
  for (let attempt = 1; ; attempt += 1) {
    const started = await tryToStart(options);
    if (started instanceof ApiServer) return started;
    // On the loopback another program may take a free port before the control plane listens on it.
    if (attempt === START_ATTEMPTS || !started.message.includes("address already in use"))
      throw started;
  }
}

async function tryToStart(options: ApiServerOptions): Promise<ApiServer | Error> {
  const place = options.box ? boxPlace(options.box) : loopbackPlace();
  const server = await ApiServer.prepare(place, options);
  try {
    await server.startEtcd();
    await server.start();
    await server.prepareCluster();
    return server;
  } catch (error) {
    const log = `${readLog(place, "etcd").slice(-2_000)}\n${server.log().slice(-6_000)}`;
    await server[Symbol.asyncDispose]();
    return new Error(`the API server did not start\n${log}`, { cause: error });
  }
}

/** A running control plane; ends when it is disposed of, with its box, or with the test process. */
export class ApiServer implements AsyncDisposable {
  /** As programs of the place, and on the loopback the test process too, reach it. */
  readonly url: string;
  readonly authority: Authority;
  readonly caPem: string;
  /** The authority's certificate as a file. */
  readonly caFile: string;
  /** Folder of the control plane's files; the same path inside and outside of a box. */
  readonly folder: string;
  /** File with the kubeconfig of a member of `system:masters`. */
  readonly adminKubeconfig: string;
  readonly adminIdentity: Identity;
  readonly #options: ApiServerOptions;
  readonly #place: Place;
  readonly #ports: Ports;
  readonly #programs: ReturnType<typeof controlPlanePrograms>;
  #etcd: Running | undefined;
  #apiserver: Running | undefined;

  private constructor(place: Place, options: ApiServerOptions, made: Made) {
    this.#place = place;
    this.#options = options;
    this.#ports = made.ports;
    this.#programs = made.programs;
    this.folder = place.folder;
    this.url = `https://${place.host}:${made.ports.api}`;
    this.authority = made.authority;
    this.caPem = made.authority.certificatePem;
    this.caFile = join(place.folder, "ca.crt");
    this.adminIdentity = made.admin;
    this.adminKubeconfig = this.writeKubeconfig("admin", made.admin);
  }

  /** Makes keys and certificates; `startApiServer` is what tests call. */
  static async prepare(place: Place, options: ApiServerOptions): Promise<ApiServer> {
    const programs = controlPlanePrograms();
    const authority = await Authority.create();
    const { folder, host } = place;
    writeFileSync(join(folder, "ca.crt"), authority.certificatePem);
    const dnsNames = ["localhost", "kubernetes", "kubernetes.default.svc"];
    const ipAddresses = [...new Set([host, "127.0.0.1", SERVICE_ADDRESS])];
    const serving = await authority.server("kube-apiserver", { dnsNames, ipAddresses });
    writeIdentity(folder, "apiserver", serving);
    const toKubelets = { name: "kube-apiserver-kubelet-client", groups: ["system:masters"] };
    writeIdentity(folder, "kubelet-client", await authority.client(toKubelets));
    writeIdentity(folder, "service-accounts", await authority.client({ name: "service-accounts" }));
    const admin = await authority.client(ADMIN);
    const ports = {
      api: await place.freePort(API_PORT),
      etcd: await place.freePort(ETCD_PORT),
      etcdPeer: await place.freePort(ETCD_PEER_PORT),
    };
    return new ApiServer(place, options, { authority, admin, ports, programs });
  }

  /** Whether kube-apiserver runs; it may not answer yet. */
  get running(): boolean {
    return this.#apiserver?.running ?? false;
  }

  /** What kube-apiserver has reported. */
  log(): string {
    return readLog(this.#place, "apiserver");
  }

  async startEtcd(): Promise<void> {
    const { etcd, etcdPeer } = this.#ports;
    mkdirSync(join(this.folder, "etcd"), { mode: 0o700 });
    this.#etcd = this.#place.start("etcd", [
      this.#programs.etcd,
      `--data-dir=${join(this.folder, "etcd")}`,
      `--listen-client-urls=http://127.0.0.1:${etcd}`,
      `--advertise-client-urls=http://127.0.0.1:${etcd}`,
      `--listen-peer-urls=http://127.0.0.1:${etcdPeer}`,
      `--initial-advertise-peer-urls=http://127.0.0.1:${etcdPeer}`,
      `--initial-cluster=default=http://127.0.0.1:${etcdPeer}`,
      "--log-level=warn",
    ]);
  }

  /** Starts kube-apiserver and waits until it is ready. */
  async start(): Promise<void> {
    if (this.running) throw new Error("kube-apiserver is already running");
    const { flags: more = [] } = this.#options;
    const flags = [...this.#flags(), ...(typeof more === "function" ? more(this.folder) : more)];
    this.#apiserver = this.#place.start("apiserver", [this.#programs.apiserver, ...flags]);
    const deadline = performance.now() + (this.#options.startTimeoutMs ?? START_TIMEOUT_MS);
    while (!(await this.#isReady())) {
      if (!this.running) throw new Error("kube-apiserver ended");
      if (performance.now() > deadline) throw new Error("kube-apiserver is not ready");
      await sleep(POLL_MS);
    }
  }

  /** Ends kube-apiserver, by default without any warning; etcd goes on. */
  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    await this.#apiserver?.end(signal);
  }

  async restart(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    await this.kill(signal);
    await this.start();
  }

  /** Makes a request as an administrator; any status is an answer. */
  request(request: AdminRequest): Promise<AdminReply> {
    return this.requestAs(request.token === undefined ? this.adminIdentity : undefined, request);
  }

  /** Makes a request with another certificate, or with none. */
  requestAs(identity: Identity | undefined, request: AdminRequest): Promise<AdminReply> {
    const target: AdminTarget = {
      dial: () => this.#place.dial(this.#ports.api),
      caPem: this.caPem,
      serverName: "kubernetes",
      ...(identity ? { identity } : {}),
    };
    return adminRequest(target, request);
  }

  /** Like `request`, but throws when the answer is an error; gives the body. */
  async must<T>(method: string, path: string, body?: unknown): Promise<T> {
    const reply = await this.request({ method, path, ...(body === undefined ? {} : { body }) });
    if (reply.status >= 300)
      throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
    return reply.body as T;
  }

  /** Runs kubectl as an administrator and gives its standard output. */
  kubectl(
    args: readonly string[],
    options: { readonly stdin?: string; readonly timeoutMs?: number } = {},
  ): Promise<string> {
    const config = `--kubeconfig=${this.adminKubeconfig}`;
    // Its usual place is below HOME, and without one in the current folder.
    const cache = `--cache-dir=${join(this.folder, "kubectl-cache")}`;
    return this.#place.run([this.#programs.kubectl, config, cache, ...args], options);
  }

  /** A kubeconfig with a bootstrap token, as `kubeadm join` makes one; gives its path. */
  async bootstrapKubeconfig(): Promise<string> {
    const digits = () => Math.random().toString(36).slice(2).padEnd(16, "0");
    const [id, secret] = [digits().slice(0, 6), digits().slice(0, 16).padEnd(16, "0")];
    await this.must("POST", "/api/v1/namespaces/kube-system/secrets", {
      metadata: { name: `bootstrap-token-${id}` },
      type: "bootstrap.kubernetes.io/token",
      stringData: {
        "token-id": id,
        "token-secret": secret,
        "usage-bootstrap-authentication": "true",
        "auth-extra-groups": "system:bootstrappers:nodelet",
      },
    });
    return this.writeKubeconfig(`bootstrap-${id}`, { token: `${id}.${secret}` });
  }

  /** A kubeconfig with a client certificate for a user; gives its path. */
  async kubeconfigFor(user: User, lifetimeSeconds?: number): Promise<string> {
    const identity = await this.authority.client(user, lifetimeSeconds);
    return this.writeKubeconfig(user.name.replaceAll(/[^a-z0-9.-]/g, "-"), identity);
  }

  /** A kubeconfig of a node, as the node authorizer knows nodes; gives its path. */
  nodeKubeconfig(nodeName: string, lifetimeSeconds?: number): Promise<string> {
    return this.kubeconfigFor(
      { name: `system:node:${nodeName}`, groups: ["system:nodes"] },
      lifetimeSeconds,
    );
  }

  /** Writes a kubeconfig with what identifies the user; gives its path. */
  writeKubeconfig(name: string, user: Identity | { readonly token: string }): string {
    const path = join(this.folder, `${name}.kubeconfig`);
    const base64 = (text: string) => Buffer.from(text).toString("base64");
    const credentials =
      "token" in user
        ? { token: user.token }
        : {
            "client-certificate-data": base64(user.certificatePem),
            "client-key-data": base64(user.privateKeyPem),
          };
    const cluster = { server: this.url, "certificate-authority-data": base64(this.caPem) };
    const config = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "test", cluster }],
      users: [{ name, user: credentials }],
      contexts: [{ name: "test", context: { cluster: "test", user: name } }],
      "current-context": "test",
    };
    // JSON is YAML.
    writeFileSync(path, JSON.stringify(config, null, 2), { mode: 0o600 });
    return path;
  }

  /** Approves and signs requests of kubelets until it is disposed of. */
  signRequests(options: SignerOptions = {}): Signer {
    const request = (request: AdminRequest) => this.request(request);
    return new Signer(options, { authority: this.authority, request });
  }

  /** Makes a namespace with what controllers would put in it; an existing one is completed. */
  async prepareNamespace(name: string): Promise<void> {
    const path = `/api/v1/namespaces/${name}`;
    await this.#createUnlessThere("/api/v1/namespaces", { metadata: { name } });
    await this.#createUnlessThere(`${path}/serviceaccounts`, { metadata: { name: "default" } });
    await this.#createUnlessThere(`${path}/configmaps`, {
      metadata: { name: "kube-root-ca.crt" },
      data: { "ca.crt": this.caPem },
    });
  }

  async prepareCluster(): Promise<void> {
    await this.#createUnlessThere("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
      metadata: { name: "nodelet-bootstrap" },
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "ClusterRole",
        name: "system:node-bootstrapper",
      },
      subjects: [
        {
          apiGroup: "rbac.authorization.k8s.io",
          kind: "Group",
          name: "system:bootstrappers",
        },
      ],
    });
    await this.prepareNamespace("default");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#apiserver?.end("SIGKILL");
    await this.#etcd?.end("SIGKILL");
    await this.#place.dispose();
  }

  async #createUnlessThere(path: string, body: unknown): Promise<void> {
    const { status, body: answer } = await this.request({ method: "POST", path, body });
    if (status >= 300 && status !== 409)
      throw new Error(`POST ${path}: ${status} ${JSON.stringify(answer)}`);
  }

  async #isReady(): Promise<boolean> {
    try {
      return (await this.request({ method: "GET", path: "/readyz" })).status === 200;
    } catch {
      return false;
    }
  }

  #flags(): readonly string[] {
    const file = (name: string) => join(this.folder, name);
    return [
      `--etcd-servers=http://127.0.0.1:${this.#ports.etcd}`,
      `--bind-address=${this.#place.host}`,
      `--secure-port=${this.#ports.api}`,
      // Documentation range: nothing in the tests uses the `kubernetes` service.
      "--advertise-address=192.0.2.1",
      "--endpoint-reconciler-type=none",
      `--service-cluster-ip-range=${SERVICE_RANGE}`,
      `--client-ca-file=${file("ca.crt")}`,
      `--tls-cert-file=${file("apiserver.crt")}`,
      `--tls-private-key-file=${file("apiserver.key")}`,
      `--kubelet-client-certificate=${file("kubelet-client.crt")}`,
      `--kubelet-client-key=${file("kubelet-client.key")}`,
      "--kubelet-preferred-address-types=InternalIP,Hostname",
      "--authorization-mode=Node,RBAC",
      "--enable-bootstrap-token-auth",
      "--enable-admission-plugins=NodeRestriction",
      ...(this.#options.serviceAccounts ? [] : ["--disable-admission-plugins=ServiceAccount"]),
      "--service-account-issuer=https://kubernetes.default.svc",
      `--service-account-key-file=${file("service-accounts.key")}`,
      `--service-account-signing-key-file=${file("service-accounts.key")}`,
      "--api-audiences=https://kubernetes.default.svc",
      "--allow-privileged",
      "--profiling=false",
      "--v=1",
    ];
  }
}

interface Ports {
  readonly api: number;
  readonly etcd: number;
  readonly etcdPeer: number;
}

interface Made {
  readonly authority: Authority;
  readonly admin: Identity;
  readonly ports: Ports;
  readonly programs: ReturnType<typeof controlPlanePrograms>;
}

function writeIdentity(folder: string, name: string, identity: Identity): void {
  writeFileSync(join(folder, `${name}.crt`), identity.certificatePem);
  writeFileSync(join(folder, `${name}.key`), identity.privateKeyPem, { mode: 0o600 });
}

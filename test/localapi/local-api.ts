// The local API in this process, in a folder of its own, on a free port of the loopback.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectH2,
  type OutgoingHttpHeaders,
} from "node:http2";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Cell } from "../../src/kit/cell.ts";
import { createSystemClock } from "../../src/kit/clock.ts";
import { type Log, silentLog } from "../../src/kit/log.ts";
import { createSystemRandom } from "../../src/kit/random.ts";
import { TaskScope } from "../../src/kit/scope.ts";
import { StateFiles } from "../../src/kit/state/state-files.ts";
import { type LocalApi, startLocalApi } from "../../src/localapi/localapi.ts";
import { openDatabase } from "../../src/outside/database/database.ts";
import { connectHost } from "../../src/outside/host/connect-host.ts";
import type { Files } from "../../src/outside/host/host.ts";
import { connectKube } from "../../src/outside/kube/connect-kube.ts";
import type { ApiTransport } from "../../src/outside/kube/kube.ts";
import { createListen } from "../../src/outside/net/serve/http-listener.ts";
import type { ExaminationOptions } from "../contracts/api-examination.ts";
import { type AdminReply, type AdminRequest, adminRequest } from "../kube/admin.ts";
import type { Identity } from "../kube/pki.ts";

export interface LocalOptions {
  readonly agentSocket?: string;
  readonly nodeName?: string;
  readonly log?: Log;
  readonly bodyWithinMs?: number;
  /** Default one that is made, and removed in the end. */
  readonly folder?: string;
  /** Default a free one. */
  readonly port?: number;
  /** What the API gets in place of the files of this process. */
  readonly guard?: (files: Files) => Files;
}

/** A local API for the suites about the Kubernetes API. */
export const LOCAL_API: ExaminationOptions = {
  name: "local API",
  start: async () => {
    const server = await startLocal();
    return {
      request: (request) => server.request(request),
      close: () => server[Symbol.asyncDispose](),
    };
  },
};

/** A connection over HTTP/2 that is used for many requests. */
export class Session implements Disposable {
  readonly #session: ClientHttp2Session;

  constructor({ server, caPem }: Access, identity: Identity | undefined) {
    this.#session = connectH2(server, {
      ca: caPem,
      ...(identity ? { cert: identity.certificatePem, key: identity.privateKeyPem } : {}),
    });
  }

  /** `bytes` go out as they are; without `end` the request stays open. */
  open(request: Omit<AdminRequest, "body">, headers: OutgoingHttpHeaders = {}): ClientHttp2Stream {
    const stream = this.#session.request({
      ":method": request.method,
      ":path": request.path,
      ...(request.contentType === undefined ? {} : { "content-type": request.contentType }),
      ...(request.token === undefined ? {} : { authorization: `Bearer ${request.token}` }),
      ...headers,
    });
    stream.on("error", () => {});
    return stream;
  }

  ask(
    request: AdminRequest,
    bytes?: string | Uint8Array,
    headers?: OutgoingHttpHeaders,
  ): Promise<{ status: number; text: string }> {
    const stream = this.open({ contentType: "application/json", ...request }, headers);
    const body = bytes ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
    if (request.method === "GET" || request.method === "HEAD") stream.end();
    else stream.end(body);
    return new Promise((resolve, reject) => {
      let status = 0;
      let text = "";
      stream.setEncoding("utf8");
      stream.once("response", (head) => {
        status = Number(head[":status"]);
      });
      stream.on("data", (chunk: string) => {
        text += chunk;
      });
      stream.once("close", () =>
        status === 0 ? reject(new Error("no answer")) : resolve({ status, text }),
      );
    });
  }

  [Symbol.dispose](): void {
    this.#session.destroy();
  }
}

/** What a kubeconfig of ours says. */
export interface Access {
  readonly server: string;
  readonly caPem: string;
  readonly identity: Identity;
}

export function accessIn(path: string): Access {
  const config = JSON.parse(readFileSync(path, "utf8"));
  const text = (base64: string) => Buffer.from(base64, "base64").toString("utf8");
  const { cluster } = config.clusters[0];
  const { user } = config.users[0];
  return {
    server: cluster.server,
    caPem: text(cluster["certificate-authority-data"]),
    identity: {
      certificatePem: text(user["client-certificate-data"]),
      privateKeyPem: text(user["client-key-data"]),
    },
  };
}

export class LocalApiUnderTest implements AsyncDisposable {
  readonly folder: string;
  readonly #options: LocalOptions;
  /** What became of damaged files, in the present life. */
  state!: StateFiles;
  #scope: TaskScope | undefined;
  #api: LocalApi | undefined;
  #port: number;

  constructor(options: LocalOptions = {}) {
    this.#options = options;
    this.folder = options.folder ?? mkdtempSync(join(tmpdir(), "nodelet-local-api-"));
    this.#port = options.port ?? 0;
  }

  get kubeconfig(): string {
    return join(this.folder, "kubeconfig");
  }

  get nodeKubeconfig(): string {
    return this.#api?.nodeKubeconfigPath ?? "";
  }

  get admin(): Access {
    return accessIn(this.kubeconfig);
  }

  get port(): number {
    return this.#port;
  }

  async start(): Promise<this> {
    const clock = createSystemClock();
    const log = this.#options.log ?? silentLog;
    const scope = new TaskScope("local API", { clock, log });
    this.#scope = scope;
    const { files, podFiles } = connectHost({ clock, log });
    this.state = new StateFiles({ files, clock, log });
    const { agentSocket, bodyWithinMs, nodeName = "n1" } = this.#options;
    this.#api = await startLocalApi(
      {
        folder: join(this.folder, "api"),
        volumesFolder: join(this.folder, "volumes"),
        nodeName,
        address: { host: "127.0.0.1", port: this.#port },
        kubeconfigPath: this.kubeconfig,
        ...(agentSocket === undefined ? {} : { agentSocket }),
        ...(bodyWithinMs === undefined ? {} : { bodyWithinMs }),
        versions: { kubernetes: "v1.36.2", nodelet: "0.1.0" },
      },
      {
        clock,
        log,
        random: createSystemRandom(),
        files: this.#options.guard?.(files) ?? files,
        podFiles,
        state: this.state,
        listen: createListen(),
        openDatabase,
        scope,
      },
    );
    this.#port = Number(new URL(this.#api.url).port);
    return this;
  }

  async stop(): Promise<void> {
    await this.#scope?.[Symbol.asyncDispose]();
    this.#scope = undefined;
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** One request without the client under test. Another identity than the administrator's, or none. */
  request(
    request: AdminRequest,
    identity: Identity | undefined = this.admin.identity,
  ): Promise<AdminReply> {
    return this.#request(request, identity);
  }

  anonymous(request: AdminRequest): Promise<AdminReply> {
    return this.#request(request, undefined);
  }

  #request(request: AdminRequest, identity: Identity | undefined): Promise<AdminReply> {
    return adminRequest(
      {
        dial: () =>
          new Promise((resolve, reject) => {
            const socket = connect(this.#port, "127.0.0.1", () => resolve(socket));
            socket.once("error", reject);
          }),
        caPem: this.admin.caPem,
        serverName: "localhost",
        ...(identity ? { identity } : {}),
      },
      request,
    );
  }

  async must<T = Record<string, never>>(
    method: string,
    path: string,
    body?: unknown,
    contentType?: string,
  ): Promise<T> {
    const reply = await this.request({
      method,
      path,
      ...(body === undefined ? {} : { body }),
      ...(contentType === undefined ? {} : { contentType }),
    });
    if (reply.status >= 300)
      throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
    return reply.body as T;
  }

  /** Requests over one connection; as nobody when `identity` is null. */
  session(identity: Identity | null = this.admin.identity): Session {
    return new Session(this.admin, identity ?? undefined);
  }

  /** The agent's own client. */
  connect(access = this.admin): ApiTransport {
    const kube = connectKube({
      clock: createSystemClock(),
      random: createSystemRandom(),
      log: silentLog,
      userAgent: "nodelet-test",
    });
    return kube.connect({
      server: access.server,
      authoritiesPem: access.caPem,
      credentials: { identity: new Cell(access.identity) },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export async function startLocal(options: LocalOptions = {}): Promise<LocalApiUnderTest> {
  return await new LocalApiUnderTest(options).start();
}

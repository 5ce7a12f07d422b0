// pure
import { parseYaml } from "../../api/text/yaml.ts";
import { UsageError } from "../../kit/errors.ts";
import type { CredentialProgram } from "./transport/transport.ts";

/** Text that stands in the kubeconfig itself or in a file it names. */
export type Source =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "file"; readonly path: string };

/** The current context of a kubeconfig, validated and with absolute paths. */
export interface Kubeconfig {
  readonly server: string;
  readonly serverName?: string;
  readonly insecure: boolean;
  readonly authorities?: Source;
  readonly certificate?: Source;
  readonly privateKey?: Source;
  readonly token?: Source;
  readonly basic?: { readonly username: string; readonly password: string };
  readonly program?: CredentialProgram;
  /** Headers of impersonation. */
  readonly headers: Readonly<Record<string, string>>;
}

type Tree = Readonly<Record<string, unknown>>;

const EXEC_VERSIONS: readonly unknown[] = [
  "client.authentication.k8s.io/v1",
  "client.authentication.k8s.io/v1beta1",
];

/**
 * Reads a kubeconfig. `path` is where it came from: paths in it are relative to its folder. Throws
 * `UsageError` with the place of what cannot be used.
 */
export function readKubeconfig(text: string, path: string): Kubeconfig {
  const fail = (place: string, why: string): never => {
    throw new UsageError(`${path}: ${place}: ${why}`);
  };
  const [document] = parseYaml(text, { maxDocuments: 1 });
  const root = new Reader(document?.value, "", fail);
  const contextName = root.text("current-context");
  if (!contextName) return fail("current-context", "is missing; name one of the contexts");
  const context = root.named("contexts", contextName, "context");
  const cluster = root.named("clusters", context.text("cluster") ?? "", "cluster");
  const userName = context.text("user");
  const user = userName ? root.named("users", userName, "user") : new Reader({}, "users", fail);
  const folder = path.slice(0, path.lastIndexOf("/"));
  return {
    ...clusterOf(cluster, folder),
    ...userOf(user, folder),
    headers: impersonation(user),
    ...programOf(user, cluster, folder),
  };
}

function clusterOf(
  cluster: Reader,
  folder: string,
): Pick<Kubeconfig, "server" | "serverName" | "insecure" | "authorities"> {
  const given = cluster.text("server") || cluster.fail("server", "is missing");
  const server = given.includes("://") ? given : `https://${given}`;
  if (!/^https?:\/\/[^/]+/.test(server)) cluster.fail("server", `${given} is not a URL`);
  if (cluster.text("proxy-url")) cluster.fail("proxy-url", "proxies are not supported");
  const serverName = cluster.text("tls-server-name");
  const authorities = cluster.source("certificate-authority-data", "certificate-authority", folder);
  return {
    server,
    insecure: cluster.flag("insecure-skip-tls-verify"),
    ...(serverName ? { serverName } : {}),
    ...(authorities ? { authorities } : {}),
  };
}

function userOf(
  user: Reader,
  folder: string,
): Pick<Kubeconfig, "certificate" | "privateKey" | "token" | "basic"> {
  if (user.has("auth-provider"))
    user.fail("auth-provider", "was removed from Kubernetes; use an exec program");
  const certificate = user.source("client-certificate-data", "client-certificate", folder);
  const privateKey = user.source("client-key-data", "client-key", folder);
  if (certificate && !privateKey) user.fail("client-key", "is missing beside the certificate");
  const tokenFile = user.text("tokenFile");
  const token = user.text("token");
  const username = user.text("username");
  return {
    ...(certificate ? { certificate } : {}),
    ...(privateKey ? { privateKey } : {}),
    ...(tokenFile
      ? { token: { kind: "file", path: absolute(tokenFile, folder) } as const }
      : token
        ? { token: { kind: "text", text: token } as const }
        : {}),
    ...(username ? { basic: { username, password: user.text("password") ?? "" } } : {}),
  };
}

function impersonation(user: Reader): Readonly<Record<string, string>> {
  const name = user.text("as");
  if (!name) return {};
  const uid = user.text("as-uid");
  const groups = user.texts("as-groups");
  if (groups.length > 1) user.fail("as-groups", "more than one group is not supported");
  return {
    "impersonate-user": name,
    ...(uid ? { "impersonate-uid": uid } : {}),
    ...(groups[0] ? { "impersonate-group": groups[0] } : {}),
  };
}

function programOf(user: Reader, cluster: Reader, folder: string): Pick<Kubeconfig, "program"> {
  if (!user.has("exec")) return {};
  const exec = user.child("exec");
  const command = exec.text("command") || exec.fail("command", "is missing");
  const apiVersion = exec.text("apiVersion") ?? "";
  if (!EXEC_VERSIONS.includes(apiVersion))
    exec.fail("apiVersion", `must be ${EXEC_VERSIONS.join(" or ")}`);
  if (exec.text("interactiveMode") === "Always")
    exec.fail("interactiveMode", "the agent cannot prompt for credentials");
  const env = exec.list("env").map((entry) => [entry.text("name"), entry.text("value") ?? ""]);
  const clusterInfo = exec.flag("provideClusterInfo") ? programCluster(cluster) : {};
  return {
    program: {
      command: command.includes("/") ? absolute(command, folder) : command,
      args: exec.texts("args"),
      env: Object.fromEntries(env) as Record<string, string>,
      apiVersion,
      installHint: exec.text("installHint") ?? "",
      ...clusterInfo,
    },
  };
}

function programCluster(cluster: Reader): Pick<CredentialProgram, "cluster"> {
  const serverName = cluster.text("tls-server-name");
  const data = cluster.text("certificate-authority-data");
  return {
    cluster: {
      server: cluster.text("server") ?? "",
      insecure: cluster.flag("insecure-skip-tls-verify"),
      ...(serverName ? { tlsServerName: serverName } : {}),
      ...(data ? { authoritiesPem: decodeBase64(data) ?? "" } : {}),
    },
  };
}

/** One object of the file, with its place for messages. */
class Reader {
  readonly #tree: Tree;
  readonly #place: string;
  readonly #fail: (place: string, why: string) => never;

  constructor(value: unknown, place: string, fail: (place: string, why: string) => never) {
    this.#place = place;
    this.#fail = fail;
    if (typeof value !== "object" || value === null || Array.isArray(value))
      fail(place || "document", "is not an object");
    this.#tree = value as Tree;
  }

  fail(key: string, why: string): never {
    return this.#fail(this.#at(key), why);
  }

  has(key: string): boolean {
    return this.#tree[key] !== undefined && this.#tree[key] !== null;
  }

  text(key: string): string | undefined {
    if (!this.has(key)) return undefined;
    const value = this.#tree[key];
    return typeof value === "string" ? value : this.fail(key, "must be text");
  }

  flag(key: string): boolean {
    if (!this.has(key)) return false;
    const value = this.#tree[key];
    return typeof value === "boolean" ? value : this.fail(key, "must be true or false");
  }

  texts(key: string): readonly string[] {
    return this.#items(key).map((item) =>
      typeof item === "string" ? item : this.fail(key, "must be a list of strings"),
    );
  }

  list(key: string): readonly Reader[] {
    return this.#items(key).map(
      (item, i) => new Reader(item, `${this.#at(key)}[${i}]`, this.#fail),
    );
  }

  child(key: string): Reader {
    return new Reader(this.#tree[key], this.#at(key), this.#fail);
  }

  /** The entry of a list of `{name, <key>}`. */
  named(list: string, name: string, key: string): Reader {
    const found = this.list(list).find((entry) => entry.text("name") === name);
    return found ? found.child(key) : this.fail(list, `has no entry named "${name}"`);
  }

  /** Base64 data, or else a file. */
  source(dataKey: string, fileKey: string, folder: string): Source | undefined {
    const data = this.text(dataKey);
    if (data) {
      const text = decodeBase64(data) ?? this.fail(dataKey, "is not base64");
      return { kind: "text", text };
    }
    const file = this.text(fileKey);
    return file ? { kind: "file", path: absolute(file, folder) } : undefined;
  }

  #items(key: string): readonly unknown[] {
    if (!this.has(key)) return [];
    const value = this.#tree[key];
    return Array.isArray(value) ? value : this.fail(key, "must be a list");
  }

  #at(key: string): string {
    return this.#place === "" ? key : `${this.#place}.${key}`;
  }
}

function absolute(path: string, folder: string): string {
  return path.startsWith("/") ? path : `${folder}/${path}`;
}

function decodeBase64(text: string): string | undefined {
  try {
    return atob(text.replaceAll(/\s/g, ""));
  } catch {
    return undefined;
  }
}

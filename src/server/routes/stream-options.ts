// pure
import { HttpProblem } from "../http-problem.ts";

/** Which streams of a command to open. */
export interface StreamOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/**
 * Reads the streams of an exec or attach request: `input`, `output`, `error` and `tty` as the API server
 * asks a kubelet, or the names that clients use towards the API server. A terminal has no stderr of its
 * own. Throws `HttpProblem` when no stream is requested (remotecommand.NewOptions).
 */
export function parseStreamOptions(query: URLSearchParams): StreamOptions {
  const isSet = (...names: readonly string[]) =>
    names.some((name) => query.get(name) === "1" || query.get(name) === "true");
  const tty = isSet("tty");
  const stdin = isSet("input", "stdin");
  const stdout = isSet("output", "stdout");
  const stderr = isSet("error", "stderr") && !tty;
  if (!stdin && !stdout && !stderr)
    throw new HttpProblem(400, "you must specify at least 1 of stdin, stdout, stderr");
  return { stdin, stdout, stderr, tty };
}

/** A protocol that a client offers and the runtime does not speak over WebSockets (wsstream/conn.go). */
export type Translation =
  /** `v5.channel.k8s.io`: standard input can end. */
  | { readonly kind: "command" }
  /** SPDY inside the WebSocket, with what is spoken over it. */
  | { readonly kind: "tunnel"; readonly streamProtocols: readonly string[] }
  /** The connection is handed over to the runtime. */
  | { readonly kind: "none" };

const NONE: Translation = { kind: "none" };
const TUNNEL = /^SPDY\/3\.1\+(.*\.k8s\.io)$/;

/** How the WebSocket of an exec or attach is translated to SPDY. */
export function translationOfCommand(offer: UpgradeOffer): Translation {
  return offered(offer).includes("v5.channel.k8s.io") ? { kind: "command" } : NONE;
}

/** How the WebSocket of a port-forward is translated to SPDY. */
export function translationOfPortForward(offer: UpgradeOffer): Translation {
  const streamProtocols = offered(offer).flatMap((name) => TUNNEL.exec(name)?.[1] ?? []);
  return streamProtocols.length > 0 ? { kind: "tunnel", streamProtocols } : NONE;
}

/** The upgrade headers of a request. */
interface UpgradeOffer {
  readonly upgrade: string | undefined;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

function offered({ upgrade, headers }: UpgradeOffer): readonly string[] {
  if (upgrade !== "websocket") return [];
  return (headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
}

/** Ports of a port-forward over WebSocket, which must name them first; SPDY names them later. */
export function parsePorts(query: URLSearchParams, webSocket: boolean): readonly number[] {
  if (!webSocket) return [];
  const texts = query.getAll("port").flatMap((text) => text.split(","));
  if (texts.length === 0) throw new HttpProblem(400, 'query parameter "port" is required');
  return texts.map((text) => {
    if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
      throw new HttpProblem(400, `unable to parse ${JSON.stringify(text)} as a port`);
    if (Number(text) < 1) throw new HttpProblem(400, `port ${JSON.stringify(text)} must be > 0`);
    return Number(text);
  });
}

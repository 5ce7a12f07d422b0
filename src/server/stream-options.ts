// pure
import { HttpProblem } from "./http-problem.ts";

/** Which streams of a command are wanted. */
export interface StreamOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/**
 * Reads the streams of an exec or attach request: `input`, `output`, `error` and `tty` as the API server
 * asks a kubelet, or the names that clients use towards the API server. A terminal has no stderr of its
 * own. Throws `HttpProblem` when no stream is wanted (remotecommand.NewOptions).
 */
export function parseStreamOptions(query: URLSearchParams): StreamOptions {
  const wants = (...names: readonly string[]) =>
    names.some((name) => query.get(name) === "1" || query.get(name) === "true");
  const tty = wants("tty");
  const stdin = wants("input", "stdin");
  const stdout = wants("output", "stdout");
  const stderr = wants("error", "stderr") && !tty;
  if (!stdin && !stdout && !stderr)
    throw new HttpProblem(400, "you must specify at least 1 of stdin, stdout, stderr");
  return { stdin, stdout, stderr, tty };
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

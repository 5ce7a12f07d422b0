/**
 * The client of the agent's socket. In: routes below `/nodelet/v1/`. Out: replies in the shapes of `present/shapes.ts`;
 * refusals and broken connections are `CliError`.
 *
 *     const client = new AgentClient(agentSocket(process.env));
 *     const { items } = await client.json<PodList>("/nodelet/v1/pods");
 */
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { createInterface } from "node:readline";
import { timerMs } from "../kit/timing/bounded-durations.ts";
import { CliError } from "../present/cli-error.ts";
import { EXIT_NO_AGENT, EXIT_NOT_FOUND } from "../present/exit-codes.ts";

/** Deadline of a request that is answered at once. */
const REQUEST_MS = 15_000;
/** Longest text of an error that is shown. */
const MAX_ERROR_CHARS = 500;
/** Largest answer that is read. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;

/** Methods of the agent's routes; only `POST` changes anything. */
type Method = "GET" | "POST";

/** A connection to the agent: one request, one connection, nothing kept open. */
export class AgentClient {
  readonly socketPath: string;

  constructor(socketPath: string) {
    this.socketPath = socketPath;
  }

  /** The JSON response of a route, trusted to have the shape of this version of the agent. */
  async json<T>(path: string, method: Method = "GET", timeoutMs = REQUEST_MS): Promise<T> {
    const text = await this.text(path, method, timeoutMs);
    try {
      return JSON.parse(text) as T;
    } catch (cause) {
      throw new CliError(`the agent's answer to ${path} is not JSON`, {
        fix: "restart the agent: it may be of another version than this command",
        cause,
      });
    }
  }

  /** Whether an agent answers. */
  async answers(): Promise<boolean> {
    return await this.json("/nodelet/v1/overview").then(
      () => true,
      () => false,
    );
  }

  /** The whole answer of a route. */
  async text(path: string, method: Method = "GET", timeoutMs = REQUEST_MS): Promise<string> {
    const signal = AbortSignal.timeout(timerMs(timeoutMs));
    const response = await this.open(path, signal, method);
    const chunks: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const chunk of response as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > MAX_ANSWER_BYTES)
          throw new CliError(`the agent's answer to ${path} has no end`);
        chunks.push(chunk);
      }
    } catch (thrown) {
      if (thrown instanceof CliError) throw thrown;
      throw connectError(thrown as NodeJS.ErrnoException, this.socketPath, signal);
    }
    return Buffer.concat(chunks).toString("utf8");
  }

  /** The lines of a route as they come, until the agent ends them or `signal` is aborted. */
  async *lines(path: string, signal: AbortSignal): AsyncGenerator<string> {
    const response = await this.open(path, signal);
    try {
      for await (const line of createInterface({ input: response })) if (line !== "") yield line;
    } catch (error) {
      if (!signal.aborted) throw connectError(error as NodeJS.ErrnoException, this.socketPath);
    } finally {
      response.destroy();
    }
  }

  /** Begins a request and resolves with its answer once that has begun; refusals are `CliError`. */
  async open(path: string, signal: AbortSignal, method: Method = "GET"): Promise<IncomingMessage> {
    const response = await this.#answerTo(
      request({ socketPath: this.socketPath, path, method, agent: false, signal }),
      signal,
    );
    const { statusCode = 0 } = response;
    if (statusCode >= 200 && statusCode < 300) return response;
    const message = await errorText(response);
    throw new CliError(message === "" ? `the agent refused: HTTP ${statusCode}` : message, {
      ...(statusCode === 404 ? { exitCode: EXIT_NOT_FOUND } : {}),
    });
  }

  #answerTo(started: ClientRequest, signal: AbortSignal): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      started.once("response", resolve);
      started.once("error", (error: NodeJS.ErrnoException) =>
        reject(connectError(error, this.socketPath, signal)),
      );
      started.end();
    });
  }
}

/** The error for a failed connection to the agent. */
export function connectError(
  error: NodeJS.ErrnoException,
  socketPath: string,
  signal?: AbortSignal,
): CliError {
  switch (error.code) {
    case "ENOENT":
    case "ECONNREFUSED":
      return new CliError(`the agent is not running (nothing listens at ${socketPath})`, {
        exitCode: EXIT_NO_AGENT,
        fix: "start it: sudo nodelet up",
        cause: error,
      });
    case "EACCES":
    case "EPERM":
      return new CliError(`permission denied: ${socketPath}`, {
        fix: "only root can use this socket: run the command with sudo",
        cause: error,
      });
    default: {
      const late = signal?.aborted === true;
      return new CliError(
        late
          ? "the agent does not answer"
          : `the connection to the agent broke: ${error.message || error.code}`,
        { exitCode: EXIT_NO_AGENT, cause: error },
      );
    }
  }
}

/** The text of a refusal: the message of a Kubernetes Status, or the text as it is. */
async function errorText(response: IncomingMessage): Promise<string> {
  response.setEncoding("utf8");
  let text = "";
  for await (const chunk of response as AsyncIterable<string>) {
    text += chunk;
    if (text.length > MAX_ERROR_CHARS * 4) break;
  }
  response.destroy();
  return replyRefusalText(text);
}

/** The message of a rejection, from a Kubernetes Status, `{ "message": … }` or plain text. */
export function replyRefusalText(text: string): string {
  try {
    const value = JSON.parse(text) as { readonly message?: unknown; readonly error?: unknown };
    const message = value.message ?? value.error;
    if (typeof message === "string") return message.slice(0, MAX_ERROR_CHARS);
  } catch {
    // Plain text then.
  }
  return text.trim().slice(0, MAX_ERROR_CHARS);
}

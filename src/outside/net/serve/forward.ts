import { type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import { messageOf, OutsideError } from "../../../kit/errors.ts";
import type { ForwardTarget, ReplyHeaders } from "./listen.ts";

/** Headers of a request that are passed on; credentials are none of the other server's business. */
const PASSED_ON = ["accept", "accept-encoding", "content-type", "content-length", "user-agent"];
/** Headers of an answer that belong to the connection it came over, or that we write ourselves. */
const OWN = new Set(["connection", "keep-alive", "transfer-encoding", "date"]);

/** Asks the server on a unix socket what `from` asks us; resolves when its answer begins. */
export function requestOverSocket(
  { socketPath, path }: ForwardTarget,
  from: IncomingMessage | Http2ServerRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const asked = request({
      socketPath,
      path,
      method: from.method ?? "GET",
      headers: { ...chosen(from.headers), host: "localhost" },
      agent: false,
      signal,
    });
    asked.once("response", resolve);
    asked.once("error", (error) =>
      reject(
        signal.aborted
          ? signal.reason
          : new OutsideError("unavailable", messageOf(error), { cause: error }),
      ),
    );
    from.pipe(asked);
  });
}

function chosen(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    PASSED_ON.flatMap((name) => {
      const value = headers[name];
      return typeof value === "string" ? [[name, value]] : [];
    }),
  );
}

/** Headers of an answer that are forwarded to the client. */
export function passedBack(answer: IncomingMessage): ReplyHeaders {
  return Object.fromEntries(
    Object.entries(answer.headers).flatMap(([name, value]) => {
      if (value === undefined || OWN.has(name)) return [];
      return [[name, typeof value === "string" ? value : value.join(", ")]];
    }),
  );
}

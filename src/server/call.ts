import type { Exchange } from "../outside/serving.ts";
import type { Identity } from "./identity.ts";
import type { Endpoint, Route } from "./route-table.ts";

/** A request that may be answered: its route was found, its caller is known and allowed. */
export interface Call {
  readonly exchange: Exchange;
  readonly endpoint: Endpoint;
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly identity: Identity;
  readonly signal: AbortSignal;
}

/** Answers a call. May throw `HttpProblem` as long as nothing was answered. */
export type Handler = (call: Call) => Promise<void>;

/** A route with what answers it. */
export type ServedRoute = Route<Handler>;

/** Headers of plain text, as Go's `http.Error` sends it. */
export const TEXT_HEADERS = {
  "content-type": "text/plain; charset=utf-8",
  "x-content-type-options": "nosniff",
} as const;

/** Answers with text. */
export function replyText(
  call: Pick<Call, "exchange">,
  status: number,
  text: string,
): Promise<void> {
  return call.exchange.reply(status, TEXT_HEADERS, text);
}

/** Answers with JSON and a newline, as Go's encoder writes it. */
export function replyJson(call: Pick<Call, "exchange">, value: unknown): Promise<void> {
  return call.exchange.reply(
    200,
    { "content-type": "application/json" },
    `${JSON.stringify(value)}\n`,
  );
}

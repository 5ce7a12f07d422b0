import type { HTTPGetAction } from "../../../api/generated/types.ts";
import { actionHeaders, actionUrl, actionUrlFault } from "../../../api/pod/http-action.ts";
import type { Net } from "../../../outside/net/net.ts";
import { MAX_OUTPUT_BYTES, type ProbeOutcome, type ProbeRequest, USER_AGENT } from "../outcome.ts";
import { resolvePort } from "../target.ts";

/** Asks for a page; any status from 200 to 399 is success. */
export async function probeHttp(
  net: Net,
  action: HTTPGetAction,
  request: ProbeRequest,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const resolved = resolvePort(action.port, request.container);
  if ("error" in resolved) return { kind: "error", message: resolved.error };
  const fault = actionUrlFault(schemeOf(action), action.path ?? "");
  if (fault !== undefined) return { kind: "failure", output: fault, timedOut: false };
  const host = action.host || request.podIp;
  const answer = await net.http(
    {
      url: actionUrl(schemeOf(action), host, resolved.port, action.path ?? ""),
      method: "GET",
      headers: actionHeaders(action.httpHeaders ?? [], USER_AGENT),
      timeoutMs: request.timeoutMs,
      maxBodyBytes: MAX_OUTPUT_BYTES,
      followSameHost: true,
      ...(action.protocol === "HTTP2" ? { http2: true } : {}),
    },
    signal,
  );
  if (answer.kind !== "response") {
    return { kind: "failure", output: answer.message, timedOut: answer.kind === "timeout" };
  }
  const { status, body } = answer;
  if (status < 200 || status >= 400) {
    // The body stays out: it may hold what does not belong into an event.
    const output = `HTTP probe failed with statuscode: ${status}`;
    return { kind: "failure", output, timedOut: false };
  }
  return status < 300
    ? { kind: "success", output: body }
    : { kind: "warning", output: `Probe terminated redirects, Response body: ${body}` };
}

const schemeOf = ({ scheme }: HTTPGetAction): string => (scheme || "http").toLowerCase();

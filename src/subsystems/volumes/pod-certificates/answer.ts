// pure
/** State of a PodCertificateRequest (kubelet podcertificatemanager.go). */
import type { PodCertificateRequest } from "../../../api/generated/types.ts";
import { goQuote } from "../../../api/text/go-quote.ts";
import { parseTimestamp } from "../../../api/text/timestamps.ts";
import type { WallMs } from "../../../kit/clock.ts";

/** The signer's answer to a request. */
export type Answer =
  | { readonly kind: "none" }
  | CertificateRefusal
  | {
      readonly kind: "issued";
      /** Certificates only, leaf first. */
      readonly chainPem: string;
      /** When the signer expects the next request, at the earliest. */
      readonly beginRefreshAt: WallMs;
      readonly notAfter: WallMs;
    };

/** An answer that is final: nothing is asked again for the same pod. */
export interface CertificateRefusal {
  readonly kind: "denied" | "failed";
  readonly reason: string;
  readonly message: string;
}

/** Names of `kubelet_podcertificate_states`. */
export type StateName =
  | "fresh"
  | "overdue_for_refresh"
  | "expired"
  | "denied"
  | "failed"
  | "not_yet_issued";

/** So long after its time a refresh counts as overdue (refreshOverdueDuration). */
export const OVERDUE_MS = 600_000;

/** The first condition that ends a request decides. */
export function answerOf({ status }: PodCertificateRequest): Answer {
  for (const { type, reason, message } of status?.conditions ?? []) {
    if (type === "Denied") return { kind: "denied", reason, message };
    if (type === "Failed") return { kind: "failed", reason, message };
    if (type === "Issued") return issuedAnswer(status ?? {});
  }
  return { kind: "none" };
}

function issuedAnswer(status: NonNullable<PodCertificateRequest["status"]>): Answer {
  const chainPem = certificatesOf(status.certificateChain ?? "");
  const beginRefreshAt = parseTimestamp(status.beginRefreshAt ?? "");
  const notAfter = parseTimestamp(status.notAfter ?? "");
  if (chainPem === "" || beginRefreshAt === undefined || notAfter === undefined)
    return unusable("the request was issued without certificateChain, beginRefreshAt or notAfter");
  return { kind: "issued", chainPem, beginRefreshAt, notAfter };
}

/** An issued certificate that cannot be used counts as not issued. */
export const unusable = (message: string): CertificateRefusal => ({
  kind: "failed",
  reason: "UnusableCertificate",
  message,
});

const BLOCK = /-----BEGIN ([^\r\n]+)-----([\s\S]*?)-----END \1-----/g;
const HEADER = /^[^\r\n:]+:[^\r\n]*$/gm;
const LINE = /.{1,64}/g;

/** All blocks of a PEM text as certificates, without headers and without what stands between them. */
export function certificatesOf(pem: string): string {
  return [...pem.matchAll(BLOCK)]
    .map(([, , body = ""]) => body.replace(HEADER, "").replace(/\s/g, "").match(LINE) ?? [])
    .filter((lines) => lines.length > 0)
    .map((lines) =>
      ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n"),
    )
    .join("");
}

/** Why a volume cannot be made, in the words of the Go kubelet. */
export function refusalText({ kind, reason, message }: CertificateRefusal): string {
  return `PodCertificateRequest was permanently ${kind}: reason=${goQuote(reason)} message=${goQuote(message)}`;
}

/** The event about a refusal. */
export function refusalEvent(
  request: string,
  { kind, reason, message }: CertificateRefusal,
): { readonly reason: "Denied" | "Failed"; readonly message: string } {
  const was = kind === "denied" ? "was denied" : "failed";
  return {
    reason: kind === "denied" ? "Denied" : "Failed",
    message: `PodCertificateRequest ${request} ${was}, reason=${goQuote(reason)}, message=${goQuote(message)}`,
  };
}

/** How a certificate stands at `now`; `refreshAt` is when another is asked for. */
export function freshness(
  { refreshAt, notAfter }: { readonly refreshAt: WallMs; readonly notAfter: WallMs },
  now: WallMs,
): StateName {
  if (now > notAfter) return "expired";
  return now > refreshAt + OVERDUE_MS ? "overdue_for_refresh" : "fresh";
}

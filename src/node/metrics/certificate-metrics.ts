/** How long the certificates that the cluster signs are good for. */
import { METRICS } from "../../api/metrics/metrics.ts";
import type { Reading } from "../../kit/cell.ts";
import type { Clock } from "../../kit/clock.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import { parseCertificate } from "../../outside/x509/x509.ts";

/** A certificate that is renewed. */
export interface RenewedCertificate {
  /** The present one, PEM; undefined as long as there is none. */
  readonly current: Reading<{ readonly certificatePem: string } | undefined>;
  /** Renewals that have failed. */
  readonly failures: Reading<number>;
}

/** Sources of the measurements. */
interface CertificateMetricsDeps {
  readonly metrics: MetricsRegistry;
  readonly clock: Pick<Clock, "wall">;
  readonly client: RenewedCertificate | undefined;
  readonly serving: RenewedCertificate | undefined;
}

/** Registers the metrics of the certificate manager. */
export function exposeCertificates({
  metrics,
  clock,
  client,
  serving,
}: CertificateMetricsDeps): void {
  const expose = (
    certificate: RenewedCertificate | undefined,
    ttl:
      | typeof METRICS.kubelet_certificate_manager_client_ttl_seconds
      | typeof METRICS.kubelet_certificate_manager_server_ttl_seconds,
    errors:
      | typeof METRICS.kubelet_certificate_manager_client_expiration_renew_errors
      | typeof METRICS.kubelet_server_expiration_renew_errors,
  ) => {
    const untilMs = endOf();
    metrics.collected(ttl, () => [
      { value: (untilMs(certificate?.current.get()?.certificatePem) - clock.wall()) / 1000 },
    ]);
    metrics.collected(errors, () => [{ value: certificate?.failures.get() ?? 0 }]);
  };
  expose(
    client,
    METRICS.kubelet_certificate_manager_client_ttl_seconds,
    METRICS.kubelet_certificate_manager_client_expiration_renew_errors,
  );
  expose(
    serving,
    METRICS.kubelet_certificate_manager_server_ttl_seconds,
    METRICS.kubelet_server_expiration_renew_errors,
  );
  const ages = metrics.histogram(METRICS.kubelet_certificate_manager_server_rotation_seconds);
  let before = serving?.current.get();
  serving?.current.subscribe((now) => {
    if (before && now) {
      const { notBefore } = parseCertificate(before.certificatePem);
      ages.observe((clock.wall() - notBefore) / 1000);
    }
    before = now;
  });
}

/** When a certificate expires, Unix milliseconds; infinite without one. The same one is read once. */
function endOf(): (pem: string | undefined) => number {
  let known: { readonly pem: string; readonly untilMs: number } | undefined;
  return (pem) => {
    if (pem === undefined) return Number.POSITIVE_INFINITY;
    if (known?.pem !== pem) known = { pem, untilMs: parseCertificate(pem).notAfter };
    return known.untilMs;
  };
}

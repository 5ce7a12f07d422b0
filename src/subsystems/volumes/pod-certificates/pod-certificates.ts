/**
 * Certificates of pods (KEP-4317): for each source of a volume a key, a request to its signer, the answer,
 * and the same again with another key when the signer asks for it. Keys are in memory and in the pod's volume
 * only, as with the Go kubelet: another agent asks again. Invariants: a source has one request open at most,
 * and makes at most one a minute; a refusal is final for the pod.
 */

import type { PodCertificateProjection } from "../../../api/generated/types.ts";
import { METRICS } from "../../../api/metrics/metrics.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import type { MetricsRegistry } from "../../../kit/metrics.ts";
import type { TaskScope } from "../../../kit/scope.ts";
import { type CertificateWithKey, type KeepDeps, KeptCertificate } from "./kept-certificate.ts";

/** One source of one volume of a pod. */
interface CertificatePlace {
  readonly pod: IdentifiedPod;
  readonly volume: string;
  /** Among the sources of the volume. */
  readonly index: number;
}

/** Source of certificates for volumes. */
export interface PodCertificateSource {
  /** Gets a certificate and keeps it fresh until the result is called; `onChange` is called for changes. */
  keep(place: CertificatePlace, source: PodCertificateProjection, onChange: () => void): () => void;
  /** The credential bundle, or why there is none yet. Waits briefly for the first answer. */
  credentials(place: CertificatePlace, signal: AbortSignal): Promise<CertificateWithKey | string>;
}

interface PodCertificateDeps extends KeepDeps {
  readonly scope: TaskScope;
  readonly metrics: MetricsRegistry;
}

/** All certificates of the node's pods. */
export class PodCertificates implements PodCertificateSource {
  readonly #deps: PodCertificateDeps;
  readonly #kept = new Map<string, KeptCertificate>();

  constructor(deps: PodCertificateDeps) {
    this.#deps = deps;
    deps.metrics.collected(METRICS.kubelet_podcertificate_states, () => this.#samples());
  }

  keep(
    place: CertificatePlace,
    source: PodCertificateProjection,
    onChange: () => void,
  ): () => void {
    const key = keyOf(place);
    const kept = new KeptCertificate({ pod: place.pod, source, onChange }, this.#deps);
    this.#kept.set(key, kept);
    this.#deps.scope.spawn("certificate of a pod", "restart", (signal) => kept.run(signal));
    return () => {
      kept.stop();
      if (this.#kept.get(key) === kept) this.#kept.delete(key);
    };
  }

  async credentials(
    place: CertificatePlace,
    signal: AbortSignal,
  ): Promise<CertificateWithKey | string> {
    const kept = this.#kept.get(keyOf(place));
    return kept ? await kept.credentials(signal) : "no credentials yet";
  }

  #samples() {
    const counts = new Map<string, { labels: Record<string, string>; value: number }>();
    for (const { signerName, stateName } of this.#kept.values()) {
      const key = `${signerName} ${stateName}`;
      const value = (counts.get(key)?.value ?? 0) + 1;
      counts.set(key, { labels: { signer_name: signerName, state: stateName }, value });
    }
    return [...counts.values()];
  }
}

const keyOf = ({ pod, volume, index }: CertificatePlace): string =>
  `${pod.metadata.uid}/${volume}/${index}`;

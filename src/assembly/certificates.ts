import { Cell, type Reading } from "../kit/cell.ts";
import { exposeCertificates } from "../node/metrics/certificate-metrics.ts";
import {
  type CertificatePair,
  CertificateStore,
  isCurrent,
  keepCertificate,
  SERVING_STORE,
  servingRotation,
} from "../subsystems/certificates/certificates.ts";
import type { ApiClients } from "./clients.ts";
import type { Foundation } from "./foundation.ts";

/** The certificate of the HTTPS port, where the cluster is to sign it (`serverTLSBootstrap`). */
export function assembleCertificates(
  { options, hooks, outside, scope, metrics, node }: Foundation,
  { client }: Pick<ApiClients, "client">,
): Reading<CertificatePair | undefined> {
  const { config, nodeName, server } = options;
  const serving = new Cell<CertificatePair | undefined>(undefined);
  const failures = new Cell(0);
  exposeCertificates({
    metrics,
    clock: outside.clock,
    client: hooks.cluster?.clientCertificate,
    serving: { current: serving, failures },
  });
  if (!client || !config.serverTLSBootstrap || !server) return serving;
  const { clock, random, host } = outside;
  const log = outside.log.child("certificates");
  const { files } = host;
  const store = new CertificateStore(server.certFolder, SERVING_STORE, { clock, log, files });
  scope.spawn("serving certificate", "restart", async (signal) => {
    const kept = await store.current();
    const first = kept && isCurrent(kept, clock.wall()) ? kept : undefined;
    if (first) serving.set(first);
    const take = (pair: CertificatePair) => serving.set(pair);
    const onFailure = () => failures.set(failures.get() + 1);
    const deps = { client, clock, random, log, store, take, onFailure, wakeOn: [node] };
    const rotation = servingRotation(nodeName, () => node.get());
    await keepCertificate(rotation, deps, { first, signal });
  });
  return serving;
}

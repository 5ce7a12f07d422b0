/** Waits until the API server of the cluster answers. */
import { setTimeout as sleep } from "node:timers/promises";
import * as kube from "../../../outside/kube/kube.ts";
import { CliError } from "../../../present/cli-error.ts";
import { connectApi } from "../../api-access.ts";

const RETRY_MS = 500;

interface ApiWait {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Asks with this kubeconfig. Throws `CliError` when it does not answer in time. */
export async function awaitApi(kubeconfig: string, { timeoutMs, signal }: ApiWait): Promise<void> {
  const api = await connectApi(kubeconfig, "kubeadm writes it");
  const late = AbortSignal.timeout(timeoutMs);
  const end = AbortSignal.any([signal, late]);
  try {
    for (;;) {
      const failed = await api.client.list(kube.NODES, { limit: 1 }, end).then(
        () => undefined,
        (error: Error) => error,
      );
      if (failed === undefined || kube.isApiError(failed, 403)) return;
      signal.throwIfAborted();
      if (late.aborted)
        throw new CliError(`the API server does not answer: ${failed.message}`, {
          fix: "nodelet get pods and nodelet why show what it waits for",
        });
      await sleep(RETRY_MS, undefined, { signal: end }).catch(() => {});
    }
  } finally {
    api.close();
  }
}

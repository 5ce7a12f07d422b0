/** Waits until the API server of the cluster serves. */
import { setTimeout as sleep } from "node:timers/promises";
import { CliError } from "../../../present/cli-error.ts";
import { connectApi } from "../../api-access.ts";

const RETRY_MS = 500;
const OK = 200;
const READY = { method: "GET", path: "/readyz", timeoutMs: 10_000 } as const;

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
      // Not before it knows what the user may do, as a list of something would be answered.
      const problem = await api.client.transport.request(READY, end).then(
        ({ status }) => (status === OK ? undefined : `HTTP ${status}`),
        (error: Error) => error.message,
      );
      if (problem === undefined) return;
      signal.throwIfAborted();
      if (late.aborted)
        throw new CliError(`the API server does not answer: ${problem}`, {
          fix: "nodelet get pods and nodelet why show what it waits for",
        });
      await sleep(RETRY_MS, undefined, { signal: end }).catch(() => {});
    }
  } finally {
    api.close();
  }
}

/** The service account of a pod, whose name and tokens credential programs get (KEP-4412). */
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import { OutsideError } from "../../../kit/errors.ts";
import {
  type ObjectSource,
  SERVICE_ACCOUNTS,
  type ServiceAccountTokens,
} from "../../../outside/kube/kube.ts";
import type { PullingAccount } from "./pulled-record.ts";

/** An account with what is written on it. */
interface PodAccount extends PullingAccount {
  readonly annotations: Readonly<Record<string, string>>;
}

/** Source of service accounts and their tokens. */
export interface PodAccountPort {
  /** The account of a pod; `undefined` when it has none, as static pods. Throws `OutsideError`. */
  account(pod: IdentifiedPod, signal: AbortSignal): Promise<PodAccount | undefined>;
  /** A token of the account for the audience, bound to the pod. Throws `OutsideError`. */
  token(
    pod: IdentifiedPod,
    account: PodAccount,
    audience: string,
    signal: AbortSignal,
  ): Promise<string>;
}

/** The API's default for tokens (TokenRequestSpec). */
const TOKEN_SECONDS = 3600;

/** Accounts and tokens of the API; without one every pod that names an account fails. */
export function podAccountsFrom(
  objects: ObjectSource | undefined,
  tokens: ServiceAccountTokens | undefined,
): PodAccountPort {
  return {
    account: async (pod, signal) => {
      const name = pod.spec?.serviceAccountName ?? "";
      if (name === "") return undefined;
      const { namespace = "default" } = pod.metadata;
      const found = await objects?.get(SERVICE_ACCOUNTS, { namespace, name }, signal);
      if (!found) throw new OutsideError("notFound", `serviceaccount "${name}" not found`);
      const { uid = "", annotations = {} } = found.metadata ?? {};
      return { namespace, name, uid, annotations };
    },
    token: async (pod, { namespace, name }, audience, signal) => {
      if (!tokens)
        throw new OutsideError("unavailable", "there is no API server to ask for tokens");
      const options = {
        namespace,
        serviceAccount: name,
        audiences: [audience],
        expirationSeconds: TOKEN_SECONDS,
        pod: { name: pod.metadata.name, uid: pod.metadata.uid },
      };
      return (await tokens.token(options, signal)).token;
    },
  };
}

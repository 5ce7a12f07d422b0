import type { Node, SecretReference, VolumeAttachment } from "../../api/generated/types.ts";
import { rfc3339 } from "../../api/text/timestamps.ts";
import type { Reading } from "../../kit/cell.ts";
import { messageOf } from "../../kit/errors.ts";
import {
  isApiError,
  type KubeClient,
  SECRETS,
  type ServiceAccountTokens,
  VOLUME_ATTACHMENTS,
} from "../../outside/kube/kube.ts";
import { type CsiError, transient } from "./csi-error.ts";
import type { CsiOrder } from "./csi-order.ts";
import { attachmentName } from "./csi-paths.ts";
import type { DriverRules } from "./driver-rules.ts";

interface ClusterFactsDeps {
  /** Absent where there is no API server. */
  readonly client: Pick<KubeClient, "get"> | undefined;
  readonly tokens: ServiceAccountTokens | undefined;
  readonly node: Reading<Node | undefined>;
  readonly nodeName: string;
}

/** Where a volume stands on its way to the node. */
type Attachment =
  | { readonly kind: "attached"; readonly metadata: Readonly<Record<string, string>> }
  | { readonly kind: "waits"; readonly why: string };

const TOKENS_KEY = "csi.storage.k8s.io/serviceAccount.tokens";

/** What the cluster knows of a volume. Secrets and attachments are asked for each time, never kept. */
export class ClusterFacts {
  readonly #deps: ClusterFactsDeps;

  constructor(deps: ClusterFactsDeps) {
    this.#deps = deps;
  }

  get nodeName(): string {
    return this.#deps.nodeName;
  }

  /** Name of the object by which the volume is attached. */
  attachmentOf({ handle, driver }: Pick<CsiOrder, "handle" | "driver">): string {
    return attachmentName(handle, driver, this.#deps.nodeName);
  }

  /**
   * Whether a controller has attached the volume. Nothing is asked before the node's status says that the volume is in
   * use: from then on the controller does not detach it. What the status says of a volume that was not reported since it
   * is wanted is about to go.
   */
  async attachment(
    order: CsiOrder,
    { isReported }: { readonly isReported: boolean },
    signal: AbortSignal,
  ): Promise<Attachment> {
    const { status } = this.#deps.node.get() ?? {};
    const { key, handle } = order;
    if (!isReported || !status?.volumesInUse?.includes(key))
      return { kind: "waits", why: "the node's status does not name the volume as in use yet" };
    if (!status.volumesAttached?.some(({ name }) => name === key))
      return {
        kind: "waits",
        why: `Volume not attached according to node status for volume "${order.specName}" (UniqueName: "${key}")`,
      };
    const name = this.attachmentOf(order);
    const found = await this.#attachmentObject(name, handle, signal);
    const { metadata, status: state } = found ?? {};
    if (!found)
      throw notAttached(
        `volume ${handle} has GET error for volume attachment ${name}: volumeattachments.storage.k8s.io "${name}" not found`,
      );
    if (metadata?.deletionTimestamp !== undefined)
      throw notAttached("volume attachment is being deleted");
    if (state?.attached) return { kind: "attached", metadata: state.attachmentMetadata ?? {} };
    throw notAttached(
      state?.attachError?.message ??
        `volume ${handle} is not attached for volume attachment ${name}`,
    );
  }

  /** The gRPC status of the last failure to attach; `undefined` when there is none. */
  async attachFailure(
    volume: Pick<CsiOrder, "handle" | "driver">,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const name = this.attachmentOf(volume);
    const found = await this.#attachmentObject(name, volume.handle, signal).catch(() => undefined);
    signal.throwIfAborted();
    return found?.status?.attachError?.errorCode;
  }

  async #attachmentObject(
    name: string,
    handle: string,
    signal: AbortSignal,
  ): Promise<VolumeAttachment | undefined> {
    try {
      return await this.#deps.client?.get(VOLUME_ATTACHMENTS, { name }, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (isApiError(error, 404)) return undefined;
      throw transient(
        `volume ${handle} has GET error for volume attachment ${name}: ${messageOf(error)}`,
        error,
      );
    }
  }

  /** What a secret holds; nothing without a reference. `what` names the reference in errors. */
  async secret(
    ref: SecretReference | undefined,
    what: string,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, string>>> {
    if (!ref) return {};
    const { namespace = "", name = "" } = ref;
    const { client } = this.#deps;
    try {
      if (!client) throw new Error("there is no API server");
      const { data = {} } = await client.get(SECRETS, { namespace, name }, signal);
      return Object.fromEntries(
        Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]),
      );
    } catch (error) {
      signal.throwIfAborted();
      throw transient(`fetching ${what} ${namespace}/${name} failed: ${messageOf(error)}`, error);
    }
  }

  /** What a driver is to know of the pod that the volume is for, where the cluster says so. */
  async ofPod(
    { pod, isInline, isBlock }: CsiOrder,
    rules: DriverRules,
    signal: AbortSignal,
  ): Promise<{
    readonly context: Readonly<Record<string, string>>;
    readonly secrets: Readonly<Record<string, string>>;
  }> {
    const { name, namespace, uid } = pod.metadata;
    const info = rules.podInfo
      ? {
          "csi.storage.k8s.io/pod.name": name,
          "csi.storage.k8s.io/pod.namespace": namespace,
          "csi.storage.k8s.io/pod.uid": uid,
          "csi.storage.k8s.io/serviceAccount.name": serviceAccountOf(pod),
          "csi.storage.k8s.io/ephemeral": String(isInline),
        }
      : {};
    if (rules.tokens.length === 0 || isBlock) return { context: info, secrets: {} };
    const tokens = { [TOKENS_KEY]: await this.#tokens(pod, rules, signal) };
    return rules.tokensInSecrets
      ? { context: info, secrets: tokens }
      : { context: { ...info, ...tokens }, secrets: {} };
  }

  async #tokens(pod: CsiOrder["pod"], rules: DriverRules, signal: AbortSignal): Promise<string> {
    const { name, namespace, uid } = pod.metadata;
    const { tokens: source } = this.#deps;
    const given: Record<string, { token: string; expirationTimestamp: string }> = {};
    try {
      if (!source) throw new Error("there is no API server");
      for (const { audience, expirationSeconds = DEFAULT_TOKEN_SECONDS } of rules.tokens) {
        const options = {
          namespace,
          serviceAccount: serviceAccountOf(pod),
          audiences: audience === "" ? [] : [audience],
          expirationSeconds,
          pod: { name, uid },
        };
        const { token, expiresAt } = await source.token(options, signal);
        given[audience] = { token, expirationTimestamp: rfc3339(expiresAt) };
      }
    } catch (error) {
      signal.throwIfAborted();
      throw transient(
        `mounter.SetUpAt failed to get service account token attributes: ${messageOf(error)}`,
        error,
      );
    }
    return JSON.stringify(given);
  }
}

const DEFAULT_TOKEN_SECONDS = 3600;

const serviceAccountOf = ({ spec }: CsiOrder["pod"]): string =>
  spec?.serviceAccountName || "default";

/** The controller has not attached the volume, whatever the node's status says. */
const notAttached = (message: string): CsiError => transient(message);

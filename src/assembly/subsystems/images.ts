import type { ContainerRuntime } from "../../outside/cri/cri.ts";
import type { Events } from "../../subsystems/events/events.ts";
import {
  Images,
  imageSettings,
  podAccountsFrom,
  pullSecretsFrom,
} from "../../subsystems/images/images.ts";
import type { Journal } from "../../subsystems/journal/journal.ts";
import type { ApiClients } from "../clients.ts";
import type { Foundation } from "../foundation.ts";

const DEFAULT_HOME = "/root";

interface ImageParts {
  readonly cri: ContainerRuntime;
  readonly events: Events;
  readonly journal: Journal;
}

/** Images; throws `UsageError` for credential providers that cannot be used. */
export async function assembleImages(
  base: Foundation,
  { objects, tokens }: Pick<ApiClients, "objects" | "tokens">,
  { cri, events, journal }: ImageParts,
): Promise<Images> {
  const { options, outside, scope, state, metrics, podFacts, news } = base;
  const { config, rootFolder, images: own = {} } = options;
  const { host, net, clock } = outside;
  const log = outside.log.child("images");
  const describe = outside.cri.selfDescription;
  const images = await Images.open(
    {
      ...imageSettings(config, own),
      rootFolder,
      home: own.home ?? DEFAULT_HOME,
      ...(own.credentialPrograms ? { credentialPrograms: own.credentialPrograms } : {}),
    },
    {
      cri,
      host,
      state,
      net,
      clock,
      metrics,
      log,
      signal: scope.signal,
      ...(describe ? { describeRuntime: (signal) => describe(signal) } : {}),
      news,
      pods: podFacts,
      pullSecrets: pullSecretsFrom(objects, log),
      accounts: podAccountsFrom(objects, tokens),
      events,
      decisions: journal,
    },
  );
  scope.defer("images", () => images.flush());
  return images;
}

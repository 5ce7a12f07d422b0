import { open, url } from "node:inspector";
import { parseInspectorAddress } from "../config/flags/inspector-address.ts";
import type { Log } from "../kit/log.ts";

/** Opens Node's inspector at the validated address of `--inspect`; it ends with the process. */
export function openInspector(inspect: string, log: Log): void {
  const address = parseInspectorAddress(inspect);
  if (!address) return;
  open(address.port, address.host);
  log.warn("Node's inspector is open: anyone who can reach it can do what the agent can", {
    url: url(),
  });
}

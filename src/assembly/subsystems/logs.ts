import type { RuntimeService } from "../../outside/cri/cri.ts";
import { Logs } from "../../subsystems/logs/logs.ts";
import type { Foundation } from "../foundation.ts";

/** Folder of links to the logs of all containers, where log collectors read them. */
const LOG_LINK_FOLDER = "/var/log/containers";
/** Period of the search for links whose log is gone, as the Go kubelet's container GC. */
const SWEEP_LINKS_MS = 60_000;

/** Logs of containers, and the links to them. */
export function assembleLogs(
  { options, outside, scope }: Foundation,
  { runtime }: { readonly runtime: RuntimeService },
): Logs {
  const { host, clock, log, serving } = outside;
  const logs = new Logs(
    { root: options.config.podLogsDir, linkFolder: LOG_LINK_FOLDER },
    {
      files: host.podFiles,
      openFolder: serving?.openFolder,
      clock,
      log: log.child("logs"),
      reopen: (containerId, signal) => runtime.reopenLog(containerId, signal),
    },
  );
  scope.spawn("links to logs", "restart", async (signal) => {
    for (;;) {
      await logs.links.sweep();
      await clock.coalesced.sleep(SWEEP_LINKS_MS, signal);
    }
  });
  return logs;
}

import type { Container, CoreEvent, Pod } from "../../src/api/generated/types.ts";
import { programOf } from "./programs.ts";

const KILLED = /[Cc]ontainer (\S+) failed (liveness|startup) probe/;

/** What is wrong with the event: it says that a container is ended for a probe that cannot have failed. */
export function faultOfKilling(event: CoreEvent, pod: Pod | undefined): string | undefined {
  const [, name, kind] = KILLED.exec(event.message ?? "") ?? [];
  if (event.reason !== "Killing" || name === undefined || pod === undefined) return undefined;
  const all: readonly Container[] = [
    ...(pod.spec?.containers ?? []),
    ...(pod.spec?.initContainers ?? []),
  ];
  const container = all.find((each) => each.name === name);
  const probe = kind === "liveness" ? container?.livenessProbe : container?.startupProbe;
  const program = programOf(probe?.exec?.command ?? []);
  if (program?.kind === "exit" && program.code !== 0) return undefined;
  return `pod ${pod.metadata?.name}: ${event.message}, though each of its attempts succeeds`;
}

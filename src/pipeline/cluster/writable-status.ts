// pure
import type { ContainerStatus, Pod, PodStatus } from "../../api/generated/types.ts";
import { refusedTransitions, STATUS_LISTS } from "../../api/validation/pod-status.ts";

/** A status that the API accepts, and why it is incomplete. */
interface WritableStatus {
  readonly status: PodStatus;
  /** In the Go kubelet's words, one for each container that stays as the API has it. */
  readonly heldBack: readonly string[];
}

/**
 * Of a status what the API takes: one that lets a container leave `terminated` for good is refused as a whole,
 * and with it all that comes after. The Go kubelet writes nothing then (status_manager.go
 * checkContainerStateTransition); here those containers stay as the API has them, and the rest gets there.
 */
export function writableStatus(known: Pod, own: PodStatus): WritableStatus {
  const refused = STATUS_LISTS.flatMap((list) => refusedTransitions(known, own, list));
  if (refused.length === 0) return { status: own, heldBack: [] };
  const kept: Partial<Record<(typeof STATUS_LISTS)[number], readonly ContainerStatus[]>> = {};
  for (const list of new Set(refused.map((each) => each.list))) {
    const stays = new Map(
      refused
        .filter((each) => each.list === list)
        .map(({ name, index }) => [name, known.status?.[list]?.[index]]),
    );
    kept[list] = (own[list] ?? []).map((status) => stays.get(status.name) ?? status);
  }
  const heldBack = refused.map(
    ({ list, name }) =>
      `terminated ${list === "initContainerStatuses" ? "init container" : "container"} ${name} attempted illegal transition to non-terminated state`,
  );
  return { status: { ...own, ...kept }, heldBack };
}

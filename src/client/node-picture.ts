// pure
/** The state of the node from the changes so far. */
import type { CoreEvent, Pod } from "../api/generated/types.ts";
import { podDisplayName } from "../api/pod/pod.ts";
import type { NodeChange, Overview, Problem } from "../present/shapes.ts";

/** Known facts about a node. */
export interface NodePicture {
  readonly overview: Overview | undefined;
  /** By UID. */
  readonly pods: ReadonlyMap<string, Pod>;
  /** The newest, oldest first. */
  readonly events: readonly CoreEvent[];
  readonly problems: readonly Problem[];
  /** Whether the initial state is complete. */
  readonly synced: boolean;
}

/** Nothing is known yet. */
export const EMPTY_PICTURE: NodePicture = {
  overview: undefined,
  pods: new Map(),
  events: [],
  problems: [],
  synced: false,
};

/** Events that are kept. */
const KEPT_EVENTS = 200;

/** The picture after one more change. */
export function withChange(picture: NodePicture, change: NodeChange): NodePicture {
  switch (change.kind) {
    case "overview":
      return { ...picture, overview: change.overview };
    case "pod": {
      const uid = change.pod.metadata?.uid ?? podDisplayName(change.pod);
      return { ...picture, pods: new Map(picture.pods).set(uid, change.pod) };
    }
    case "podGone": {
      const pods = new Map(picture.pods);
      pods.delete(change.uid);
      return { ...picture, pods };
    }
    case "event":
      return { ...picture, events: withEvent(picture.events, change.event) };
    case "synced":
      return { ...picture, synced: true };
    case "alive":
    case "eventsMissed":
      return picture;
    default:
      // A kind of a newer agent: not for us.
      change satisfies never;
      return picture;
  }
}

/** An event that occurs again, with a higher count, replaces the previous one. */
function withEvent(events: readonly CoreEvent[], event: CoreEvent): readonly CoreEvent[] {
  const others = events.filter(({ metadata }) => metadata.name !== event.metadata.name);
  return [...others, event].slice(-KEPT_EVENTS);
}

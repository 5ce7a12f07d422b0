// pure
/** Users of images: containers in any state, image volumes, specs of pods. */
import type { Pod } from "../../api/generated/types.ts";
import { podDisplayName } from "../../api/pod/pod.ts";
import type { ImageIndex } from "./image-record.ts";

/** A container of the runtime, as far as its image is concerned. */
export interface UsingContainer {
  /** References that may name its image, best first. */
  readonly references: readonly string[];
  /** Images that are mounted into it as volumes. */
  readonly mounted: readonly string[];
  /** Name of the user, e.g. `default/web (c)`. */
  readonly name: string;
}

/** Images in use by id, each with its users. */
export function imagesInUse(
  containers: readonly UsingContainer[],
  index: ImageIndex,
): ReadonlyMap<string, readonly string[]> {
  const users = new Map<string, string[]>();
  const add = (id: string | undefined, name: string) => {
    if (id === undefined) return;
    const names = users.get(id);
    if (!names) users.set(id, [name]);
    else if (!names.includes(name)) names.push(name);
  };
  for (const { references, mounted, name } of containers) {
    const found = references
      .map((reference) => index.idOf(reference))
      .find((id) => id !== undefined);
    add(found, name);
    for (const reference of mounted) add(index.idOf(reference), name);
  }
  return users;
}

/** Every image that a pod's spec names, each once. */
export function imagesNamedBy({ spec }: Pod): readonly string[] {
  const containers = [
    ...(spec?.initContainers ?? []),
    ...(spec?.containers ?? []),
    ...(spec?.ephemeralContainers ?? []),
  ];
  const names = [
    ...containers.map(({ image }) => image ?? ""),
    ...(spec?.volumes ?? []).map(({ image }) => image?.reference ?? ""),
  ];
  return [...new Set(names)].filter((name) => name !== "");
}

/** Images that pods name, by id. */
export function imagesNeeded(
  pods: readonly Pod[],
  index: ImageIndex,
): ReadonlyMap<string, readonly string[]> {
  const needed = new Map<string, string[]>();
  for (const pod of pods) {
    const name = podDisplayName(pod);
    for (const image of imagesNamedBy(pod)) {
      const id = index.idOf(image);
      if (id === undefined) continue;
      const names = needed.get(id);
      if (!names) needed.set(id, [name]);
      else if (!names.includes(name)) names.push(name);
    }
  }
  return needed;
}

import { Neighbors } from "../../subsystems/neighbors/neighbors.ts";
import type { Foundation } from "../foundation.ts";

/** The other agents of the machine, which know of this one from now on. */
export async function assembleNeighbors({
  options,
  outside,
  scope,
}: Foundation): Promise<Neighbors> {
  const { host, clock, log } = outside;
  const neighbors = new Neighbors(options.rootFolder, {
    host,
    clock,
    scope,
    log: log.child("neighbors"),
  });
  await neighbors.announce();
  return neighbors;
}

// Damage to what the agent keeps on disk, for the simulation.
import type { Random } from "../../src/kit/random.ts";
import type { World } from "./world.ts";

const ROOT = "/var/lib/kubelet";
/** Of the agent itself: not what pods have in their volumes. */
const STATE =
  /^\/var\/lib\/kubelet\/(nodelet\/.*|allocated_pods_state|actuated_pods_state|image_manager\/.*|device-plugins\/kubelet_internal_checkpoint)$/;
const KINDS = ["missing", "empty", "cut off", "garbage", "newer", "folder", "unreadable"] as const;

/** Damages each state file with the given likelihood; gives what was done, as `path: kind`. */
export async function damageState(
  world: World,
  random: Random,
  likelihood: number,
): Promise<readonly string[]> {
  const { files } = world.host;
  const done: string[] = [];
  for (const path of files.paths) {
    if (!STATE.test(path) || path.includes(".broken") || random.next() >= likelihood) continue;
    if ((await files.facts(path))?.kind !== "file") continue;
    const kind = KINDS[Math.floor(random.next() * KINDS.length)] ?? "missing";
    const replace = (content: string) => files.writeAtomic(path, content, 0o600);
    switch (kind) {
      case "missing":
        await files.remove(path);
        break;
      case "empty":
        await replace("");
        break;
      case "cut off":
        await replace(firstHalf(await files.readText(path, { maxBytes: 64 * 1024 * 1024 })));
        break;
      case "garbage":
        await replace("\0garbage\n\u{7f}more of it\n");
        break;
      case "newer":
        await replace('{"format":99,"version":99,"kind":"Newer"}\n');
        break;
      case "folder":
        await files.remove(path);
        await files.makeDirectory(`${path}/with/more`, 0o700);
        break;
      case "unreadable":
        world.unreadable.add(path);
        break;
      default:
        kind satisfies never;
    }
    done.push(`${path.slice(ROOT.length + 1)}: ${kind}`);
  }
  world.note(`damaged: ${done.join(", ") || "nothing"}`);
  return done;
}

function firstHalf(text = ""): string {
  return text.slice(0, text.length / 2);
}

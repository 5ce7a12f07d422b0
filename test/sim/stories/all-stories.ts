// Every story there is, in the order of docs/why.md.
import { ADMISSION_STORIES } from "./admission-stories.ts";
import { ENDING_STORIES } from "./ending-stories.ts";
import { IMAGE_STORIES } from "./image-stories.ts";
import { RUNNING_STORIES } from "./running-stories.ts";
import { SCHEDULING_STORIES } from "./scheduling-stories.ts";
import type { Story } from "./story.ts";
import { VOLUME_STORIES } from "./volume-stories.ts";

/** Stories by the heading of their part of the page. */
export const ALL_STORIES: Readonly<Record<string, readonly Story[]>> = {
  "Not on the node": SCHEDULING_STORIES,
  "Rejected by admission": ADMISSION_STORIES,
  "Volumes and environment variables": VOLUME_STORIES,
  "Images, sandboxes and start": IMAGE_STORIES,
  "While the pod runs": RUNNING_STORIES,
  "Deletion, eviction and restarts of the agent": ENDING_STORIES,
};

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
  "It is not on the node": SCHEDULING_STORIES,
  "It may not run here": ADMISSION_STORIES,
  "Volumes and variables": VOLUME_STORIES,
  "Images, sandbox and start": IMAGE_STORIES,
  "While it runs": RUNNING_STORIES,
  "It is ended": ENDING_STORIES,
};

/** Images: what takes the disk, what would be removed next, and why. */
import { type ComponentChild, h } from "preact";
import { humanBytes } from "../../present/amounts.ts";
import { IMAGE_COLUMNS, type ImageRow } from "../../present/tables/image-table.ts";
import type { ImagesReport } from "../../subsystems/images/images.ts";
import { useData } from "../requests.ts";
import { AnswerBox } from "./answer.ts";
import { Bar } from "./bar.ts";
import { Table } from "./table.ts";

const EVERY_MS = 10_000;

/** The view of images. */
export function ImagesTab(): ComponentChild {
  const answer = useData<ImagesReport>("images", EVERY_MS);
  return h(AnswerBox<ImagesReport>, {
    answer,
    show: (report) => [diskOf(report), tableOf(report)],
  });
}

function diskOf({ disk, policy, freesBytes }: ImagesReport): ComponentChild {
  if (disk === undefined)
    return h("p", { class: "warn" }, "The image file system could not be measured.");
  return h(
    "div",
    null,
    h(Bar, {
      label: "Image file system",
      share: disk.usagePercent / 100,
      limit: policy.highPercent / 100,
      text: `${disk.usagePercent}% used; above ${policy.highPercent}% unused images are removed until ${policy.lowPercent}% are left`,
    }),
    h(
      "p",
      null,
      freesBytes > 0
        ? `A garbage collection now would free ${humanBytes(freesBytes)}.`
        : "A garbage collection now would remove nothing.",
    ),
  );
}

function tableOf({ images, atMs }: ImagesReport): ComponentChild {
  return h(Table<ImageRow>, {
    caption: "Images, in the order in which they would be removed",
    columns: IMAGE_COLUMNS.filter(({ wide }) => wide !== true).map(({ title, ...column }) => ({
      ...column,
      title: title.charAt(0) + title.slice(1).toLowerCase(),
    })),
    rows: images.map((image) => ({ image, atMs })),
    keyOf: ({ image }) => image.id,
    empty: "No images on this node.",
  });
}

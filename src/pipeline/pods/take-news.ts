import type { PodNews } from "../../api/pod-news.ts";
import type { Pods } from "./pods.ts";
import type { ForeignPods } from "./waiting/foreign-pods.ts";

/** Delivers news to pods: the only way by which other modules reach a pod. */
export function takeNews(
  pods: Pick<Pods, "post" | "reconsider" | "terminate">,
  foreign: Pick<ForeignPods, "take">,
  news: PodNews,
): void {
  switch (news.kind) {
    case "found":
      foreign.take([news.found]);
      break;
    case "probed": {
      const { uid, ...probed } = news;
      pods.post(uid, probed);
      break;
    }
    case "progress": {
      const { uid, ...progress } = news;
      pods.post(uid, progress);
      break;
    }
    case "devices":
      if (news.what === "admission") pods.reconsider(news.uid);
      else pods.post(news.uid, { kind: "tick" });
      break;
    case "evicted": {
      const { uid, graceSeconds, ...cause } = news;
      pods.terminate(uid, cause, graceSeconds);
      break;
    }
    case "clear":
      pods.post(news.uid, { kind: "clear" });
      break;
    default:
      news satisfies never;
  }
}

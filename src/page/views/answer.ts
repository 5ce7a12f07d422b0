/** Placeholders for data of the agent that is loading or failed. */
import { type ComponentChild, h } from "preact";
import type { Loaded } from "../requests.ts";

/** The answer, that it is loading, or why it failed. */
export function AnswerBox<T>({
  answer,
  show,
}: {
  readonly answer: Loaded<T>;
  readonly show: (value: T) => ComponentChild;
}): ComponentChild {
  switch (answer.kind) {
    case "loaded":
      return show(answer.value);
    case "failed":
      return h("p", { class: "bad", role: "alert" }, `The agent did not answer: ${answer.message}`);
    default:
      return h("p", { class: "empty" }, "Loading …");
  }
}

import type { EventText } from "../../src/api/event-text.ts";

/** The ports that volumes report to; events of all objects go to `record`. */
export const volumeReports = (record: (event: EventText) => void = () => {}) => ({
  events: {
    ofPod: (_: unknown, event: EventText) => record(event),
    ofObject: (_: unknown, event: EventText) => record(event),
  },
  news: { publish: () => {} },
});

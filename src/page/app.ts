/**
 * The page of the node: its entry point, which `tools/build.mjs` puts into one document with `index.html`.
 *
 *     start(document.getElementById("app"));
 */
import { h, render } from "preact";
import { DATA } from "./requests.ts";
import { NodeStore } from "./store.ts";
import { PageFrame } from "./views/page.ts";

/** Shows the node in `root`, as long as the page is open. */
function start(root: HTMLElement): void {
  let isDue = false;
  /** Draws once for all changes until the next frame; a page in the background draws when it is seen again. */
  const draw = () => {
    if (isDue) return;
    isDue = true;
    const paint = () => {
      isDue = false;
      render(h(PageFrame, { state: store.state }), root);
    };
    if (document.hidden) setTimeout(paint, 1_000);
    else requestAnimationFrame(paint);
  };
  const store = new NodeStore(draw);
  draw();
  store.follow(`${DATA}changes`);
  addEventListener("hashchange", draw);
  // Ages are shown in seconds.
  setInterval(draw, 5_000);
}

const root = document.getElementById("app");
if (root === null) throw new Error("the page has no element with the id app");
start(root);

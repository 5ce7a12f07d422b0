import { setOwn } from "../../src/kit/json.ts";
import type { Random } from "../../src/kit/random.ts";
import { mutateText, NUMBERS, pick, upTo, WORDS } from "./mutate-text.ts";

/** How deep a value is nested at most: deeper than any decoder follows. */
const MAX_NESTING = 20_000;

interface Place {
  readonly holder: Record<string, unknown> | unknown[];
  readonly key: string;
}

/** Most places that are chosen from. */
const MAX_PLACES = 20_000;

/** All places of values, the top left out. Without recursion: some values are nested deep. */
function placesIn(value: unknown): readonly Place[] {
  const places: Place[] = [];
  const open = [value];
  while (open.length > 0 && places.length < MAX_PLACES) {
    const holder = open.pop();
    if (typeof holder !== "object" || holder === null) continue;
    for (const key of Object.keys(holder)) {
      const place = { holder: holder as Place["holder"], key };
      places.push(place);
      open.push(valueAt(place));
    }
  }
  return places;
}

const valueAt = ({ holder, key }: Place): unknown =>
  (holder as Readonly<Record<string, unknown>>)[key];

function put({ holder, key }: Place, value: unknown): void {
  if (Array.isArray(holder)) holder[Number(key) || 0] = value;
  else setOwn(holder, key, value);
}

function scalar(random: Random, words: readonly string[]): unknown {
  switch (upTo(random, 8)) {
    case 0:
      return null;
    case 1:
      return random.next() < 0.5;
    case 2:
      return Number(pick(random, NUMBERS)) || 0;
    case 3:
      return pick(random, NUMBERS);
    case 4:
      return random.next() < 0.5 ? {} : [];
    case 5:
      return pick(random, WORDS).repeat(random.next() < 0.1 ? upTo(random, 3_000) : 1);
    default:
      return words.length === 0 ? pick(random, WORDS) : pick(random, words);
  }
}

function changeOne(
  random: Random,
  place: Place,
  other: readonly Place[],
  words: readonly string[],
): void {
  const { holder, key } = place;
  const value = valueAt(place);
  switch (upTo(random, 8)) {
    case 0:
      if (Array.isArray(holder)) holder.splice(Number(key), 1);
      else delete holder[key];
      return;
    case 1:
      if (Array.isArray(holder)) holder.push(value);
      else put({ holder, key: pick(random, random.next() < 0.5 ? WORDS : words) ?? "" }, value);
      return;
    case 2:
      if (other.length > 0) put(place, valueAt(pick(random, other)));
      return;
    case 3:
      if (typeof value === "string") put(place, mutateText(random, value, key, words));
      else put(place, scalar(random, words));
      return;
    case 4:
      if (typeof value === "object" && value !== null)
        put({ holder: value as Place["holder"], key: pick(random, WORDS) }, scalar(random, words));
      else put(place, [value]);
      return;
    case 5:
      if (Array.isArray(value) && value.length > 0)
        put(place, new Array(upTo(random, 300)).fill(value[0]));
      else if (typeof value !== "object") put(place, String(value));
      return;
    default:
      put(place, scalar(random, words));
  }
}

/** JSON whose values differ in one to four places; in one of thirty it is changed as text, too, or nested deep. */
export function mutateJson(
  random: Random,
  text: string,
  other: string,
  words: readonly string[],
): string {
  const value = parsed(text);
  const lent = placesIn(parsed(other));
  if (value === undefined || random.next() < 0.02) return mutateText(random, text, other, words);
  for (let left = 1 + upTo(random, 4); left > 0; left -= 1) {
    const places = placesIn(value);
    if (places.length > 0) changeOne(random, pick(random, places), lent, words);
  }
  const changed = written(value) ?? text;
  return random.next() < 0.003 ? nested(random, value) : changed;
}

/** The value with one place nested as deep as nobody does who means well; as text, which takes no stack. */
function nested(random: Random, value: unknown): string {
  const places = placesIn(value);
  const mark = "\u0000nested";
  if (places.length > 0) put(pick(random, places), mark);
  const depth = upTo(random, random.next() < 0.5 ? 300 : MAX_NESTING);
  const [open, close] = pick(random, [
    ["[", "]"],
    ['{"a":', "}"],
    ['{"f:a":', "}"],
    ['{"spec":', "}"],
  ] as const);
  const deep = `${open.repeat(depth)}${pick(random, ["1", "{}", "[]", '""'])}${close.repeat(depth)}`;
  return places.length === 0
    ? deep
    : (written(value) ?? "").replace(JSON.stringify(mark), () => deep);
}

/** The value as JSON; undefined for one that is nested too deep for that. */
function written(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

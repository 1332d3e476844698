// What was kept aside: large results as cards, and the files of a message. Of a content only text and images are
// shown, and neither as markup; everything else is a file to keep.

import { download, request } from "./api.js";
import { make, save } from "./dom.js";
import { fill, inWords, language, words } from "./words.js";

const LINES = 200; // of the first part that is shown
const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const LARGEST_PICTURE = 20_000_000; // bytes of one that is shown when it is asked for
const LARGEST_PREVIEW = 5_242_880; // of one that is fetched unasked: what a model can be shown, too
const UNITS = [[1e9, "GB"], [1e6, "MB"], [1e3, "KB"]];

// "52,301 lines / 2.0 MB"; without lines where it is no text.
export function sizeOf({ size, lines }) {
  const [unit, name] = UNITS.find(([least]) => size >= least) ?? [];
  const digits = { minimumFractionDigits: 1, maximumFractionDigits: 1 };
  const bytes = unit ? `${(size / unit).toLocaleString(language, digits)} ${name}` : fill(words.bytes, { count: size });
  return lines === undefined ? bytes : `${fill(words.lines, { count: lines.toLocaleString(language) })} / ${bytes}`;
}

const pathOf = (ref) => `/api/artifacts/${encodeURIComponent(ref)}`;
const isPicture = ({ mime, size }, largest) => PICTURES.has(mime) && size <= largest;

// A button that waits for what it does, and can be pressed again. `name` is what it is about.
function action(label, name, trouble, act) {
  const press = make("button", "small", label);
  press.type = "button";
  press.setAttribute("aria-label", `${label}: ${name}`);
  press.addEventListener("click", async () => {
    press.disabled = true;
    trouble.textContent = "";
    await act().catch((error) => {
      trouble.textContent = inWords(error);
    });
    press.disabled = false;
  });
  return press;
}

function alarm() {
  const trouble = make("span", "why");
  trouble.setAttribute("role", "alert");
  return trouble;
}

async function saved({ ref, name }) {
  const file = await download(pathOf(ref));
  save(file, name ?? file.name);
}

// An image of a type that runs nothing. The address of its bytes ends when they are drawn.
async function picture({ ref, name, mime }) {
  const file = await download(pathOf(ref));
  const image = make("img");
  image.alt = name ?? ref;
  image.src = URL.createObjectURL(new Blob([file], { type: mime }));
  await image.decode().catch(() => {
    throw Object.assign(new Error(), { code: "no_picture" });
  }).finally(() => URL.revokeObjectURL(image.src));
  return image;
}

// The data of an artifact event as a card.
export function artifactCard(artifact) {
  const { ref, name = ref, kind = "binary", mime, summary } = artifact;
  const trouble = alarm();
  const head = make("div", "artifact-head", make("b", "", name), make("small", "", `${words.kinds[kind] ?? kind} · ${sizeOf(artifact)}`));
  const root = make("section", "artifact", head, summary ? make("p", "", summary) : null);
  root.title = `${ref} · ${mime}`;
  root.setAttribute("aria-label", name);
  const place = make("div", "artifact-shown");
  place.hidden = true;
  const choices = make("span", "choices");
  if (artifact.lines !== undefined || isPicture(artifact, LARGEST_PICTURE)) choices.append(shower(artifact, name, place, trouble), " ");
  choices.append(action(words.download, name, trouble, () => saved(artifact)));
  head.append(choices);
  root.append(trouble, place);
  return root;
}

// Shows the content in `place`, and hides it again.
function shower(artifact, name, place, trouble) {
  const press = action(words.show, name, trouble, async () => {
    if (!place.hasChildNodes()) place.append(...(artifact.lines === undefined ? [await picture(artifact)] : await text(artifact.ref, name)));
    place.hidden = !place.hidden;
    press.textContent = place.hidden ? words.show : words.hide;
    press.setAttribute("aria-label", `${press.textContent}: ${name}`);
    press.setAttribute("aria-expanded", String(!place.hidden));
  });
  press.setAttribute("aria-expanded", "false");
  return press;
}

// The beginning of a text, and a button that brings the part that follows.
async function text(ref, name) {
  const shown = make("pre");
  shown.tabIndex = 0;
  shown.setAttribute("aria-label", name);
  const told = make("small");
  const trouble = alarm();
  const more = action(words.showMore, name, trouble, () => read(next));
  let next = null;
  async function read(wanted) {
    const part = await request("GET", `${pathOf(ref)}?${new URLSearchParams(wanted)}`);
    const isNewLine = part.how === "lines" && shown.textContent && !shown.textContent.endsWith("\n");
    shown.append(isNewLine ? "\n" : "", part.content);
    const values = { last: part.last.toLocaleString(language), total: part.total.toLocaleString(language) };
    told.textContent = fill(part.how === "lines" ? words.linesShown : words.bytesShown, values);
    next = part.next ?? null;
    more.hidden = next === null;
  }
  await read(`lines=1-${LINES}`);
  return [shown, make("div", "artifact-more", told, more, trouble)];
}

// The files of a message: small images as they are, everything else by its name. Each can be saved.
export function attachedFiles(files) {
  if (!files.length) return null;
  const list = make("ul", "attached", ...files.map(attachedFile));
  list.setAttribute("aria-label", words.attachedFiles);
  return list;
}

function attachedFile(file) {
  const { ref, name = ref, size } = file;
  const trouble = alarm();
  const label = make("span", "name", name);
  const press = action("", name, trouble, () => saved(file));
  press.className = "chip";
  press.title = press.ariaLabel = `${words.download}: ${name}`;
  press.append(label, size === undefined ? "" : make("small", "", sizeOf({ size })));
  if (isPicture(file, LARGEST_PREVIEW)) {
    picture(file).then((image) => {
      press.classList.add("picture");
      press.replaceChildren(image);
    }, () => {}); // it stays a name; what is wrong is told when it is asked for
  }
  return make("li", "", press, trouble);
}

// What was kept aside: large results as cards, and the files of a message. Of a content only text and images are
// shown, and neither as markup; everything else is a file to keep.

import { download, request } from "./api.js";
import { make, save } from "./dom.js";
import { counted, fill, inWords, language, words } from "./words.js";

const LINES = 200; // of the first part that is shown
const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const LARGEST_PICTURE = 20_000_000; // bytes of one that is shown when it is asked for
const LARGEST_PREVIEW = 5_242_880; // of one that is fetched unasked: what a model can be shown, too
const UNITS = [[1e9, "GB"], [1e6, "MB"], [1e3, "KB"]];

// "52,301 lines / 2.0 MB"; without lines where it is no text.
export function sizeOf({ size, lines }) {
  const [unit, name] = UNITS.find(([least]) => size >= least) ?? [];
  const digits = { minimumFractionDigits: 1, maximumFractionDigits: 1 };
  const bytes = unit ? `${(size / unit).toLocaleString(language, digits)} ${name}` : counted("bytes", size);
  return lines === undefined ? bytes : `${counted("lines", lines)} / ${bytes}`;
}

export const pathOf = (ref) => `/api/artifacts/${encodeURIComponent(ref)}`;
const isPicture = ({ mime, size }, largest) => PICTURES.has(mime) && size <= largest;

// What stands for a file that was deleted says so, and has no buttons any more.
export function markGone(ref) {
  for (const place of document.querySelectorAll(`[data-ref="${CSS.escape(ref)}"]`)) {
    place.classList.add("gone");
    for (const press of place.querySelectorAll("button")) {
      if (press.classList.contains("chip")) press.replaceWith(make("span", "chip", make("span", "name", press.dataset.name)));
      else press.remove();
    }
    place.querySelector(".artifact-shown")?.remove();
    place.querySelector(".why").textContent = words.problems.artifact_not_found;
  }
}

// A button that waits for what it does, and can be pressed again. The file that it is about is gone when the
// server says so.
function action(label, { ref, name = ref }, trouble, act) {
  const press = make("button", "small", label);
  press.type = "button";
  press.setAttribute("aria-label", `${label}: ${name}`);
  press.addEventListener("click", async () => {
    press.disabled = true;
    trouble.textContent = "";
    await act().catch((error) => {
      if (error.code === "artifact_not_found") markGone(ref);
      else trouble.textContent = inWords(error);
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
  root.dataset.ref = ref;
  root.title = `${ref} · ${mime}`;
  root.setAttribute("aria-label", name);
  const place = make("div", "artifact-shown");
  place.hidden = true;
  const choices = make("span", "choices");
  if (artifact.lines !== undefined || isPicture(artifact, LARGEST_PICTURE)) choices.append(shower(artifact, place, trouble), " ");
  choices.append(action(words.download, artifact, trouble, () => saved(artifact)));
  head.append(choices);
  root.append(trouble, place);
  return root;
}

// Shows the content in `place`, and hides it again.
function shower(artifact, place, trouble) {
  const { ref, name = ref } = artifact;
  const press = action(words.show, artifact, trouble, async () => {
    if (!place.hasChildNodes()) place.append(...(artifact.lines === undefined ? [await picture(artifact)] : await text(artifact)));
    place.hidden = !place.hidden;
    press.textContent = place.hidden ? words.show : words.hide;
    press.setAttribute("aria-label", `${press.textContent}: ${name}`);
    press.setAttribute("aria-expanded", String(!place.hidden));
  });
  press.setAttribute("aria-expanded", "false");
  return press;
}

// The beginning of a text, and a button that brings the part that follows.
async function text(artifact) {
  const { ref, name = ref, size } = artifact;
  const shown = make("pre");
  shown.tabIndex = 0;
  shown.setAttribute("aria-label", name);
  const told = make("small");
  const trouble = alarm();
  const more = action(words.showMore, artifact, trouble, () => read(next));
  let next = null;
  function tell(how, last, total) {
    told.textContent = fill(how, { last: last.toLocaleString(language), total: total.toLocaleString(language) });
  }
  async function read(wanted) {
    const part = await request("GET", `${pathOf(ref)}?${new URLSearchParams(wanted)}`);
    const isNewLine = part.how === "lines" && shown.textContent && !shown.textContent.endsWith("\n");
    shown.append(isNewLine ? "\n" : "", part.content);
    next = part.next ?? null;
    const following = next?.match(/^bytes=(\d+)/); // a line may be too long to come at once
    if (part.how === "lines" && !following) tell(words.linesShown, part.last, part.total);
    else tell(words.bytesShown, following ? Number(following[1]) : size, size);
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
  const press = action("", file, trouble, () => saved(file));
  press.className = "chip";
  press.dataset.name = name;
  press.title = press.ariaLabel = `${words.download}: ${name}`;
  press.append(label, size === undefined ? "" : make("small", "", sizeOf({ size })));
  if (isPicture(file, LARGEST_PREVIEW)) {
    picture(file).then((image) => {
      press.classList.add("picture");
      press.replaceChildren(image, label);
    }, ({ code }) => {
      if (code === "artifact_not_found") markGone(ref);
    }); // else it stays a name; what is wrong is told when it is asked for
  }
  const item = make("li", "", press, trouble);
  item.dataset.ref = ref;
  return item;
}

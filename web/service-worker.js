// Keeps the page itself, so that it opens without a connection: the document and its files, and nothing else. Answers of the
// API are not kept, nor seen here. The document comes from the server whenever there is one.

const VERSION = "{{version}}";
const FIRST = "{{files}}".split(" "); // what the document loads at once
const ROOT = registration.scope;
const OWN = `gateway-page ${ROOT} `;
const KEPT = OWN + VERSION;

addEventListener("install", (event) => {
  event.waitUntil((async () => {
    await (await caches.open(KEPT)).addAll(FIRST);
    await skipWaiting();
  })());
});

addEventListener("activate", (event) => {
  event.waitUntil((async () => {
    for (const name of await caches.keys()) if (name.startsWith(OWN) && name !== KEPT) await caches.delete(name);
    await clients.claim();
    await page(new Request(ROOT)).catch(() => undefined); // it came before anybody kept it
  })());
});

addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(ROOT)) return;
  const path = request.url.slice(ROOT.length).split(/[?#]/)[0];
  if (path === "" && request.mode === "navigate") event.respondWith(page(request));
  else if (path.startsWith("assets/")) event.respondWith(asset(request));
});

addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil((async () => {
    const { data: address } = event.notification;
    const [open] = await clients.matchAll({ type: "window" });
    if (!open) return clients.openWindow(address);
    await open.focus();
    return open.navigate(address);
  })());
});

// The server's; what is kept of it only where nobody answers.
async function page(request) {
  const cache = await caches.open(KEPT);
  try {
    const response = await fetch(request);
    // At this address a proxy may have put a page of its own, to sign in.
    if (response.ok && !response.redirected && (await response.clone().text()).includes('<meta name="page-settings"')) await cache.put(ROOT, response.clone());
    return response;
  } catch (error) {
    const kept = await cache.match(ROOT);
    if (kept) return kept;
    throw error;
  }
}

// A file never changes: its name has a hash of it.
async function asset(request) {
  const cache = await caches.open(KEPT);
  const kept = await cache.match(request);
  if (kept) return kept;
  const response = await fetch(request);
  if (response.ok && response.type === "basic") await cache.put(request, response.clone());
  return response;
}
